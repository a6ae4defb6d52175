import type {
  Opened,
  Session,
  SessionFactory,
  SessionLabel,
  SessionRequest,
  SessionTool,
  ToolCall,
  TurnOptions,
  TurnOutcome,
} from "../../src/engine/ports.ts";
import type { Crash } from "../../src/events/crash.ts";
import type { ModelUsed, SessionActivity } from "../../src/events/session-activity.ts";
import type { FakeClock } from "./fake-clock.ts";
import { sessionCrash } from "./crashes.ts";

export interface Act {
  /** Called in this order; `!name` is a call that fails. */
  readonly tools?: readonly (string | readonly [string, string])[];
  /** Calls of tools whose handlers run in this process, with their arguments; they run. */
  readonly calls?: readonly (readonly [name: string, given: unknown])[];
  readonly acts?: readonly SessionActivity[];
  /** Milliseconds. */
  readonly takes?: number;
  readonly crash?: Crash;
  readonly hang?: true;
  readonly text?: string;
  /** Its last answer ends at the output limit. */
  readonly cut?: true;
  /** Its last answer is empty, after a successful call. */
  readonly empty?: true;
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
    return { kind: "opened", session: this.session(request, `s${this.opened.length}`) };
  }

  session(
    {
      modelId,
      label = ofNoTask(modelId),
      tools = [],
    }: Pick<SessionRequest, "modelId" | "label" | "tools">,
    id: string,
  ): Session {
    return {
      id,
      modelId,
      runTurn: (prompt, options) => {
        const { activity } = options;
        const current = activity === undefined ? label : { ...label, activity };
        return this.#turn({ sessionId: id, label: current, prompt }, options, tools);
      },
      close: async () => void this.closed.push(id),
    };
  }

  async #turn(
    turn: Turn,
    { signal, onActivity }: TurnOptions,
    tools: readonly SessionTool[],
  ): Promise<TurnOutcome> {
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
      const called: ToolCall[] = [];
      for (const [name, given] of act.calls ?? []) {
        const call = { toolCallId: "call", sessionId: turn.sessionId, signal, onProgress() {} };
        const tool = tools.find((one) => one.name === name);
        const answer = await tool?.run(given, call);
        called.push({ name, arguments: given, succeeded: answer?.succeeded === true });
      }
      for (const activity of act.acts ?? []) onActivity(activity);
      if (act.takes !== undefined) await this.#clock.sleep(act.takes, signal);
      if (signal.aborted) return { kind: "canceled", toolCalls: [] };
      if (act.crash !== undefined) {
        return { kind: "crashed", toolCalls: [], crash: act.crash };
      }
      return {
        kind: "completed",
        toolCalls: [...called, ...(act.tools ?? []).map(asCall)],
        text: act.text ?? "",
        ...(act.cut === true ? { cut: true } : {}),
        ...(act.empty === true ? { empty: true } : {}),
      };
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
