/**
 * The action protocol as the dialogue of a task: the prompts of a round, the execution of each answer, and how the
 * round ends. It owns the executor of one run of the task; the sessions and the attempts are the engine's.
 */
import { defined } from "../document/guards.ts";
import type { Relic, Tool } from "../tools/tool.ts";
import type {
  Dialogue,
  DialogueContext,
  RoundEnd,
  SendTurn,
  TurnSent,
} from "../engine/dialogue.ts";
import type { ToolCall } from "../engine/ports.ts";
import { linkSignals, type LinkedSignal } from "../platform/waiting.ts";
import type { ActionEvent } from "../events/action.ts";
import { callable, type Delegation, type Monument, type Standard } from "./catalogue.ts";
import type { Delivery, Store } from "./delivery.ts";
import { createActionExecutor, type TaskExecutor, type Turn } from "./executor.ts";
import { defaultLimits, type ExecutorLimits } from "./limits.ts";
import { messageSchema } from "./message-schema.ts";
import type { ProtocolProblem } from "./model.ts";
import { earlierText, newsText, roundText } from "./prompt.ts";
import { Rounds, type NextRound } from "./rounds.ts";
import { verbOf } from "./task.ts";
import { canceledByModel } from "./task-manager.ts";
import { changedToolsText, teachingText } from "./teaching.ts";
import { clipWords } from "../events/cut.ts";

export interface ActionDialogueOptions {
  readonly tools: readonly Tool[];
  /** What takes the place of `tools`; undefined while nothing does. Asked before each prompt. Never throws. */
  readonly changedTools?: () => Promise<readonly Tool[] | undefined>;
  readonly relics?: readonly Relic[];
  readonly monuments?: readonly Monument[];
  readonly without?: readonly Standard[];
  /** The tasks that may be delegated to. */
  readonly delegates?: readonly string[];
  readonly limits?: Partial<ExecutorLimits>;
  /** Accepted documents in one round. */
  readonly iterations: number;
  /** Documents before the first. 0: none. */
  readonly preThinking?: number;
  /** For results that are too long for a prompt. */
  readonly store?: Store;
  /** Folders that its sessions may read, such as the one of the store. Absolute. */
  readonly readable?: readonly string[];
  /** Masks secrets in the answers of delegated tasks. */
  readonly redact?: (text: string) => string;
}

/** The task goes on without tools that can't be called: their names or parameters may come from a server. */
export function createActionDialogue(
  options: ActionDialogueOptions,
): (context: DialogueContext) => Dialogue {
  return (context) => {
    try {
      return new ActionDialogue(options, context);
    } catch {
      const { tools, refused } = callable(options.tools);
      for (const reason of refused) context.decide({ kind: "tool-left-out", reason });
      return new ActionDialogue({ ...options, tools }, context);
    }
  };
}

type Ended = Extract<NextRound, { kind: "ended" }>;

const nothing: Delivery = { results: [], handles: [], warnings: [] };

class ActionDialogue implements Dialogue {
  readonly answerFormat = { name: "action_document", schema: messageSchema };
  session: Dialogue["session"];
  #tools: readonly Tool[];
  readonly #teach: (tools: readonly Tool[]) => Dialogue["session"];
  readonly #options: ActionDialogueOptions;
  readonly #context: DialogueContext;
  readonly #executor: TaskExecutor;
  readonly #closed = new AbortController();
  readonly #stop: LinkedSignal;
  #round = 0;
  #calls: RoundCalls;
  /** What the last round left undelivered. */
  #late: Delivery = nothing;

  constructor(options: ActionDialogueOptions, context: DialogueContext) {
    const { tools, relics = [], monuments = [], delegates = [], store, iterations } = options;
    const { preThinking = 0, readable = [], without = [] } = options;
    this.#options = options;
    this.#context = context;
    this.#calls = new RoundCalls(() => this.#tools);
    const limits = { ...defaultLimits, ...options.limits };
    const delegation = delegates.length === 0 ? undefined : this.#delegation(delegates);
    this.#stop = linkSignals([context.scope.signal, this.#closed.signal]);
    const offered = {
      tools,
      relics,
      monuments,
      without,
      limits,
      ...defined({ delegation }),
    };
    this.#executor = createActionExecutor({
      ...offered,
      clock: context.clock,
      emit: (event) => {
        this.#calls.observe(event);
        context.emit(event);
      },
      signal: this.#stop.signal,
      ...defined({ store }),
    });
    this.#tools = tools;
    this.#teach = (now) => {
      const teaching = { ...offered, tools: now, iterations, preThinking, verdicts: true };
      return { systemPrompt: { mode: "append", text: teachingText(teaching) }, readable };
    };
    this.session = this.#teach(tools);
  }

  async round(prompt: string, send: SendTurn): Promise<RoundEnd> {
    const { iterations, preThinking = 0 } = this.#options;
    const isFirst = (this.#round += 1) === 1;
    this.#calls = new RoundCalls(() => this.#tools);
    const limits = { iterations, preThinking: isFirst ? preThinking : 0 };
    const rounds = new Rounds(limits);
    const { signal } = this.#context.scope;
    const toolCalls: ToolCall[] = [];
    let opening = isFirst
      ? prompt
      : `${prompt}${earlierText(this.#executor.tasks(), this.#options.without ?? [])}`;
    let next = rounds.first();
    let problem: ProtocolProblem | undefined;
    while (next.kind === "prompt") {
      const news = await this.#news();
      const sent = await send(roundText(next, { prompt: opening, news, ...limits }));
      opening = "";
      if (sent.kind === "exhausted" || sent.kind === "stopped") return await this.#abandon(sent);
      if (sent.kind === "completed") for (const call of sent.toolCalls) toolCalls.push(call);
      const turn = await this.#execute(sent, rounds.mode);
      problem = turn.kind === "rejected" ? turn.problems[0] : undefined;
      next = rounds.next(turn);
    }
    const failures = await this.#finish(signal);
    if (this.#context.scope.stopped !== undefined) return { kind: "stopped" };
    return this.#end(next, [...toolCalls, ...this.#calls.succeeded], problem, failures);
  }

  async close(): Promise<void> {
    this.#closed.abort("closed");
    await this.#executor.finish(this.#closed.signal);
    this.#stop.end();
  }

  async #news(): Promise<string> {
    const changes = await this.#changes();
    const standing = await this.#executor.standing(this.#context.scope.signal);
    const { results, handles, warnings } = await this.#executor.collect();
    const late = this.#late;
    this.#late = nothing;
    const delivery = {
      results: [...late.results, ...results],
      handles: [...late.handles, ...handles],
      warnings: [...late.warnings, ...warnings],
    };
    return [changes, newsText(delivery, standing, this.#options.without)].join("\n\n").trim();
  }

  /** What the model has to know of tools that have changed since the last prompt. */
  async #changes(): Promise<string> {
    const changed = await this.#options.changedTools?.();
    if (changed === undefined) return "";
    const { tools, refused } = callable(changed);
    for (const reason of refused) this.#context.decide({ kind: "tool-left-out", reason });
    const before = this.#tools;
    this.#tools = tools;
    this.#executor.offer(tools);
    this.session = this.#teach(tools);
    return changedToolsText(before, tools);
  }

  #execute(
    sent: Extract<TurnSent, { kind: "completed" | "too long" }>,
    mode: Rounds["mode"],
  ): Promise<Turn> {
    const { signal } = this.#context.scope;
    const problem = unreadable(sent);
    const text = sent.kind === "completed" ? sent.text : "";
    return this.#executor.execute(text, {
      signal,
      mode,
      ...defined({ problem }),
    });
  }

  /** No model is there to hear of what still goes on. */
  async #abandon<End extends RoundEnd>(end: End): Promise<End> {
    const abort = new AbortController();
    abort.abort("abandoned");
    this.#note(await this.#finish(abort.signal));
    return end;
  }

  /** What failed in the background without the model's knowledge, in sentences. */
  async #finish(signal: AbortSignal): Promise<readonly string[]> {
    const { background, undelivered } = await this.#executor.finish(signal);
    this.#late = undelivered;
    return background.flatMap(({ id, action, status, reason = "" }) =>
      status === "succeeded" || reason === canceledByModel
        ? []
        : [`The background action "${id}" (${action}) ${verbOf(status)}: ${reason}`],
    );
  }

  #note(texts: readonly string[]): void {
    for (const text of texts) this.#context.decide({ kind: "note", text });
  }

  #end(
    { outcome, response }: Ended,
    toolCalls: readonly ToolCall[],
    problem: ProtocolProblem | undefined,
    failures: readonly string[],
  ): RoundEnd {
    const text = response ?? "";
    if (outcome === "stopped") {
      const error = clipWords(`The model stopped with the status ERROR. ${text}`.trim(), 500);
      const faults = [...(this.#calls.claimedStatus === "ERROR" ? [error] : []), ...failures];
      const fault = faults.length === 0 ? {} : { fault: faults.join("\n") };
      return { kind: "completed", text, toolCalls, ...fault };
    }
    this.#note(failures);
    const reason = this.#reason(outcome, problem);
    return { kind: "failed", reason, ...(text === "" ? {} : { text }) };
  }

  #reason(
    outcome: Exclude<Ended["outcome"], "stopped">,
    problem: ProtocolProblem | undefined,
  ): string {
    switch (outcome) {
      case "cap reached":
        return `cap reached: the model did not stop within ${this.#options.iterations} documents (iterations)`;
      case "nothing to do":
        return "nothing to do: the model neither acted nor stopped, twice in a row";
      case "protocol failure": {
        const last = problem === undefined ? "" : `; the last: ${problem.code}: ${problem.message}`;
        return `protocol failure: three answers in a row were rejected${clipWords(last, 500)}`;
      }
    }
  }

  #delegation(tasks: readonly string[]): Delegation {
    const { redact = (text) => text } = this.#options;
    return {
      tasks,
      run: async ({ task, input }, { signal }) => {
        const end = await this.#context.delegate({ taskId: task, input }, signal);
        if (end.kind === "succeeded") {
          const { document } = end;
          const named = document === undefined ? {} : { document: redact(document) };
          return { kind: "succeeded", value: { text: redact(end.text), ...named } };
        }
        const tail = end.text === undefined ? {} : { tail: redact(end.text) };
        return { kind: "failed", reason: redact(end.reason), ...tail };
      },
    };
  }
}

/** What the executor tells about the calls of one round. */
class RoundCalls {
  readonly #tools: () => readonly Tool[];
  /** The tools that actions call, by their key. */
  readonly #called = new Map<string, string>();
  readonly succeeded: ToolCall[] = [];
  claimedStatus = "";

  constructor(tools: () => readonly Tool[]) {
    this.#tools = tools;
  }

  observe(event: ActionEvent): void {
    if (event.type === "actions.accepted") this.claimedStatus = event.claimedStatus;
    if (event.type === "action.waiting" && event.kind === "tool") {
      this.#called.set(keyOf(event), this.#toolOf(event.action));
    }
    if (event.type !== "action.ended" || event.status !== "succeeded") return;
    const name = this.#called.get(keyOf(event));
    if (name !== undefined && event.replayed !== true) {
      this.succeeded.push({ name, succeeded: true });
    }
  }

  /** A member of a monument is called by its own name as well. */
  #toolOf(action: string): string {
    const isTool = this.#tools().some(({ name }) => name === action);
    return isTool ? action : action.slice(action.indexOf(".") + 1);
  }
}

/** A later document may use the id of an action that still runs. It fails, and that one may succeed. */
function keyOf({ id, iteration }: { readonly id: string; readonly iteration: number }): string {
  return `${iteration} ${id}`;
}

function unreadable(
  sent: Extract<TurnSent, { kind: "completed" | "too long" }>,
): ProtocolProblem | undefined {
  if (sent.kind === "too long") {
    return { path: "", code: "too_large", message: "The answer was cut off: it did not end." };
  }
  if (!sent.cut) return undefined;
  const message = "The answer was cut at the model's output limit. Write a shorter document.";
  return { path: "", code: "cut", message };
}
