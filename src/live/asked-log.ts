/** What clients asked of their sessions: the feeds of the sessions don't have it. Bounded for all sessions together. */
import { cut } from "../events/cut.ts";

/** `after`: the number of the last response in the feed of the session when it was asked; 0 if there was none. */
export type AskedItem = { readonly after: number } & (
  | { readonly kind: "prompt"; readonly text: string }
  | { readonly kind: "task"; readonly taskId: string; readonly taskName: string }
);

/** In UTF-16 units. */
const MAX_PROMPT = 64 * 1024;
const MAX_ALL = 1024 * 1024;
/** What an item takes besides its text. */
const ITEM = 100;

export class AskedLog {
  #items: { readonly sessionId: string; readonly item: AskedItem; readonly size: number }[] = [];
  #size = 0;

  /** Forgets the oldest items, of whichever session, if there is no room. */
  add(sessionId: string, asked: AskedItem): void {
    const item = asked.kind === "prompt" ? { ...asked, text: shortened(asked.text) } : asked;
    const size = ITEM + (item.kind === "prompt" ? item.text : item.taskName).length;
    this.#items.push({ sessionId, item, size });
    this.#size += size;
    let dropped = 0;
    while (this.#size > MAX_ALL) this.#size -= this.#items[dropped++]?.size ?? 0;
    if (dropped > 0) this.#items = this.#items.slice(dropped);
  }

  of(sessionId: string): readonly AskedItem[] {
    return this.#items.filter((one) => one.sessionId === sessionId).map(({ item }) => item);
  }

  forget(sessionId: string): void {
    this.#items = this.#items.filter((one) => one.sessionId !== sessionId);
    this.#size = this.#items.reduce((sum, { size }) => sum + size, 0);
  }
}

function shortened(text: string): string {
  if (text.length <= MAX_PROMPT) return text;
  return `${cut(text, MAX_PROMPT)}… (${text.length - MAX_PROMPT} characters omitted)`;
}
