/** The prompts of one run of a task: in which session, with which model, and how often each is sent. */
import { idOf, type DrivingSessionRetry, type ExpandedPrompt } from "../entry/model.ts";
import type { Crash } from "../events/crash.ts";
import type { Purpose } from "../events/decision.ts";
import { isText } from "../text/guards.ts";
import { ANSWER_CUT, EMPTY_VERDICT, gaveVerdict } from "./criteria.ts";
import type { RoundEnd } from "./dialogue.ts";
import { SessionKeeper, type TaskRole } from "./open-session.ts";
import type { ToolCall, TurnOutcome } from "./ports.ts";
import {
  MANAGED_ATTEMPTS,
  askToContinue,
  sameModel,
  sendPrompt,
  type Attempts,
  type Prompt,
  type Sender,
} from "./send-prompt.ts";
import type { TaskContext } from "./task-context.ts";
import { TaskDialogue } from "./task-dialogue.ts";
import { argumentOf } from "./variables.ts";

export interface Answer {
  readonly text?: string | undefined;
  readonly document?: string | undefined;
}

/** Sends the prompts of a task in its sessions. */
export class TaskPrompts {
  readonly #context: TaskContext;
  readonly #dialogue: TaskDialogue | undefined;
  readonly #keeper: SessionKeeper;
  readonly #sender: Sender;
  #text: string | undefined;
  #document: string | undefined;

  constructor(context: TaskContext) {
    const { scope, lastErrors, work, startDialogue } = context;
    this.#context = context;
    this.#dialogue = startDialogue && new TaskDialogue(context, startDialogue);
    this.#keeper = new SessionKeeper(context, this.#dialogue);
    this.#sender = {
      ...context,
      subject: `task "${work.taskId}"`,
      onError: (error) => lastErrors.note(scope, error),
    };
  }

  get answer(): Answer {
    return { text: this.#text, document: this.#document };
  }

  /** `served` must follow. */
  async condition(
    purpose: Exclude<Purpose, "prompt">,
    prompt: ExpandedPrompt,
    retry: number,
  ): Promise<RoundEnd> {
    const asked = this.#prompt({ purpose, retry, text: this.#expanded(prompt) });
    let outcome = await sendPrompt(this.#sender, asked);
    if (outcome.kind === "completed" && outcome.empty === true && !gaveVerdict(outcome.toolCalls))
      outcome = await askToContinue(this.#sender, asked, outcome, EMPTY_VERDICT);
    if (this.#dialogue !== undefined && !this.#context.isMultiple)
      outcome = await this.#asDocument(this.#dialogue, asked, outcome);
    return roundOf(outcome);
  }

  /** A model without function calls answers a condition with a document, too. Two of them may be wrong. */
  async #asDocument(
    dialogue: TaskDialogue,
    asked: Prompt,
    ended: TurnOutcome,
  ): Promise<TurnOutcome> {
    let outcome = ended;
    for (let repairs = 0; outcome.kind === "completed"; repairs += 1) {
      if (gaveVerdict(outcome.toolCalls)) break;
      const taken = await dialogue.take(outcome.text);
      if (!isText(taken)) {
        this.#report(taken);
        return { ...outcome, toolCalls: [...outcome.toolCalls, ...taken] };
      }
      if (repairs === 2) break;
      const note = "A document was rejected.";
      outcome = await askToContinue(this.#sender, asked, outcome, taken, note);
    }
    return outcome;
  }

  /** Unless it crashes or is canceled, `served` must follow; after an empty answer, `askToContinue` may come between. */
  async round(prompt: ExpandedPrompt, retry: number): Promise<RoundEnd> {
    this.#context.given.round += 1;
    const text = this.#expanded(prompt);
    const asked = { purpose: "prompt", retry, text } as const;
    const end =
      this.#dialogue === undefined
        ? roundOf(await sendPrompt(this.#sender, this.#prompt(asked)))
        : await this.#dialogue.round(text(), async (written, answerFormat) => {
            const isAnswer = this.#isAnswer;
            const part = this.#prompt({ ...asked, text: written, answerFormat, isAnswer });
            const outcome = await sendPrompt(this.#sender, part);
            return outcome.kind === "crashed" && isAnswer(outcome.crash) ? answerLost : outcome;
          });
    if (end === undefined || this.#context.scope.stopped !== undefined) return { kind: "canceled" };
    if (end.kind === "completed" || end.kind === "failed") this.#text = end.text;
    if (end.kind === "completed") this.#report(end.toolCalls);
    return end;
  }

  /** Statement 7a: the round goes on in its session. */
  async askToContinue(
    ended: RoundEnd & { readonly kind: "completed" },
    prompt: ExpandedPrompt,
    retry: number,
    text: ExpandedPrompt,
  ): Promise<RoundEnd> {
    const asked = this.#prompt({ purpose: "prompt", retry, text: this.#expanded(prompt) });
    const outcome = await askToContinue(this.#sender, asked, ended, this.#expanded(text)());
    if (outcome.kind === "completed") this.#text = outcome.text;
    return roundOf(outcome);
  }

  /** With multiple models, the session has served its only purpose. */
  async served(
    role: TaskRole,
    isGood: boolean,
  ): Promise<{ readonly kind: "canceled" } | undefined> {
    if (this.#context.isMultiple) await this.#keeper.close(role, isGood);
    return this.#context.scope.stopped === undefined ? undefined : { kind: "canceled" };
  }

  async end(succeeded: boolean): Promise<void> {
    await Promise.all([this.#dialogue?.close(), this.#keeper.closeAll(succeeded)]);
  }

  #expanded(prompt: ExpandedPrompt): () => string {
    return () => this.#context.variables.expand(prompt);
  }

  #report(toolCalls: readonly ToolCall[]): void {
    this.#context.variables.report(toolCalls);
    const named = toolCalls.findLast(
      ({ name, succeeded }) => succeeded && name === "job_prepare_document",
    );
    if (named !== undefined) this.#document = argumentOf(named) ?? this.#document;
  }

  readonly #isAnswer = ({ cause }: Crash): boolean =>
    // A session that was lent is not replaced.
    cause === "answer-too-long" && this.#context.borrowed === undefined;

  #prompt(
    prompt: Pick<Prompt, "purpose" | "retry" | "text" | "isAnswer" | "answerFormat">,
  ): Prompt {
    const { borrowed, given } = this.#context;
    const role = prompt.purpose === "prompt" ? "task" : "driving";
    return {
      ...prompt,
      attempts: this.#attempts(role),
      lent: borrowed !== undefined,
      sessions: this.#keeper.source(role, prompt.retry),
      onTurn: (outcome) => {
        // A prompt that is sent again reports its calls anew. After an answer the dialogue continues its round.
        if (outcome.kind === "crashed" && prompt.isAnswer?.(outcome.crash) !== true)
          given.round += 1;
        this.#report(outcome.toolCalls);
      },
    };
  }

  #attempts(role: TaskRole): Attempts {
    const { spec, borrowed, isMultiple, modelId } = this.#context;
    const { drivingSessionRetries: budgets, models } = spec.entry;
    if (borrowed !== undefined) return sameModel(borrowed.modelId, 1);
    if (!isMultiple || role === "task") return sameModel(modelId, MANAGED_ATTEMPTS);
    return budgets === undefined
      ? sameModel(idOf(models.driving), MANAGED_ATTEMPTS)
      : roundRobin(idOf(models.driving), budgets);
  }
}

/** Statement 5. */
function roundRobin(first: string, budgets: readonly DrivingSessionRetry[]): Attempts {
  // One by one, because a budget may be any number.
  const models = (function* () {
    yield first;
    for (let round = 0, left = budgets; left.length > 0; round += 1) {
      left = left.filter(({ retries }) => retries > round);
      for (const { modelId } of left) yield modelId;
    }
  })();
  return {
    count: budgets.reduce((sum, { retries }) => sum + retries, 1),
    nextModel: () => models.next().value ?? first,
  };
}

function roundOf(outcome: TurnOutcome): RoundEnd {
  return outcome.kind === "completed" && outcome.cut === true
    ? { ...outcome, fault: ANSWER_CUT }
    : outcome;
}

const answerLost: TurnOutcome = {
  kind: "completed",
  text: "(This answer was too long, and is lost.)",
  toolCalls: [],
  cut: true,
};
