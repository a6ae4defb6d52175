/**
 * What a task adds to the sending of a prompt: its variables, the session of each purpose, its models, its dialogue,
 * and the work that the events belong to.
 */
import { defined } from "../document/guards.ts";
import type { ExpandedPrompt } from "../entry/model.ts";
import type { Crash } from "../events/crash.ts";
import type { Purpose } from "../events/decision.ts";
import { ANSWER_CUT, type Judged } from "./criteria.ts";
import type { TurnSent } from "./dialogue.ts";
import type { ToolCall, TurnOutcome } from "./ports.ts";
import {
  MANAGED_ATTEMPTS,
  roundRobin,
  sameModel,
  sendPrompt,
  type Attempts,
  type Prompt,
  type Sender,
} from "./send-prompt.ts";
import { SessionKeeper, TaskDialogue } from "./session-keeper.ts";
import type { TaskContext } from "./task-context.ts";
import { argumentOf } from "./variables.ts";

interface Condition extends Round {
  readonly purpose: Exclude<Purpose, "prompt">;
}

/** From a prompt of the task until the model is done with it. */
export interface Round {
  readonly prompt: ExpandedPrompt;
  readonly retry: number;
  /** Whether a turn that completed has served its purpose; a session of its own ends with that. */
  readonly wentWell: (judged: Judged) => boolean;
}

export type Sent =
  | ({ readonly kind: "completed" } & Judged)
  | { readonly kind: "exhausted"; readonly crash: Crash }
  | { readonly kind: "stopped" };

/** What a round of a task leaves behind for others. */
export interface Answer {
  readonly text?: string;
  /** What was named last with `job_prepare_document`. */
  readonly document?: string;
}

export class TaskPrompts {
  readonly #context: TaskContext;
  readonly #dialogue: TaskDialogue | undefined;
  readonly #keeper: SessionKeeper;
  readonly #sender: Sender;
  #text: string | undefined;
  #document: string | undefined;

  constructor(context: TaskContext) {
    const { spec, ports, scope, budgets, latest, latestOfRun, work, nextTurnId } = context;
    const { startDialogue } = context;
    this.#context = context;
    this.#dialogue = startDialogue && new TaskDialogue(context, startDialogue);
    this.#keeper = new SessionKeeper(context, this.#dialogue);
    this.#sender = {
      ports,
      scope,
      limits: spec.limits,
      budgets,
      nextTurnId,
      subject: `task "${work.taskId}"`,
      emit: (event) => ports.emit({ ...event, work }),
      onAttempt: (attempt, attempts) => {
        if (attempt > 1) this.#nextRound();
        for (const one of [latest, latestOfRun]) Object.assign(one, { attempt, attempts });
      },
      onError: (lastError) => {
        for (const one of [latest, latestOfRun]) one.lastError = lastError;
      },
    };
  }

  /** A turn of its own, in the driving session if there is one. */
  async condition({ prompt, ...condition }: Condition): Promise<Sent> {
    const { variables } = this.#context;
    const { wentWell } = condition;
    const text = (): string => variables.expand(prompt);
    return this.#judged(await this.#send({ ...condition, role: "driving", text }), wentWell);
  }

  /** `failed`: a dialogue has ended without an answer, and a retry would not help. */
  async round(round: Round): Promise<Sent | { readonly kind: "failed"; readonly reason: string }> {
    const { prompt, retry, wentWell } = round;
    const { variables } = this.#context;
    this.#nextRound();
    const common = { purpose: "prompt", role: "task", retry } as const;
    if (this.#dialogue === undefined) {
      const text = (): string => variables.expand(prompt);
      const outcome = await this.#send({ ...common, text });
      if ("text" in outcome) this.#text = outcome.text;
      return this.#judged(outcome, wentWell);
    }
    const end = await this.#dialogue.round(variables.expand(prompt), async (text, answerFormat) => {
      const outcome = await this.#send({
        ...common,
        text,
        answerFormat,
        isAnswer: this.#isAnswer,
      });
      return outcome.kind === "crashed" && this.#isAnswer(outcome.crash)
        ? { kind: "too long" }
        : asSent(outcome);
    });
    if (end === undefined || this.#context.scope.stopped !== undefined) return { kind: "stopped" };
    switch (end.kind) {
      case "completed":
        this.#text = end.text;
        return this.#served({ toolCalls: end.toolCalls, fault: end.fault }, wentWell);
      case "failed":
        this.#text = end.text;
        await this.#keeper.purposeServed(false);
        return end;
      case "exhausted":
      case "stopped":
        return end;
    }
  }

  #nextRound(): void {
    this.#context.given.round += 1;
  }

  get answer(): Answer {
    return defined({ text: this.#text, document: this.#document });
  }

  get hasDialogue(): boolean {
    return this.#dialogue !== undefined;
  }

  readonly #isAnswer = ({ cause }: Crash): boolean =>
    // A session that was lent is not replaced.
    cause === "answer-too-long" && this.#context.mode.kind !== "borrowed";

  #send({
    role,
    ...prompt
  }: Pick<Prompt, "purpose" | "retry" | "text" | "isAnswer" | "answerFormat"> & {
    readonly role: "driving" | "task";
  }): Promise<TurnOutcome> {
    const { variables, mode } = this.#context;
    return sendPrompt(this.#sender, {
      ...prompt,
      attempts: this.#attempts(role),
      lent: mode.kind === "borrowed",
      sessions: this.#keeper.source(role, prompt.retry),
      onTurn: ({ toolCalls }) => {
        variables.report(toolCalls);
        this.#document = documentIn(toolCalls) ?? this.#document;
      },
    });
  }

  async #judged(outcome: TurnOutcome, wentWell: Round["wentWell"]): Promise<Sent> {
    const sent = asSent(outcome);
    if (sent.kind !== "completed") return sent;
    const fault = sent.cut ? ANSWER_CUT : undefined;
    return this.#served({ toolCalls: sent.toolCalls, fault }, wentWell);
  }

  async #served(judged: Judged, wentWell: Round["wentWell"]): Promise<Sent> {
    await this.#keeper.purposeServed(wentWell(judged));
    return this.#context.scope.stopped === undefined
      ? { kind: "completed", ...judged }
      : { kind: "stopped" };
  }

  /** Ends the dialogue and the session that is open, if there is one. */
  async end(succeeded: boolean): Promise<void> {
    await Promise.all([this.#dialogue?.close(), this.#keeper.end(succeeded)]);
  }

  #attempts(role: "driving" | "task"): Attempts {
    const { spec, mode, modelId } = this.#context;
    const { drivingSessionRetries: budgets, models } = spec.entry;
    switch (mode.kind) {
      case "borrowed":
        return sameModel(mode.session.modelId, 1);
      case "single":
        return sameModel(modelId, MANAGED_ATTEMPTS);
      case "multiple":
        if (role === "task") return sameModel(modelId, MANAGED_ATTEMPTS);
        return budgets === undefined
          ? sameModel(models.driving, MANAGED_ATTEMPTS)
          : roundRobin(models.driving, budgets);
    }
  }
}

function asSent(outcome: TurnOutcome): Exclude<TurnSent, { kind: "too long" }> {
  const { toolCalls } = outcome;
  switch (outcome.kind) {
    case "canceled":
      return { kind: "stopped" };
    case "crashed":
      return { kind: "exhausted", crash: outcome.crash };
    case "completed":
    case "cut":
      return { kind: "completed", text: outcome.text, toolCalls, cut: outcome.kind === "cut" };
  }
}

function documentIn(toolCalls: readonly ToolCall[]): string | undefined {
  const last = toolCalls.findLast(
    ({ name, succeeded }) => succeeded && name === "job_prepare_document",
  );
  return last && argumentOf(last);
}
