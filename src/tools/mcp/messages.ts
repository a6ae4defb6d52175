/** Reads what servers send leniently: null means absent, and whatever has the id of a request answers it. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isList, isRecord, isText, parsedJson } from "../../text/guards.ts";

const internalError = -32_603;
/** Their values are data, where null means something. */
const data = new Set(
  "structuredContent default const enum examples arguments data _meta".split(" "),
);
const deepest = 100;

/** `requestId`: of the request that the message answers if its own id is null. */
export function repaired(message: unknown, requestId?: unknown): unknown {
  if (isList(message)) return message.map((one) => repaired(one, requestId));
  if (!isRecord(message)) return message;
  if (isText(message["method"])) return withoutNulls({ ...message, jsonrpc: "2.0" });
  const id = message["id"] ?? requestId;
  if (id === undefined || !("result" in message || "error" in message)) return message;
  return { jsonrpc: "2.0", id, ...answerOf(message) };
}

function answerOf({ result, error }: Readonly<Record<string, unknown>>): object {
  if (error !== undefined && error !== null) return { error: errorOf(error) };
  if (isRecord(result)) return { result: withoutNulls(result) };
  const message =
    result === undefined || result === null
      ? "The server answered with neither a result nor an error."
      : "The server answered with a result that is not an object.";
  return { error: { code: internalError, message } };
}

function errorOf(error: unknown): object {
  const { code, message, ...rest } = isRecord(error) ? error : { message: error };
  return {
    ...rest,
    code: Number.isSafeInteger(code) ? code : internalError,
    message: isText(message) ? message : JSON.stringify(error),
  };
}

function withoutNulls(value: unknown, depth = 0): unknown {
  if (isList(value))
    return depth > deepest ? value : value.map((one) => withoutNulls(one, depth + 1));
  if (!isRecord(value) || depth > deepest) return value;
  const kept = Object.entries(value).filter(
    ([key, one]) => one !== null || key === "default" || key === "const",
  );
  return Object.fromEntries(
    kept.map(([key, one]) => [key, data.has(key) ? one : withoutNulls(one, depth + 1)]),
  );
}

/** Lines that are no message are ignored: many programs print something else. */
export function isMessage(value: unknown): value is JSONRPCMessage {
  return isRecord(value) && value["jsonrpc"] === "2.0";
}

/**
 * Repairs the messages of a body: each event of a stream when it has arrived, any other body at its end. `most`:
 * characters of an event or of a body.
 */
export function repairedBody(
  isStream: boolean,
  most: number,
  requestId: () => unknown,
): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = "";
  const repair = (text: string): string => {
    const message = parsedJson(text);
    return message === undefined ? text : JSON.stringify(repaired(message, requestId()));
  };
  return new TransformStream({
    transform(piece, controller) {
      const news = decoder.decode(piece, { stream: true });
      const mayEnd = isStream && endOfEvent.test(rest.slice(-3) + news);
      rest += news;
      const events = mayEnd ? rest.split(endOfEvent) : [rest];
      rest = events.pop() ?? "";
      if (rest.length > most)
        return controller.error(
          new Error(`The server sent more than ${most / 1024 / 1024} MB at once.`),
        );
      for (const event of events) controller.enqueue(encoder.encode(repairedEvent(event, repair)));
    },
    flush(controller) {
      // A stream that breaks off in the middle of an event has not sent it.
      controller.enqueue(encoder.encode(isStream ? rest : repair(rest)));
    },
  });
}

const endOfEvent = /\r?\n\r?\n/;
const dataLine = /^data: ?/;

function repairedEvent(event: string, repair: (text: string) => string): string {
  const lines = event.split(/\r?\n/);
  const isData = (line: string): boolean => dataLine.test(line);
  const text = lines
    .filter(isData)
    .map((line) => line.replace(dataLine, ""))
    .join("\n");
  const others = lines.filter((line) => !isData(line));
  const written =
    text === ""
      ? []
      : repair(text)
          .split("\n")
          .map((line) => `data: ${line}`);
  return `${[...others, ...written].join("\n")}\n\n`;
}
