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
import { callable, type Delegation, type Monument, type Standard } from "./catalogue.ts";
import type { Store } from "./delivery.ts";
import { createActionExecutor, type TaskExecutor } from "./executor.ts";
import { defaultLimits, type ExecutorLimits } from "./limits.ts";
import { messageSchema } from "./message-schema.ts";
import type { ClaimedStatus, ProtocolProblem } from "./model.ts";
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
  readonly delegates?: readonly string[];
  readonly limits?: Partial<ExecutorLimits>;
  /** Accepted documents in one round. */
  readonly iterations: number;
  /** Documents before the first. 0: none. */
  readonly preThinking?: number;
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
  /** Of the last accepted document. */
  #iteration = 0;

  constructor(options: ActionDialogueOptions, context: DialogueContext) {
    const { tools, relics = [], monuments = [], delegates = [], store, iterations } = options;
    const { preThinking = 0, readable = [], without = [] } = options;
    this.#options = options;
    this.#context = context;
    const limits = { ...defaultLimits, ...defined(options.limits ?? {}) };
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
      emit: context.emit,
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
    const before = this.#iteration;
    const limits = { iterations, preThinking: isFirst ? preThinking : 0 };
    const rounds = new Rounds(limits);
    const { signal } = this.#context.scope;
    const toolCalls: ToolCall[] = [];
    let opening = isFirst
      ? prompt
      : `${prompt}${earlierText(this.#executor.tasks(), this.#options.without ?? [])}`;
    let next = rounds.first();
    let problem: ProtocolProblem | undefined;
    let claimedStatus: ClaimedStatus | undefined;
    while (next.kind === "prompt") {
      const news = await this.#news();
      const sent = await send(roundText(next, { prompt: opening, news, ...limits }));
      opening = "";
      if (sent.kind === "exhausted" || sent.kind === "stopped") return await this.#abandon(sent);
      if (sent.kind === "completed") for (const call of sent.toolCalls) toolCalls.push(call);
      const turn = await this.#executor.execute(sent.kind === "completed" ? sent.text : "", {
        signal,
        mode: rounds.mode,
        ...defined({ problem: unreadable(sent) }),
      });
      problem = turn.kind === "rejected" ? turn.problems[0] : undefined;
      if (turn.kind === "executed") ({ iteration: this.#iteration, claimedStatus } = turn);
      next = rounds.next(turn);
    }
    const failures = await this.#finish(signal);
    if (this.#context.scope.stopped !== undefined) return { kind: "stopped" };
    const called = this.#executor.calledSince(before);
    toolCalls.push(...called.map((name) => ({ name, succeeded: true })));
    const { outcome, response } = next;
    const text = response ?? "";
    if (outcome !== "stopped") {
      this.#note(failures);
      const reason = this.#reason(outcome, problem);
      return { kind: "failed", reason, ...(text === "" ? {} : { text }) };
    }
    const error = clipWords(`The model stopped with the status ERROR. ${text}`.trim(), 500);
    const faults = [...(claimedStatus === "ERROR" ? [error] : []), ...failures];
    const fault = faults.length === 0 ? {} : { fault: faults.join("\n") };
    return { kind: "completed", text, toolCalls, ...fault };
  }

  async close(): Promise<void> {
    this.#closed.abort("closed");
    await this.#executor.settle(this.#closed.signal);
    this.#stop.end();
  }

  async #news(): Promise<string> {
    const changes = await this.#changes();
    const standing = await this.#executor.standing(this.#context.scope.signal);
    const delivery = await this.#executor.collect();
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

  /** No model is there to hear of what still goes on. */
  async #abandon<End extends RoundEnd>(end: End): Promise<End> {
    this.#note(await this.#finish(AbortSignal.abort("abandoned")));
    return end;
  }

  /** What failed in the background without the model's knowledge, in sentences. */
  async #finish(signal: AbortSignal): Promise<readonly string[]> {
    const background = await this.#executor.settle(signal);
    return background.flatMap(({ id, action, status, reason = "" }) =>
      status === "succeeded" || reason === canceledByModel
        ? []
        : [`The background action "${id}" (${action}) ${verbOf(status)}: ${reason}`],
    );
  }

  #note(texts: readonly string[]): void {
    for (const text of texts) this.#context.decide({ kind: "note", text });
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
