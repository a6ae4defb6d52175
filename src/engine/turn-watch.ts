/** What happens in a turn, on its way to the reporters: the one place that counts it against the budgets. */
import { crashRemedy, refusalOf, withAdvice } from "../events/crash.ts";
import type { ModelFailed, SessionActivity, ToolEnded } from "../events/session-activity.ts";
import type { DenialStreak } from "./limits.ts";
import type { Sender } from "./sender.ts";

/**
 * Only until the turn is over: a session that could not be stopped in time may continue, and its events are
 * dropped. The tools that it leaves open are ended.
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

  observe(happened: SessionActivity): void {
    if (this.#over) return;
    const { emit, budgets, ports } = this.#sender;
    const { sessionId, turnId } = this.#turn;
    const activity = happened.kind === "tool.ended" ? this.#ended(happened) : happened;
    emit({ type: "activity", sessionId, turnId, activity });
    switch (activity.kind) {
      case "model.used":
        budgets.calls.spend();
        budgets.usage.spend(activity);
        ports.rateLimit.lifted();
        this.#sender.onError?.(undefined);
        break;
      case "model.failed":
        if (activity.statusCode === 429) ports.rateLimit.met();
        this.#sender.onError?.(failureText(activity));
        budgets.calls.fail(activity.statusCode);
        break;
      case "tool.started":
        (this.#openTools ??= []).push({ id: activity.toolCallId, name: activity.toolName });
        break;
      case "agent.started":
        budgets.calls.beforeCall();
        break;
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

  /** With the name of the tool. What the stop of the sender has cut off is no error. */
  #ended(ended: ToolEnded): ToolEnded {
    const open = this.#openTools ?? [];
    const index = open.findIndex(({ id }) => id === ended.toolCallId);
    const [call] = index === -1 ? [] : open.splice(index, 1);
    const cutOff = !ended.succeeded && this.#sender.scope.stopped !== undefined;
    return {
      ...ended,
      ...(call === undefined ? {} : { toolName: call.name }),
      ...(cutOff ? { stopped: true } : {}),
    };
  }
}

function failureText({ statusCode, message }: ModelFailed): string {
  const what =
    statusCode === undefined ? "a model call failed" : `the model server answered ${statusCode}`;
  const refusal = statusCode === undefined ? undefined : refusalOf(statusCode);
  const advice = refusal === undefined ? undefined : crashRemedy(refusal).advice;
  return withAdvice(message === undefined ? what : `${what}: "${message}"`, advice);
}
