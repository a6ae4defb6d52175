/**
 * Why a turn did not end well, as a value with a cause. `sessions` and `runtime` find the cause where the
 * error arises. `crashRemedy` names what the caller should do about it: nothing else in the project
 * decides whether an error is worth a retry.
 */
export type Crash = (
  | Refusal
  /** The model does not support tools, and agents need them. */
  | { readonly cause: "no-tools"; readonly status?: number }
  /** The model server redirects every request. */
  | { readonly cause: "redirect" }
  /** There was no connection to the model server. */
  | { readonly cause: "unreachable" }
  /** Any other error that the session reported: a broken stream, an answer that is not JSON… */
  | { readonly cause: "session-error"; readonly status?: number }
  /** Neither text nor a tool call. */
  | { readonly cause: "empty-answer" }
  /** The content filter of the model blocked the answer. */
  | { readonly cause: "filtered" }
  /** The model did not stop, and was cut off. */
  | { readonly cause: "answer-too-long" }
  /** `refusal`: the answer of the model server after which the runtime kept silent. */
  | {
      readonly cause: "deadline";
      readonly limit: "turnMinutes" | "idleMinutes";
      readonly refusal?: Refusal;
    }
  /** Too many consecutive denials. */
  | { readonly cause: "denied" }
  /** The turn or the session was not ended by this run. */
  | { readonly cause: "aborted" }
  | { readonly cause: "runtime-died" }
  /** The runtime or the session did not start. */
  | { readonly cause: "start-failed" }
  /** There is no Copilot runtime. */
  | { readonly cause: "not-installed" }
  /** Something that the session needs was not given, or is gone. */
  | { readonly cause: "configuration" }
  /** A bug in agent-jobs. */
  | { readonly cause: "internal" }
) & {
  /** One sentence for users. */
  readonly message: string;
  /** The whole error as a JSON string (`errorToDetailedString`). */
  readonly detail?: string;
};

/** The model server rejected the request with an HTTP status. */
export type Refusal =
  /** Without a status: the runtime had no credentials to send. */
  | { readonly cause: "auth"; readonly status?: 401 }
  | { readonly cause: "forbidden"; readonly status: 403 }
  | { readonly cause: "not-found"; readonly status: 404 }
  | { readonly cause: "too-large"; readonly status: 413 }
  | { readonly cause: "rejected"; readonly status: number }
  | Overload;

/** `retryAfterMs`: how long the model server asked to wait. The current SDK does not report it. */
export type Overload =
  | { readonly cause: "rate-limited"; readonly status: 429; readonly retryAfterMs?: number }
  | { readonly cause: "overloaded"; readonly status: number; readonly retryAfterMs?: number };

export type Remedy =
  | { readonly kind: "retry" }
  /** The runtime has already tried several times: at most two further attempts, after a wait. */
  | { readonly kind: "retry-later"; readonly overload: Overload }
  | { readonly kind: "give-up"; readonly advice: string };

/** What to do about a crash if a further attempt does not help. */
export function crashAdvice(crash: Crash): string | undefined {
  const remedy = crashRemedy(crash);
  return remedy.kind === "give-up" ? remedy.advice : undefined;
}

/** The one advice that is not about the model server: it helps in a rehearsal too. */
export const permissionAdvice =
  'Allow what the task needs in "permissions" (each denial names it), or change the prompt so that the task works without it.';

/** Statement 6 of docs/engine.md: which crashes are worth another attempt. */
export function crashRemedy(crash: Crash | Refusal): Remedy {
  switch (crash.cause) {
    case "auth":
      return giveUp("Check the token or the provider's API key. The model server rejected it.");
    case "forbidden":
      return giveUp(
        "Check the permissions of the token and your plan. The token is not allowed to use this model.",
      );
    case "not-found":
      return giveUp(
        "Check the model id and the provider's base URL. The model server doesn't know them.",
      );
    case "too-large":
      return giveUp(
        "Shorten the prompt, or let the agent read less. The conversation is too large for the model server.",
      );
    case "rejected":
      return giveUp(
        "Check the model id and the length of the prompt. The model server rejected the request, and a retry would send the same.",
      );
    case "no-tools":
      return giveUp("Choose a model that supports tools.");
    case "redirect":
      return giveUp("Check the provider's base URL.");
    case "denied":
      return giveUp(permissionAdvice);
    case "not-installed":
    case "configuration":
      return giveUp("Install the missing part, or set its path.");
    case "rate-limited":
    case "overloaded":
      return { kind: "retry-later", overload: crash };
    case "deadline":
      return crash.refusal === undefined ? { kind: "retry" } : crashRemedy(crash.refusal);
    case "unreachable":
    case "session-error":
    case "empty-answer":
    case "filtered":
    case "answer-too-long":
    case "aborted":
    case "runtime-died":
    case "start-failed":
    case "internal":
      return { kind: "retry" };
  }
}

function giveUp(advice: string): Remedy {
  return { kind: "give-up", advice };
}

/** The HTTP status of the model server's answer, if there was one. */
export function crashStatus(crash: Crash): number | undefined {
  if (crash.cause === "deadline") return crash.refusal?.status;
  return "status" in crash ? crash.status : undefined;
}
