/** Helpers of all routes: the server's state, reading requests, answering them. */
import type { IncomingMessage } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import type { Handler, Hono } from "hono";
import type { Clock } from "../platform/clock.ts";
import type { PortalRehearsal } from "../reports/html/boot.ts";
import type { JournalFolder } from "../reports/journals.ts";
import { isRecord, isText } from "../text/guards.ts";
import type { RunJobOptions } from "./job-callbacks.ts";
import type { JobHost } from "./job-host.ts";
import type { Refused } from "./refusals.ts";

/** The whole state of a server. */
export interface Served {
  readonly host: JobHost;
  readonly clock: Clock;
  readonly repoRoot: string;
  /** Entries may be installed from files of this folder. Undefined: the server was started without `--test`. */
  readonly entriesFolder?: string | undefined;
  readonly journals?: JournalFolder | undefined;
  /** A script plays the models, which the page says. */
  readonly rehearsal?: PortalRehearsal | undefined;
  /** Ends the sessions and the server, once the answer to this request is on its way. */
  readonly stop: () => void;
  readonly isStopping: () => boolean;
}

export interface Env {
  readonly Bindings: HttpBindings;
  readonly Variables: { readonly body: string };
}

/** Registers a route of the documents, which name no methods: their clients use both. */
export function route<Path extends string>(
  app: Hono<Env>,
  path: Path,
  handler: Handler<Env, `/api/${Path}`>,
): void {
  app.on(["GET", "POST"], `/api/${path}`, handler);
}

const statuses = {
  BadRequest: 400,
  UserInputRequired: 400,
  ParametersRequired: 400,
  ParametersNotPossible: 400,
  InputsNotPossible: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  RequestTimeout: 408,
  NotStarted: 409,
  QuestionNotFound: 409,
  ShuttingDown: 409,
  BodyTooLarge: 413,
  HeadersTooLarge: 431,
  InternalError: 500,
} as const;

export type RefusalName = keyof typeof statuses;

export function json(
  value: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { "Content-Type": "application/json; charset=utf-8", ...headers },
  });
}

export function refuse(
  error: RefusalName,
  reason: string,
  headers?: Readonly<Record<string, string>>,
): Response {
  return json({ error, reason }, statuses[error], headers);
}

/** Answers with what was started, with `done`, or with the refusal. */
export function answer(
  outcome: Refused | { readonly kind: "started" } | undefined,
  done: object = {},
): Response {
  if (outcome === undefined) return json(done);
  if (outcome.kind === "started") {
    const { kind: _, ...started } = outcome;
    return json(started);
  }
  const { kind: _, reason: error, message: reason, ...more } = outcome;
  return isRefusalName(error) ? json({ error, reason, ...more }, statuses[error]) : json({ error });
}

function isRefusalName(name: string): name is RefusalName {
  return Object.hasOwn(statuses, name);
}

/** For a connection on which no request could be read. */
export function rawRefusal(error: RefusalName, reason: string): string {
  const body = JSON.stringify({ error, reason });
  return [
    `HTTP/1.1 ${statuses[error]} ${error}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    "",
    body,
  ].join("\r\n");
}

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
export function readStart(
  body: string,
):
  Required<Pick<RunJobOptions, "userInput" | "workingDirectory" | "params" | "inputs">> | Response {
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
