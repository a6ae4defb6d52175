import type {
  Opened,
  Session,
  SessionFactory,
  SessionLabel,
  SessionRequest,
  ToolCall,
  TurnOptions,
  TurnOutcome,
} from "../../src/engine/ports.ts";
import type { Crash } from "../../src/events/crash.ts";
import type { ModelUsed, SessionActivity } from "../../src/events/session-activity.ts";
import type { FakeClock } from "./fake-clock.ts";
import { sessionCrash } from "./crashes.ts";

/** What the fake model does with one prompt: by default it answers, without a tool call. */
export interface Act {
  /** Called in this order; `!name` is a call that fails. */
  readonly tools?: readonly (string | readonly [string, string])[];
  readonly acts?: readonly SessionActivity[];
  /** Milliseconds. */
  readonly takes?: number;
  readonly crash?: Crash;
  readonly hang?: true;
  readonly text?: string;
  /** Its last answer ends at the output limit. */
  readonly cut?: true;
}

export interface Turn {
  readonly sessionId: string;
  readonly label: SessionLabel;
  readonly prompt: string;
}

/** A fake behind the engine's port: it plays the sessions, and writes down what was asked of them. */
export class FakeSessions implements SessionFactory {
  readonly turns: Turn[] = [];
  readonly opened: SessionRequest[] = [];
  readonly closed: string[] = [];
  /** The most turns that ever ran at once. */
  busiest = 0;
  #busy = 0;
  readonly #clock: FakeClock;
  readonly #play: (turn: Turn) => Act;
  readonly #refuse: (request: SessionRequest) => Crash | undefined;

  constructor(
    clock: FakeClock,
    play: (turn: Turn) => Act,
    refuse: (request: SessionRequest) => Crash | undefined = () => undefined,
  ) {
    this.#clock = clock;
    this.#play = play;
    this.#refuse = refuse;
  }

  get prompts(): readonly string[] {
    return this.turns.map((turn) => turn.prompt);
  }

  async open(request: SessionRequest, signal: AbortSignal): Promise<Opened> {
    this.opened.push(request);
    const crash = signal.aborted ? sessionCrash : this.#refuse(request);
    if (crash !== undefined) return { kind: "crashed", crash };
    const { modelId, label } = request;
    return { kind: "opened", session: this.session({ modelId, label }, `s${this.opened.length}`) };
  }

  session(
    { modelId, label = ofNoTask(modelId) }: Pick<SessionRequest, "modelId" | "label">,
    id: string,
  ): Session {
    return {
      id,
      modelId,
      runTurn: (prompt, options) => {
        const { activity } = options;
        const current = activity === undefined ? label : { ...label, activity };
        return this.#turn({ sessionId: id, label: current, prompt }, options);
      },
      close: async () => void this.closed.push(id),
    };
  }

  async #turn(turn: Turn, { signal, onActivity }: TurnOptions): Promise<TurnOutcome> {
    this.turns.push(turn);
    this.#busy += 1;
    this.busiest = Math.max(this.busiest, this.#busy);
    try {
      const act = this.#play(turn);
      if (act.hang === true) {
        await new Promise<void>((resolve) =>
          signal.addEventListener("abort", () => resolve(), { once: true }),
        );
        return { kind: "canceled", toolCalls: [] };
      }
      for (const activity of act.acts ?? []) onActivity(activity);
      if (act.takes !== undefined) await this.#clock.sleep(act.takes, signal);
      if (signal.aborted) return { kind: "canceled", toolCalls: [] };
      if (act.crash !== undefined) {
        return { kind: "crashed", toolCalls: [], crash: act.crash };
      }
      const kind = act.cut === true ? "cut" : "completed";
      return { kind, toolCalls: (act.tools ?? []).map(asCall), text: act.text ?? "" };
    } finally {
      this.#busy -= 1;
    }
  }
}

function asCall(tool: string | readonly [string, string]): ToolCall {
  if (typeof tool !== "string")
    return { name: tool[0], arguments: { argument: tool[1] }, succeeded: true };
  return tool.startsWith("!")
    ? { name: tool.slice(1), arguments: { argument: "" }, succeeded: false }
    : { name: tool, arguments: { argument: `${tool}!` }, succeeded: true };
}

export function modelUsed(tokens = 15, subAgent = false, cost = 0): ModelUsed {
  return {
    kind: "model.used",
    modelId: "m",
    inputTokens: tokens,
    outputTokens: 0,
    cacheReadTokens: 0,
    reasoningTokens: 0,
    cost,
    durationMs: 1,
    subAgent,
  };
}

/** So that the tests of tasks need not ask whose turn it is. */
function ofNoTask(modelId: string): SessionLabel {
  return { workId: -1, taskId: "", iteration: 1, role: "both", modelId, retry: 0, attempt: 1 };
}
