/**
 * The texts of sessions that are coming in: messages, reasoning, the output of tools. Each has a stream of its own,
 * until it ends or its session does.
 */
import { textOf, type Delta, type SessionActivity } from "../events/session-activity.ts";
import type { TextStream } from "./text-stream.ts";

/** Shows a piece of the text to the listeners. */
type Show<T> = (text: string) => T;

interface OpenText<T> {
  readonly stream: TextStream;
  readonly show: Show<T>;
}

export class OpenTexts<T> {
  readonly #sessions = new Map<string, Map<string, OpenText<T>>>();
  readonly #stream: () => TextStream;

  constructor(stream: () => TextStream) {
    this.#stream = stream;
  }

  /** `show` is for this piece and, if it is the last one, for the rest. */
  push(sessionId: string, delta: Delta, show: Show<T>): T {
    const texts = this.#sessions.get(sessionId) ?? new Map<string, OpenText<T>>();
    this.#sessions.set(sessionId, texts);
    const id = textOf(delta) ?? "";
    const stream = texts.get(id)?.stream ?? this.#stream();
    texts.set(id, { stream, show });
    return show(stream.push(delta.text));
  }

  /** The rest of the text that an activity ends, if it ends one. */
  endedBy(sessionId: string, activity: SessionActivity): readonly T[] {
    const texts = this.#sessions.get(sessionId);
    const id = textOf(activity);
    if (texts === undefined || id === undefined) return [];
    const open = texts.get(id);
    texts.delete(id);
    if (texts.size === 0) this.#sessions.delete(sessionId);
    return open === undefined ? [] : rest(open);
  }

  /** The rest of every text of a session: none of them continues. */
  end(sessionId: string): readonly T[] {
    const texts = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    return [...(texts?.values() ?? [])].flatMap(rest);
  }
}

function rest<T>({ stream, show }: OpenText<T>): readonly T[] {
  const text = stream.end();
  return text === "" ? [] : [show(text)];
}
