/** What the server answers with: JSON, and refusals with a reason. Documented errors are JSON with status 200. */
import type { Refused } from "../live/refusals.ts";

const statuses = {
  BadRequest: 400,
  UserInputRequired: 400,
  ParametersRequired: 400,
  ParametersNotPossible: 400,
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

export function statusOf(error: RefusalName): number {
  return statuses[error];
}

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

/** With the id of what was started. */
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
