/**
 * What happens in a turn, on its way to the reporters: the one place that counts it against the budgets,
 * and that makes decisions of calls that failed and of denials.
 */
import { beginningOf } from "../events/cut.ts";
import type { Decision } from "../events/decision.ts";
import type { ModelFailed, SessionActivity, ToolEnded } from "../events/session-activity.ts";
import type { DenialStreak } from "./limits.ts";
import { UNKNOWN_TOOL } from "./ports.ts";
import type { Sender } from "./send-prompt.ts";

const REASON_CHARACTERS = 300;

/**
 * Only until the turn is over: a session that could not be stopped in time may go on, and nobody expects it
 * to. The tools that it leaves open are ended.
 */
export class TurnWatch {
  readonly #sender: Sender;
  readonly #turn: { readonly sessionId: string; readonly turnId: string };
  readonly #denials: DenialStreak;
  #openTools: { readonly id: string; readonly name: string }[] | undefined;
  #over = false;

  constructor(sender: Sender, turn: { sessionId: string; turnId: string }, denials: DenialStreak) {
    this.#sender = sender;
    this.#turn = turn;
    this.#denials = denials;
  }

  observe(activity: SessionActivity): void {
    if (this.#over) return;
    const { emit, budgets, ports } = this.#sender;
    const { sessionId, turnId } = this.#turn;
    emit({ type: "activity", sessionId, turnId, activity });
    switch (activity.kind) {
      case "model.used":
        budgets.calls.spend();
        budgets.tokens.spend(activity);
        ports.rateLimit.lifted();
        break;
      case "model.failed":
        if (activity.statusCode === 429) ports.rateLimit.met();
        this.#decide(modelCallFailed(activity));
        budgets.calls.fail(activity.statusCode);
        break;
      case "tool.started":
        (this.#openTools ??= []).push({ id: activity.toolCallId, name: activity.toolName });
        break;
      case "tool.ended":
        this.#toolEnded(activity);
        break;
      case "agent.started":
        budgets.calls.beforeCall();
        break;
      case "permission.denied": {
        const { operation, target, reason } = activity;
        this.#decide({ kind: "permission-denied", operation, target, reason });
        break;
      }
      default:
        break;
    }
    this.#denials.observe(activity);
  }

  end(): void {
    const error = { message: "The turn ended before the tool did." };
    const open = this.#openTools ?? [];
    // Each end takes one off the list.
    for (let tool = open[0]; tool !== undefined; tool = open[0])
      this.observe({ kind: "tool.ended", toolCallId: tool.id, succeeded: false, error });
    this.#over = true;
  }

  #toolEnded({ toolCallId, succeeded, error }: ToolEnded): void {
    const open = this.#openTools ?? [];
    const index = open.findIndex(({ id }) => id === toolCallId);
    const [tool] = index === -1 ? [] : open.splice(index, 1);
    // A denial has a decision of its own, and what our own stop has cut off is no error.
    if (succeeded || isDenial(error?.code) || this.#sender.scope.stopped !== undefined) return;
    const reason = beginningOf(error?.message ?? "no reason was given", REASON_CHARACTERS);
    this.#decide({ kind: "tool-call-failed", tool: tool?.name ?? UNKNOWN_TOOL, reason });
  }

  #decide(decision: Decision): void {
    this.#sender.emit({ type: "decision", decision });
  }
}

function modelCallFailed({ statusCode, message }: ModelFailed): Decision {
  return {
    kind: "model-call-failed",
    ...(statusCode === undefined ? {} : { statusCode }),
    ...(message === undefined ? {} : { reason: beginningOf(message, REASON_CHARACTERS) }),
  };
}

function isDenial(code: string | undefined): boolean {
  return code === "denied" || code === "rejected";
}
