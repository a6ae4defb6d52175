import { defined, isText } from "../text/guards.ts";
import { idOf, type ExpandedPrompt } from "../entry/model.ts";
import type { Crash } from "../events/crash.ts";
import { truncateMiddle } from "../text/truncate.ts";
import type { Purpose } from "../events/decision.ts";
import { ANSWER_CUT, EMPTY_VERDICT, gaveVerdict } from "./criteria.ts";
import type { Crashed, Dialogue, Judged, RoundEnd, SendTurn } from "./dialogue.ts";
import type { Deadline } from "./limits.ts";
import { SessionKeeper } from "./open-session.ts";
import type { AnswerFormat, PastMessage, SessionRequest, ToolCall, TurnOutcome } from "./ports.ts";
import { unlessStopped } from "./scope.ts";
import { MANAGED_ATTEMPTS, roundRobin, sameModel, type Attempts } from "./attempts.ts";
import { askToContinue, sendPrompt, type Prompt, type Sender } from "./send-prompt.ts";
import type { TaskContext } from "./task-context.ts";
import { argumentOf } from "./variables.ts";

interface Round {
  readonly prompt: ExpandedPrompt;
  readonly retry: number;
  readonly wentWell: (judged: Judged) => boolean;
}

type Asked = Pick<Prompt, "purpose" | "retry" | "text" | "isAnswer" | "answerFormat"> & {
  readonly role: "driving" | "task";
};

export interface Answer {
  readonly text?: string;
  readonly document?: string;
}

export class TaskPrompts {
  readonly #context: TaskContext;
  readonly #dialogue: TaskDialogue | undefined;
  readonly #keeper: SessionKeeper;
  readonly #sender: Sender;
  #text: string | undefined;
  #document: string | undefined;

  constructor(context: TaskContext, deadline: Deadline) {
    const { spec, ports, scope, budgets, lastErrors, work, nextTurnId, startDialogue } = context;
    this.#context = context;
    const dialogue = startDialogue && new TaskDialogue(context, () => startDialogue(deadline));
    this.#dialogue = dialogue;
    this.#keeper = new SessionKeeper(context, dialogue && (() => dialogue.session()));
    this.#sender = {
      ports,
      scope,
      limits: spec.limits,
      budgets,
      deadline,
      nextTurnId,
      subject: `task "${work.taskId}"`,
      emit: (event) => ports.emit({ ...event, work }),
      onError: (error) => lastErrors.note(scope, error),
    };
  }

  async condition(
    purpose: Exclude<Purpose, "prompt">,
    { prompt, retry, wentWell }: Round,
  ): Promise<RoundEnd> {
    const { variables } = this.#context;
    const text = (): string => variables.expand(prompt);
    const asked = this.#prompt({ purpose, retry, role: "driving", text });
    let outcome = await sendPrompt(this.#sender, asked);
    if (outcome.kind === "completed" && outcome.empty === true && !gaveVerdict(outcome.toolCalls))
      outcome = await askToContinue(this.#sender, asked, outcome, EMPTY_VERDICT);
    if (this.#context.mode.kind !== "multiple") outcome = await this.#asDocument(asked, outcome);
    return this.served("driving", roundOf(outcome), wentWell);
  }

  /** A model without function calls answers a condition with a document, too. Two of them may be wrong. */
  async #asDocument(asked: Prompt, ended: TurnOutcome): Promise<TurnOutcome> {
    let outcome = ended;
    for (let repairs = 0; outcome.kind === "completed"; repairs += 1) {
      if (gaveVerdict(outcome.toolCalls)) break;
      const taken = (await this.#dialogue?.take(outcome.text)) ?? [];
      if (!isText(taken)) {
        this.#report(taken);
        return { ...outcome, toolCalls: [...outcome.toolCalls, ...taken] };
      }
      if (repairs === 2) break;
      outcome = await askToContinue(
        this.#sender,
        asked,
        outcome,
        taken,
        "A document was rejected.",
      );
    }
    return outcome;
  }

  #report(toolCalls: readonly ToolCall[]): void {
    this.#context.variables.report(toolCalls);
    this.#document = documentIn(toolCalls) ?? this.#document;
  }

  /** After an empty answer, its session stays open: `askToContinue` or `served` must follow. */
  async round({ prompt, retry, wentWell }: Round): Promise<RoundEnd> {
    const { variables, given } = this.#context;
    given.round += 1;
    const common = { purpose: "prompt", role: "task", retry } as const;
    const end =
      this.#dialogue === undefined
        ? roundOf(await this.#send({ ...common, text: () => variables.expand(prompt) }))
        : await this.#dialogue.round(variables.expand(prompt), async (text, answerFormat) => {
            const isAnswer = this.#isAnswer;
            const outcome = await this.#send({ ...common, text, answerFormat, isAnswer });
            return outcome.kind === "crashed" && isAnswer(outcome.crash) ? answerLost : outcome;
          });
    if (end === undefined || this.#context.scope.stopped !== undefined) return { kind: "canceled" };
    if (end.kind === "completed" || end.kind === "failed") this.#text = end.text;
    if (end.kind === "completed") this.#report(end.toolCalls);
    return end.kind === "completed" && end.empty === true
      ? end
      : this.served("task", end, wentWell);
  }

  /** Statement 7a: the round goes on in its session. */
  async askToContinue(
    ended: RoundEnd & { readonly kind: "completed" },
    { prompt, retry, wentWell }: Round,
    text: ExpandedPrompt,
  ): Promise<RoundEnd> {
    const { variables } = this.#context;
    const whole = (): string => variables.expand(prompt);
    const asked = this.#prompt({ purpose: "prompt", role: "task", retry, text: whole });
    const outcome = await askToContinue(this.#sender, asked, ended, variables.expand(text));
    if (outcome.kind === "completed") this.#text = outcome.text;
    return this.served("task", roundOf(outcome), wentWell);
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

  #send(asked: Asked): Promise<TurnOutcome> {
    return sendPrompt(this.#sender, this.#prompt(asked));
  }

  #prompt({ role, ...prompt }: Asked): Prompt {
    const { mode, given } = this.#context;
    return {
      ...prompt,
      attempts: this.#attempts(role),
      lent: mode.kind === "borrowed",
      sessions: this.#keeper.source(role, prompt.retry),
      onTurn: (outcome) => {
        // A prompt that is sent again reports its calls anew. After an answer the dialogue continues its round.
        if (outcome.kind === "crashed" && prompt.isAnswer?.(outcome.crash) !== true)
          given.round += 1;
        this.#report(outcome.toolCalls);
      },
    };
  }

  async served(role: Asked["role"], end: RoundEnd, wentWell: Round["wentWell"]): Promise<RoundEnd> {
    if (end.kind !== "completed" && end.kind !== "failed") return end;
    await this.#keeper.closeIfSinglePurpose(role, end.kind === "completed" && wentWell(end));
    return this.#context.scope.stopped === undefined ? end : { kind: "canceled" };
  }

  async end(succeeded: boolean): Promise<void> {
    await Promise.all([this.#dialogue?.close(), this.#keeper.end(succeeded)]);
  }

  #attempts(role: "driving" | "task"): Attempts {
    const { spec, mode, modelId } = this.#context;
    const { drivingSessionRetries: budgets, models } = spec.entry;
    if (mode.kind === "borrowed") return sameModel(mode.session.modelId, 1);
    if (mode.kind === "single" || role === "task") return sameModel(modelId, MANAGED_ATTEMPTS);
    return budgets === undefined
      ? sameModel(idOf(models.driving), MANAGED_ATTEMPTS)
      : roundRobin(idOf(models.driving), budgets);
  }
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

function documentIn(toolCalls: readonly ToolCall[]): string | undefined {
  const last = toolCalls.findLast(
    ({ name, succeeded }) => succeeded && name === "job_prepare_document",
  );
  return last && argumentOf(last);
}

/** The most of a conversation that a session is given: about 100,000 tokens. */
const HISTORY_CHARACTERS = 400_000;

type SendFormatted = (text: string, format: AnswerFormat | undefined) => Promise<TurnOutcome>;

/** Started when the first session of the task is opened, and known to each that replaces another. */
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
    if ("crash" in dialogue) return dialogue;
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
      if (sent.kind === "completed")
        this.#conversation.push({ role: "user", text }, { role: "assistant", text: sent.text });
      return sent;
    };
    return unlessStopped(scope, ports.clock, dialogue.round(prompt, turn));
  }

  async take(answer: string): Promise<readonly ToolCall[] | string> {
    const { scope, ports } = this.#context;
    const dialogue = await this.#started();
    if (dialogue === undefined || "crash" in dialogue) return [];
    return (await unlessStopped(scope, ports.clock, dialogue.take(answer))) ?? [];
  }

  async close(): Promise<void> {
    const { scope, ports } = this.#context;
    if (this.#dialogue === undefined) return;
    // One that is still starting is closed then.
    const closed = this.#dialogue.then(
      (dialogue) => ("crash" in dialogue ? undefined : dialogue.close()),
      () => undefined,
    );
    await unlessStopped(scope, ports.clock, closed);
  }

  #started(): Promise<Dialogue | Crashed | undefined> {
    const { scope, ports } = this.#context;
    this.#dialogue ??= this.#start();
    return unlessStopped(scope, ports.clock, this.#dialogue);
  }
}

function historyOf(conversation: readonly PastMessage[]): readonly PastMessage[] {
  const most = HISTORY_CHARACTERS;
  const longest = Math.floor(most / 8);
  const messages = conversation.map(({ role, text }) => ({
    role,
    text: truncateMiddle(text, longest),
  }));
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
