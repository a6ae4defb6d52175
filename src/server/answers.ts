/**
 * What the server answers with: JSON, and refusals with a reason. Documented errors are JSON with status 200. A person
 * whose browser is refused gets a small page, without scripts.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { Refused } from "../live/refusals.ts";

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

/** Errors that the documents of the API don't name. */
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

/** `reason` is a sentence for the person who wrote the client. */
export function refuse(
  error: RefusalName,
  reason: string,
  headers?: Readonly<Record<string, string>>,
): Response {
  return json({ error, reason }, statuses[error], headers);
}

/** `undefined`: it was done. */
export function answerDone(refused: Refused | undefined, done: object): Response {
  return refused === undefined ? json(done) : answerRefused(refused);
}

export function answerStarted<Started extends { readonly kind: "started" }>(
  outcome: Started | Refused,
  started: (outcome: Started) => object,
): Response {
  return outcome.kind === "refused" ? answerRefused(outcome) : json(started(outcome));
}

/** In the words of the documents, where they have one for the reason. */
function answerRefused({ reason, message, parameters }: Refused): Response {
  switch (reason) {
    case "ParametersRequired":
      return json({ error: reason, reason: message, parameters }, statuses[reason]);
    case "UserInputRequired":
    case "ParametersNotPossible":
    case "InputsNotPossible":
    case "QuestionNotFound":
    case "NotStarted":
      return refuse(reason, message);
    default:
      return json({ error: reason });
  }
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

interface Opened {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** For people: the same as the reason. `html` is text of our own: nothing of the request may be in it. */
interface Page {
  readonly title: string;
  readonly html: string;
}

/** A refusal: a page for a browser that opens an address, JSON for everyone else and for the API. */
export function refuseAsAsked(
  opened: Opened,
  refusal: { readonly error: RefusalName; readonly reason: string; readonly page: Page },
  headers: Readonly<Record<string, string>> = {},
): Response {
  const { error, reason, page } = refusal;
  if (!isBrowser(opened)) return refuse(error, reason, headers);
  return new Response(htmlOf(page), {
    status: statuses[error],
    headers: { "Content-Type": "text/html; charset=utf-8", ...headers },
  });
}

function isBrowser({ method, path, headers: { accept = "" } }: Opened): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  return path !== "/api" && !path.startsWith("/api/") && /\btext\/html\b/i.test(accept);
}

function htmlOf({ title, html }: Page): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · agent-jobs</title>
<style>body { max-width: 34rem; margin: 15vh auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif } h1 { font-size: 1.4rem }</style>
<main>
<h1>${title}</h1>
${html}
</main>
</html>
`;
}
