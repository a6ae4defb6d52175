/**
 * Why a turn did not end well, as a value. `crashRemedy` names what the caller should do about it;
 * nothing else in the project decides whether an error is worth a retry.
 */
export interface Crash {
  readonly kind:
    | "runtime-died"
    | "session-error"
    | "start-failed"
    | "turn-deadline"
    | "idle-deadline"
    | "empty-answer"
    /** The model went on and on, and was cut off. */
    | "answer-too-long"
    | "aborted"
    /** So many denials in a row that nothing else was to be expected. */
    | "denied"
    | "internal";
  /** One sentence for people. */
  readonly message: string;
  /** HTTP status of the model's answer, where the runtime told it. */
  readonly statusCode?: number;
  /** The runtime's own class of error: `authentication`, `rate_limit`, `query`… */
  readonly errorType?: string;
  /** How long the model server asked us to wait, where the session can tell: today's SDK keeps it to itself. */
  readonly retryAfterMs?: number;
  /** The whole error as a JSON string (`errorToDetailedString`). */
  readonly detail?: string;
}

export type Remedy =
  | { readonly kind: "retry" }
  /** The runtime has already tried several times: at most two further tries, after a wait. */
  | { readonly kind: "retry-later"; readonly retryAfterMs?: number }
  | { readonly kind: "give-up"; readonly advice: string };

/** The crash, and what to do about it where a retry does nothing. */
export function crashText(crash: Crash): string {
  const remedy = crashRemedy(crash);
  if (remedy.kind !== "give-up") return crash.message;
  const sentence = /[.!?]["')]?$/.test(crash.message) ? crash.message : `${crash.message}.`;
  return `${sentence} ${remedy.advice}`;
}

/** The one advice that is not about the model server: it helps in a rehearsal too. */
export const permissionAdvice =
  'Allow in "permissions" what the task needs (each denial names it), or say in the prompt how to do without.';

/** Statement 6 of docs/engine.md: which crashes are worth another attempt. */
export function crashRemedy(crash: Crash): Remedy {
  const { statusCode } = crash;
  if (crash.errorType === "no-tools") {
    return { kind: "give-up", advice: "Choose a model that can call tools: agents need them." };
  }
  if (statusCode === 429 || (statusCode !== undefined && statusCode >= 500)) {
    return crash.retryAfterMs === undefined
      ? { kind: "retry-later" }
      : { kind: "retry-later", retryAfterMs: crash.retryAfterMs };
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode !== 408) {
    return { kind: "give-up", advice: adviceFor(statusCode) };
  }
  if (crash.errorType === "authentication" || crash.errorType === "authorization") {
    return { kind: "give-up", advice: adviceFor(401) };
  }
  if (crash.kind === "denied") {
    return { kind: "give-up", advice: permissionAdvice };
  }
  if (crash.errorType === "redirect") {
    return { kind: "give-up", advice: "Check the provider's base URL: no answer comes from it." };
  }
  if (crash.errorType === "configuration") {
    return { kind: "give-up", advice: "What is missing has to be installed or named first." };
  }
  if (/No GitHub OAuth token|Not authenticated/i.test(crash.message)) {
    return { kind: "give-up", advice: adviceFor(401) };
  }
  return { kind: "retry" };
}

function adviceFor(statusCode: number): string {
  switch (statusCode) {
    case 401:
      return "Check the token or the provider's API key: the model server did not accept it.";
    case 403:
      return "The token is known but may not use this model: check its permissions and the plan.";
    case 404:
      return "Check the model id and the provider's base URL: the model server does not know them.";
    case 413:
      return "The conversation is too large for the model server: shorten the prompt or what it reads.";
    default:
      return "The model server rejected the request itself: a retry would send the same. Check the model id and the length of the prompt.";
  }
}
