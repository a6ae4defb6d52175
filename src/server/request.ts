/** The parts of a request that anyone can fill with anything: its target and its body. */
import type { IncomingMessage } from "node:http";
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

/** The first line of a body, and the rest. */
export function firstLine(body: string): { readonly first: string; readonly rest: string } {
  const [, first = "", rest = ""] = /^([^\r\n]*)(?:\r?\n|\r)?([\s\S]*)$/.exec(body) ?? [];
  return { first, rest };
}
