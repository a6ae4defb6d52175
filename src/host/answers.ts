import type { Refused } from "./refusals.ts";

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
