/** The action protocol as the dialogue of a task. Owns its executor; sessions and attempts are the engine's. */
import { failed, type Tool } from "../tools/tool.ts";
import type { Dialogue, DialogueContext, RoundEnd, SendTurn } from "../engine/dialogue.ts";
import type { SessionTool, ToolCall, TurnOutcome } from "../engine/ports.ts";
import { linkSignals, type LinkedSignal } from "../platform/waiting.ts";
import { type Delegation, isReserved } from "./catalogue.ts";
import type { Store } from "./delivery.ts";
import { createActionExecutor, type Executor, type Turn } from "./executor.ts";
import {
  type ActionDocument,
  messageSchema,
  type ProtocolProblem,
  readMessage,
} from "./read-message.ts";
import { earlierText, newsText, problemsText } from "./delivery.ts";
import { verbOf } from "./task.ts";
import { canceledByModel } from "./task-manager.ts";
import {
  changedToolsText,
  endingDocument,
  teachingText,
  type TeachingOptions,
} from "./teaching.ts";
import { truncateUnredacted } from "../text/truncate.ts";

export interface ActionDialogueOptions extends Omit<TeachingOptions, "delegation" | "verdicts"> {
  /** Tools that replace `tools`; undefined while nothing changes. Asked before each prompt. Never throws. */
  readonly changedTools?: () => Promise<readonly Tool[] | undefined>;
  readonly delegates?: readonly string[];
  readonly store?: Store;
  /** Folders that its sessions may read, such as the one of the store. Absolute. */
  readonly readable?: readonly string[];
  readonly redact?: (text: string) => string;
}

export function createActionDialogue(
  options: ActionDialogueOptions,
): (context: DialogueContext) => Dialogue {
  return (context) => new ActionDialogue(options, context);
}

class ActionDialogue implements Dialogue {
  readonly answerFormat = { name: "action_document", schema: messageSchema };
  session: Dialogue["session"];
  readonly #teach: () => Dialogue["session"];
  readonly #options: ActionDialogueOptions;
  readonly #context: DialogueContext;
  readonly #executor: Executor;
  readonly #closed = new AbortController();
  readonly #stop: LinkedSignal;
  readonly #jobTools: readonly Tool[];
  /** The actions of the last document of this round. */
  #last = "";
  #round = 0;
  #iteration = 0;

  constructor(options: ActionDialogueOptions, context: DialogueContext) {
    const { delegates = [], readable = [] } = options;
    this.#options = options;
    this.#context = context;
    this.#stop = linkSignals([context.scope.signal, this.#closed.signal]);
    this.#jobTools = context.jobTools.map(asTool);
    const offered = {
      ...options,
      tools: [...options.tools, ...this.#jobTools],
      ...(delegates.length === 0 ? {} : { delegation: this.#delegation(delegates) }),
    };
    const { clock, emit } = context;
    const { signal } = this.#stop;
    this.#executor = createActionExecutor(
      { ...offered, clock, emit, signal },
      // Their names or parameters may come from a server: the task goes on without them.
      (reason) => context.decide({ kind: "tool-left-out", reason }),
    );
    this.#teach = () => {
      const text = teachingText({ ...offered, tools: this.#executor.tools, verdicts: true });
      return { systemPrompt: { mode: "append", text }, readable };
    };
    this.session = this.#teach();
  }

  async round(prompt: string, send: SendTurn): Promise<RoundEnd> {
    const { iterations, preThinking = 0 } = this.#options;
    const isFirst = (this.#round += 1) === 1;
    const before = this.#iteration;
    const rounds = new Rounds(iterations, isFirst ? preThinking : 0);
    const { signal } = this.#context.scope;
    const toolCalls: ToolCall[] = [];
    this.#last = "";
    let opening = isFirst
      ? prompt
      : `${prompt}${earlierText(this.#executor.tasks(), this.#options.without ?? [])}`;
    let next = rounds.first();
    let lastProblem: ProtocolProblem | undefined;
    let claimedStatus: ActionDocument["status"] | undefined;
    while (next.kind === "prompt") {
      const parts = [opening, await this.#news(), next.request].filter((part) => part !== "");
      const sent = await send(parts.join("\n\n") || "Continue.");
      opening = "";
      if (sent.kind !== "completed") return await this.#abandon(sent);
      toolCalls.push(...sent.toolCalls);
      const { mode } = rounds;
      const again = mode === "normal" && sent.cut !== true ? this.#repeated(sent) : undefined;
      const problem = sent.cut === true ? { problem: answerCut } : {};
      const turn = again ?? (await this.#executor.execute(sent.text, { signal, mode, ...problem }));
      lastProblem = turn.kind === "rejected" ? turn.problems[0] : undefined;
      if (turn.kind === "executed") ({ iteration: this.#iteration, claimedStatus } = turn);
      next = rounds.next(turn, again && REPEATED);
    }
    const failures = await this.#finish(signal);
    if (this.#context.scope.stopped !== undefined) return { kind: "canceled" };
    toolCalls.push(...this.#executor.calledSince(before));
    const { outcome, response } = next;
    const text = response ?? "";
    if (outcome !== "stopped") {
      this.#note(failures);
      const reason = this.#reason(outcome, lastProblem);
      return { kind: "failed", reason, ...(text === "" ? {} : { text }) };
    }
    const error = truncateUnredacted(
      `The model stopped with the status ERROR. ${text}`.trim(),
      500,
      "…",
    );
    const faults = [...(claimedStatus === "ERROR" ? [error] : []), ...failures];
    const fault = faults.length === 0 ? {} : { fault: faults.join("\n") };
    return { kind: "completed", text, toolCalls, ...fault };
  }

  async take(answer: string): Promise<readonly ToolCall[] | string> {
    if (!/^\s*(?:```\w*\s*)?\{/.test(answer)) return [];
    const before = this.#iteration;
    const turn = await this.#executor.execute(answer, { signal: this.#context.scope.signal });
    if (turn.kind === "rejected") return problemsText(turn.problems);
    this.#iteration = turn.iteration;
    return this.#executor.calledSince(before);
  }

  /** Warns a model that repeats its document. While something runs, and of internal functions, it may ask again. */
  #repeated({ text, toolCalls }: Extract<TurnOutcome, { kind: "completed" }>): Turn | undefined {
    const read = readMessage(text);
    if (read.kind === "rejected") return undefined;
    const { context, thoughts, stop, response, status } = read.document;
    const called = [...thoughts, read.document].flatMap((one) => one.actions ?? []);
    const key = JSON.stringify([context, called]);
    const isSame = key === this.#last;
    this.#last = key;
    const changes = called.some(({ action, type }) => type === "internal" || isReserved(action));
    if (!isSame || called.length === 0 || changes || toolCalls.length > 0) return undefined;
    if (!this.#executor.isIdle) return undefined;
    const next = stop ? "stop" : "continue";
    const iteration = this.#iteration;
    return { kind: "executed", iteration, next, response, claimedStatus: status, actions: [] };
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

  async #changes(): Promise<string> {
    const changed = await this.#options.changedTools?.();
    if (changed === undefined) return "";
    const before = this.#executor.tools;
    this.#executor.offer([...changed, ...this.#jobTools]);
    this.session = this.#teach();
    return changedToolsText(before, this.#executor.tools);
  }

  /** No model is there to hear of what still goes on. */
  async #abandon<End extends RoundEnd>(end: End): Promise<End> {
    this.#note(await this.#finish(AbortSignal.abort("abandoned")));
    return end;
  }

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

  #reason(outcome: Exclude<Outcome, "stopped">, problem: ProtocolProblem | undefined): string {
    const { iterations } = this.#options;
    const last = problem === undefined ? "" : `; the last: ${problem.code}: ${problem.message}`;
    const why = {
      "cap reached": `the model did not stop within ${iterations} documents (iterations)`,
      "nothing to do": "the model neither acted nor stopped, twice in a row",
      "protocol failure": `three answers in a row were rejected${truncateUnredacted(last, 500, "…")}`,
    }[outcome];
    return `${outcome}: ${why}`;
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

function asTool({ name, description, parameters, run }: SessionTool): Tool {
  return {
    name,
    description,
    parameters,
    async run({ id, params }, { signal }) {
      const call = { toolCallId: id, sessionId: "", signal, onProgress: () => {} };
      const { succeeded, text } = await run(params, call);
      return succeeded ? { kind: "succeeded", value: text } : failed(text);
    },
  };
}

const REPEATED = `You have asked this already; the result is the same. End with ${JSON.stringify(endingDocument)}. To run it again all the same, give the action another "action_id".`;

const answerCut: ProtocolProblem = {
  path: "",
  code: "cut",
  message: "The answer was cut at the model's output limit. Write a shorter document.",
};

type NextRound =
  | { readonly kind: "prompt"; readonly request: string }
  | { readonly kind: "ended"; readonly outcome: Outcome; readonly response: string | null };

type Outcome = "stopped" | "protocol failure" | "nothing to do" | "cap reached";
type Executed = Extract<Turn, { kind: "executed" }>;

/** Rejected answers to one prompt that are followed by another attempt. */
const repairsPerIteration = 2;

/** The rules of repairs, nudges and caps, apart from any session. One for each round of a task. */
class Rounds {
  mode: "normal" | "thinking" | "refused";
  readonly #iterations: number;
  readonly #preThinking: number;
  #accepted = 0;
  #repairs = 0;
  #nudged = false;

  constructor(iterations: number, preThinking: number) {
    this.#iterations = iterations;
    this.#preThinking = preThinking;
    this.mode = preThinking > 0 ? "thinking" : "normal";
  }

  first(): NextRound {
    if (this.mode === "normal") return prompt("");
    return prompt(
      `Think first, in at most ${this.#preThinking} documents with read-only SYNC actions or none. Write "stop": true to begin the task.`,
    );
  }

  /** `request`: what the next prompt asks for, if there is nothing more urgent. */
  next(turn: Turn, request = ""): NextRound {
    if (this.mode === "refused") {
      return ended("cap reached", turn.kind === "executed" ? turn.response : null);
    }
    if (turn.kind === "rejected") return this.#rejected(turn.problems);
    this.#repairs = 0;
    this.#accepted += 1;
    return this.mode === "thinking" ? this.#thought(turn) : this.#acted(turn, request);
  }

  #rejected(problems: readonly ProtocolProblem[]): NextRound {
    if (this.#repairs >= repairsPerIteration) return ended("protocol failure", null);
    this.#repairs += 1;
    return prompt(problemsText(problems));
  }

  #thought({ next }: Executed): NextRound {
    if (next === "continue" && this.#accepted < this.#preThinking) {
      return prompt('Continue thinking, or write "stop": true to begin the task.');
    }
    this.mode = "normal";
    this.#accepted = 0;
    return prompt("You have finished thinking. Now do the task.");
  }

  #acted({ next, response }: Executed, request: string): NextRound {
    if (next === "stop") return ended("stopped", response);
    if (next === "idle" && this.#nudged) return ended("nothing to do", response);
    this.#nudged = next === "idle";
    if (this.#accepted >= this.#iterations) {
      this.mode = "refused";
      return prompt(
        `This is your last answer: the limit of documents (${this.#iterations}) is reached, and no more actions are run. Say in "response" what is done and what is not.`,
      );
    }
    if (!this.#nudged) return prompt(request);
    return prompt(
      'Your last document has no actions and does not stop. Run an action, or write "stop": true if the task is done.',
    );
  }
}

function prompt(request: string): NextRound {
  return { kind: "prompt", request };
}

function ended(outcome: Outcome, response: string | null): NextRound {
  return { kind: "ended", outcome, response };
}
