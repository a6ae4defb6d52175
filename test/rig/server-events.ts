/** Server-sent events as a browser reads them. */
import { EventSourceParserStream } from "eventsource-parser/stream";
import { recordOf, type Answer } from "./answer.ts";

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
