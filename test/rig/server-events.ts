/** Server-sent events as a browser reads them: https://html.spec.whatwg.org/multipage/server-sent-events.html */
import { recordOf, type Answer } from "./answer.ts";

export interface ServerEvent {
  readonly id: string;
  readonly data: Answer;
}

export async function* eventsOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<ServerEvent, void, void> {
  let rest = "";
  let id = "";
  let data: string[] = [];
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split(/\r\n|\n|\r/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) yield { id, data: recordOf(data.join("\n")) };
        data = [];
        continue;
      }
      const { field, value } = fieldOf(line);
      if (field === "id") id = value;
      if (field === "data") data.push(value);
    }
  }
}

/** A comment is a field without a name. */
function fieldOf(line: string): { readonly field: string; readonly value: string } {
  const colon = line.indexOf(":");
  if (colon < 0) return { field: line, value: "" };
  return { field: line.slice(0, colon), value: line.slice(colon + 1).replace(/^ /, "") };
}
