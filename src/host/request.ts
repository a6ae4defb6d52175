/** The parts of a request that anyone can fill with anything: its target and its body. */
import type { IncomingMessage } from "node:http";
import { isRecord, isText } from "../text/guards.ts";
import type { RunJobOptions } from "./job-callbacks.ts";
import { refuse } from "./answers.ts";

const MAX_BODY_BYTES = 1024 * 1024;
/** Up to here, the rest of a body that is too large is read and forgotten: its sender reads no answer before. */
const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;

/** A refusal, or undefined for a path on this server with valid percent-encoding. */
export function checkTarget(target: string): Response | undefined {
  if (!target.startsWith("/"))
    return refuse("BadRequest", "The request target must be a path, such as /api/test.");
  try {
    decodeURIComponent(target.split("?", 1)[0] ?? "");
    return undefined;
  } catch {
    return refuse("BadRequest", "The path has invalid percent-encoding.");
  }
}

/** The body as text, or a refusal. Rejects if the connection ends before the body. */
export async function readBody(incoming: IncomingMessage): Promise<string | Response> {
  const tooLarge = (): Response =>
    refuse("BodyTooLarge", `The body is larger than the maximum of ${MAX_BODY_BYTES} bytes.`, {
      Connection: "close",
    });
  if (Number(incoming.headers["content-length"] ?? 0) > MAX_DISCARDED_BYTES) return tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Its end must not destroy the connection, on which the answer goes out.
  for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes > MAX_DISCARDED_BYTES) break;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (bytes > MAX_BODY_BYTES) return tooLarge();
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    return refuse("BadRequest", "The body is not valid UTF-8.");
  }
}

/** The directory in the first line and then the user input, or a JSON object. No absolute path begins like one. */
export function readStart(body: string): Required<Omit<RunJobOptions, "signal">> | Response {
  if (!body.startsWith("{")) {
    const { first: workingDirectory, rest: userInput } = firstLine(body);
    return { workingDirectory, userInput, params: {}, inputs: {} };
  }
  const shape = "{ workingDirectory, userInput?, inputs?, params? }, of strings";
  const wrong = (): Response => refuse("BadRequest", `A body in JSON must be ${shape}.`);
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return refuse("BadRequest", `The body begins with {, but is not JSON. It must be ${shape}.`);
  }
  if (!isRecord(value)) return wrong();
  const { workingDirectory, userInput = "", params = {}, inputs = {}, ...others } = value;
  if (!isText(workingDirectory) || !isText(userInput) || Object.keys(others).length > 0)
    return wrong();
  return isTexts(params) && isTexts(inputs)
    ? { workingDirectory, userInput, params, inputs }
    : wrong();
}

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return isRecord(value) && Object.values(value).every(isText);
}

export function firstLine(body: string): { readonly first: string; readonly rest: string } {
  const [, first = "", rest = ""] = /^([^\r\n]*)(?:\r?\n|\r)?([\s\S]*)$/.exec(body) ?? [];
  return { first, rest };
}
