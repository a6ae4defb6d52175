/**
 * The dialogue of one run of a task, as its sessions need it: started when the first of them is opened, and known to
 * each that replaces another. It sends nothing itself.
 */
import type { Crashed, Dialogue, RoundEnd, SendTurn, TurnSent } from "./dialogue.ts";
import type { AnswerFormat, PastMessage, SessionRequest } from "./ports.ts";
import { STOP_GRACE_MS, unlessStopped } from "./scope.ts";
import type { TaskContext } from "./task-context.ts";
import { bothEnds } from "../events/cut.ts";

/** Of the conversation that a session is given; about 100,000 tokens. */
const HISTORY_CHARACTERS = 400_000;

/** As `SendTurn`. */
export type SendFormatted = (text: string, format: AnswerFormat | undefined) => Promise<TurnSent>;

export class TaskDialogue {
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

  /** Undefined if the scope has stopped. */
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
