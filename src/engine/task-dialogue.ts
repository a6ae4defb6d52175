import { truncateMiddle } from "../text/truncate.ts";
import type { Dialogue, RoundEnd, SendTurn } from "./dialogue.ts";
import type {
  AnswerFormat,
  Crashed,
  PastMessage,
  SessionRequest,
  ToolCall,
  TurnOutcome,
} from "./ports.ts";
import { unlessStopped } from "./scope.ts";
import type { TaskContext } from "./task-context.ts";

/** The most of a conversation that a session is given: about 100,000 tokens. */
const HISTORY_CHARACTERS = 400_000;

type SendFormatted = (text: string, format: AnswerFormat | undefined) => Promise<TurnOutcome>;

/** Started when the first session of the task is opened, and known to each that replaces another. */
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

  async session(): Promise<Partial<SessionRequest> | Crashed> {
    const dialogue = await this.#started();
    if (dialogue === undefined) return {};
    if ("crash" in dialogue) return dialogue;
    const history = historyOf(this.#conversation);
    const answersFormatted = dialogue.answerFormat !== undefined;
    return { ...dialogue.session, answersFormatted, ...(history.length === 0 ? {} : { history }) };
  }

  async round(prompt: string, send: SendFormatted): Promise<RoundEnd | undefined> {
    const { isMultiple, borrowed, scope, ports } = this.#context;
    const dialogue = await this.#started();
    if (dialogue === undefined) return undefined;
    if ("crash" in dialogue) return dialogue;
    // Each round of a task with multiple models has a session of its own, which knows nothing of others.
    if (isMultiple) this.#conversation = [];
    const introduction =
      borrowed !== undefined && !this.#introduced ? dialogue.session.systemPrompt?.text : undefined;
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
