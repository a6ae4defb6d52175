/**
 * What a task adds to the sending of a prompt: its variables, the session of each purpose, its models, its dialogue,
 * and the work that the events belong to.
 */
import { defined } from "../document/guards.ts";
import type { ExpandedPrompt } from "../entry/model.ts";
import type { Crash } from "../events/crash.ts";
import type { Purpose } from "../events/decision.ts";
import { ANSWER_CUT, type Judged } from "./criteria.ts";
import { bothEnds } from "../events/cut.ts";
import type { Crashed, Dialogue, RoundEnd, SendTurn, TurnSent } from "./dialogue.ts";
import { SessionKeeper } from "./open-session.ts";
import type { AnswerFormat, PastMessage, SessionRequest, ToolCall, TurnOutcome } from "./ports.ts";
import { STOP_GRACE_MS, unlessStopped } from "./scope.ts";
import {
  MANAGED_ATTEMPTS,
  roundRobin,
  sameModel,
  sendPrompt,
  type Attempts,
  type Prompt,
  type Sender,
} from "./send-prompt.ts";
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

/** Of the conversation that a session is given; about 100,000 tokens. */
const HISTORY_CHARACTERS = 400_000;

type SendFormatted = (text: string, format: AnswerFormat | undefined) => Promise<TurnSent>;

/**
 * The dialogue of one run of a task, as its sessions need it: started when the first of them is opened, and known to
 * each that replaces another. It sends nothing itself.
 */
class TaskDialogue {
  readonly #context: TaskContext;
  readonly #start: () => Promise<Dialogue | Crashed>;
  #dialogue: Promise<Dialogue | Crashed> | undefined;
  #conversation: PastMessage[] = [];
  #introduced = false;

  constructor(context: TaskContext, start: () => Promise<Dialogue | Crashed>) {
    this.#context = context;
    this.#start = start;
  }

  /** Of a session that is opened now. Empty if the scope has stopped meanwhile. */
  async session(): Promise<Partial<SessionRequest> | Crashed> {
    const dialogue = await this.#started();
    if (dialogue === undefined) return {};
    if ("crash" in dialogue) return dialogue;
    const history = historyOf(this.#conversation);
    const answersFormatted = dialogue.answerFormat !== undefined;
    return { ...dialogue.session, answersFormatted, ...(history.length === 0 ? {} : { history }) };
  }

  async round(prompt: string, send: SendFormatted): Promise<RoundEnd | undefined> {
    const { mode, scope, ports } = this.#context;
    const dialogue = await this.#started();
    if (dialogue === undefined) return undefined;
    if ("crash" in dialogue) return { kind: "exhausted", crash: dialogue.crash };
    // Each round of a task with multiple models has a session of its own, which knows nothing of others.
    if (mode.kind === "multiple") this.#conversation = [];
    const introduction =
      mode.kind === "borrowed" && !this.#introduced
        ? dialogue.session.systemPrompt?.text
        : undefined;
    this.#introduced = true;
    let before = introduction === undefined ? "" : `${introduction}\n\n`;
    const turn: SendTurn = async (text) => {
      const sent = await send(before + text, dialogue.answerFormat);
      before = "";
      if (sent.kind === "completed") this.#record(text, sent.text);
      if (sent.kind === "too long") this.#record(text, "(This answer was too long, and is lost.)");
      return sent;
    };
    return unlessStopped(scope, ports.clock, STOP_GRACE_MS, dialogue.round(prompt, turn));
  }

  async close(): Promise<void> {
    const { scope, ports } = this.#context;
    if (this.#dialogue === undefined) return;
    // One that is still starting is closed then.
    const closed = this.#dialogue.then(
      (dialogue) => ("crash" in dialogue ? undefined : dialogue.close()),
      () => undefined,
    );
    await unlessStopped(scope, ports.clock, STOP_GRACE_MS, closed);
  }

  #started(): Promise<Dialogue | Crashed | undefined> {
    const { scope, ports } = this.#context;
    this.#dialogue ??= this.#start();
    return unlessStopped(scope, ports.clock, STOP_GRACE_MS, this.#dialogue);
  }

  #record(text: string, answer: string): void {
    this.#conversation.push({ role: "user", text }, { role: "assistant", text: answer });
  }
}

/** The task itself and the latest of the conversation: the rest of a very long one is left out. */
function historyOf(
  conversation: readonly PastMessage[],
  most = HISTORY_CHARACTERS,
): readonly PastMessage[] {
  const longest = Math.floor(most / 8);
  const messages = conversation.map(({ role, text }) => ({ role, text: bothEnds(text, longest) }));
  let rest = most - size(messages.slice(0, 2));
  let kept = messages.length;
  // Pairs of a prompt and its answer.
  while (kept > 2 && size(messages.slice(kept - 2, kept)) <= rest) {
    rest -= size(messages.slice(kept - 2, kept));
    kept -= 2;
  }
  return kept === 2 ? messages : [...messages.slice(0, 2), ...messages.slice(kept)];
}

function size(messages: readonly PastMessage[]): number {
  return messages.reduce((sum, { text }) => sum + text.length, 0);
}
