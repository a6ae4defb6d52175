import assert from "node:assert/strict";
import { EventSourceParserStream } from "eventsource-parser/stream";

/** A JSON object, as the routes of the server answer. */
export type Answer = Readonly<Record<string, unknown>>;

/** A JSON object, or a failure of the test. */
export function recordOf(text: string): Answer {
  const value: unknown = JSON.parse(text);
  assert.ok(typeof value === "object" && value !== null && !Array.isArray(value), text);
  return { ...value };
}

/** The answers of a feed with this callback. */
export const named = (feed: readonly Answer[], callback: string): readonly Answer[] =>
  feed.filter((one) => one["callback"] === callback);

export const callbacksOf = (feed: readonly Answer[]): readonly unknown[] =>
  feed.map((one) => one["callback"]);

/* Server-sent events as a browser reads them. */

export interface ServerEvent {
  readonly id: string;
  readonly data: Answer;
}

export async function* eventsOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<ServerEvent, void, void> {
  const events = body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  for await (const { id = "", data } of events) yield { id, data: recordOf(data) };
}
