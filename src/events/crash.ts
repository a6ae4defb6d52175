/** Why a turn did not end well. Only `crashRemedy` decides whether an error is worth a retry. */
import { sentence, truncateUnredacted, moreCharacters } from "../text/truncate.ts";
import * as is from "../document/describe.ts";
import type { Tagged, TypeOf } from "../document/describe.ts";

const overloads = {
  "rate-limited": {
    status: is.exactly(429),
    /** How long the model server asked to wait, if it is known. */
    retryAfterMs: is.optional(is.amount),
  },
  overloaded: { status: is.count, retryAfterMs: is.optional(is.amount) },
};

const refusals = {
  /** `status` is absent if the runtime had no credentials to send. */
  auth: { status: is.optional(is.count) },
  forbidden: { status: is.exactly(403) },
  "not-found": { status: is.exactly(404) },
  "too-large": { status: is.exactly(413) },
  rejected: { status: is.count },
  /** The account has used up what it has paid for. */
  quota: { status: is.optional(is.count) },
  ...overloads,
};
const refusal = is.tagged("cause", refusals);
export type Refusal = TypeOf<typeof refusal>;
type Overload = Tagged<"cause", typeof overloads>;

const causes = is.tagged("cause", {
  ...refusals,
  /** The model does not support tools, and agents need them. */
  "no-tools": { status: is.optional(is.count) },
  /** The model server redirects every request. */
  redirect: {},
  /** There was no connection to the model server. `absent`: nor has it answered in this run. */
  unreachable: { absent: is.optional(is.yes) },
  /** Any other error that the session reported: a broken stream, an answer that is not JSON… */
  "session-error": { status: is.optional(is.count) },
  /** Neither text nor a tool call. */
  "empty-answer": {},
  /** The content filter of the model blocked the answer. */
  filtered: {},
  /** The model refused to answer. */
  refused: {},
  /** The model did not stop, and was cut off. */
  "answer-too-long": {},
  deadline: {
    limit: is.words("turnMinutes", "idleMinutes"),
    /** The option, input or field that set the limit. Absent: it is the default. */
    setBy: is.optional(is.text),
    /** The answer of the model server after which the runtime kept silent. */
    refusal: is.optional(refusal),
  },
  /** Too many consecutive denials. */
  denied: {},
  /** The turn or the session was not ended by this run. */
  aborted: {},
  /** `ended`: agent-jobs ended it, because it hung. */
  "runtime-died": { ended: is.optional(is.flag) },
  /** The runtime or the session did not start. */
  "start-failed": {},
  /** There is no Copilot runtime. */
  "not-installed": {},
  /** Something that the session needs was not given, or is gone. */
  configuration: {},
  /** A bug in agent-jobs. */
  internal: {},
});
const said = is.record({
  /** One sentence for users. */
  message: is.text,
  /** The Copilot service, which has no base URL to check. */
  copilot: is.optional(is.yes),
  /** How many attempts were made, once no further one is. */
  attempts: is.optional(is.natural),
  /** The whole error as a JSON string (`errorToDetailedString`). */
  detail: is.optional(is.text),
});
export const crash = is.both(causes, said);
export type Crash = TypeOf<typeof crash>;

export type Remedy = (
  | { readonly kind: "retry" }
  /** After a wait, and without counting the attempt: the failure says nothing about the prompt. */
  | { readonly kind: "retry-uncounted" }
  /** The runtime has already tried several times. Further attempts follow waits. */
  | { readonly kind: "retry-later"; readonly overload: Overload }
  | { readonly kind: "give-up" }
) & {
  /** Advice for the user when no attempt is left. Absent: the message of the crash says it. */
  readonly advice?: string;
};

export function crashAdvice(crash: Crash, use: SessionUse = {}): string | undefined {
  return crashRemedy(crash, use).advice;
}

export function crashText({ message, attempts = 1 }: Crash): string {
  if (attempts === 1) return message;
  return `${sentence(message)} Gave up after ${attempts} attempts.`;
}

export function withAdvice(message: string, advice = ""): string {
  return `${sentence(message)} ${advice}`.trimEnd();
}

const permissionAdvice =
  'Allow what the task needs in "permissions" (each denial names it), or change the prompt so that the task works without it.';

/** Advice about permissions and limits helps in a rehearsal too; no other does, since a script plays the model server. */
export function helpsInRehearsals(advice: string): boolean {
  return advice === permissionAdvice || advice.startsWith("Raise limits.");
}

/** `lent`: the session is the caller's, who alone can end it. */
interface SessionUse {
  readonly lent?: boolean;
}

const memoryAdvice = "Check that this machine has enough memory, and run the job again.";

const remedies: Readonly<
  Record<
    Exclude<
      Crash["cause"],
      "rate-limited" | "overloaded" | "deadline" | "aborted" | "runtime-died"
    >,
    Remedy
  >
> = {
  auth: giveUp("Check the token or the provider's API key. The model server rejected it."),
  forbidden: giveUp(
    "Check the permissions of the token and your plan. The token is not allowed to use this model.",
  ),
  "not-found": giveUp("Check the model id and the base URL: the server doesn't know one of them."),
  "too-large": giveUp(
    "Shorten the prompt, or let the agent read less. The conversation is too large for the model server.",
  ),
  rejected: giveUp(
    "Check what the model server names. It rejected the request, and a retry would send the same.",
  ),
  quota: giveUp("Check the plan and the billing of the account: its quota is used up."),
  refused: giveUp("Change the prompt, or choose another model."),
  "no-tools": giveUp("Choose a model that supports tools."),
  redirect: giveUp("Check the provider's base URL."),
  denied: giveUp(permissionAdvice),
  "not-installed": { kind: "give-up" },
  configuration: { kind: "give-up" },
  unreachable: retry(
    "Check that the model server is running, that the base URL is correct, and that this machine's network, DNS and proxy settings lead there.",
  ),
  "session-error": retry("Check the log of the model server, or choose another model."),
  "empty-answer": retry(
    "Check the log and the context length of the model server, or choose another model.",
  ),
  filtered: retry("Change the prompt, or choose another model."),
  "answer-too-long": giveUp("Ask for a shorter answer, or choose another model."),
  "start-failed": retry(
    "Check that this machine has enough memory, and that the path of the Copilot runtime is correct.",
  ),
  internal: retry("This is a bug in agent-jobs. Please report it."),
};

const overloadAdvice = {
  "rate-limited":
    "Wait until the rate limit allows more requests, run fewer tasks at once, or choose another model.",
  overloaded: "Check the log of the model server, try again later, or choose another model.",
} as const;

/** Statement 6 of docs/internals/engine.md: which crashes are worth another attempt. */
export function crashRemedy(crash: Crash | Refusal, { lent = false }: SessionUse = {}): Remedy {
  switch (crash.cause) {
    case "rate-limited":
    case "overloaded":
      return { kind: "retry-later", overload: crash, advice: overloadAdvice[crash.cause] };
    case "deadline":
      return crash.refusal === undefined
        ? retry(deadlineAdvice(crash))
        : crashRemedy(crash.refusal);
    case "unreachable":
      return crash.absent === true
        ? giveUp("Check the address, and the network, DNS and proxy settings of this machine.")
        : remedyOf(crash);
    case "aborted":
      return lent
        ? giveUp("The task ended with its session. Start it again in another session.")
        : retry("Find out what ended the session, and run the job again.");
    case "runtime-died":
      return crash.ended === true && !lent
        ? { kind: "retry-uncounted", advice: memoryAdvice }
        : retry(memoryAdvice);
    case "rejected":
      return isAboutLength(crash) ? tooLong : remedies.rejected;
    default:
      return remedyOf(crash);
  }
}

const tooLong = giveUp(
  "Check the length of the prompt, and the context of the model. A retry would send the same.",
);

function isAboutLength(crash: Crash | Refusal): boolean {
  return (
    "message" in crash && /context|\blength|\btokens\b|too (?:long|large)/i.test(crash.message)
  );
}

const copilotAdvice: Readonly<Record<string, string>> = {
  "not-found": "Check the model id. `agent-jobs models` lists the models that the account may use.",
  redirect: "Check the network and proxy settings of this machine.",
  unreachable: "Check the network, DNS and proxy settings of this machine.",
};

function remedyOf(crash: {
  readonly cause: keyof typeof remedies;
  readonly copilot?: true;
}): Remedy {
  const remedy = remedies[crash.cause];
  const advice = crash.copilot === true ? copilotAdvice[crash.cause] : undefined;
  return advice === undefined ? remedy : { ...remedy, advice };
}

function deadlineAdvice({ limit, setBy }: Extract<Crash, { cause: "deadline" }>): string {
  const source = setBy === undefined ? "its default" : `set by ${setBy}`;
  const need =
    limit === "idleMinutes" ? "the model needs longer to answer" : "the task needs longer";
  return `Raise limits.${limit} (${source}) if ${need}.`;
}

function giveUp(advice: string): Remedy {
  return { kind: "give-up", advice };
}

function retry(advice: string): Remedy {
  return { kind: "retry", advice };
}

export function crashStatus(crash: Crash): number | undefined {
  if (crash.cause === "deadline") return crash.refusal?.status;
  return "status" in crash ? crash.status : undefined;
}

/** Reads the status of an answer. Undefined: it is not a refusal, or is retried at once. */
export function refusalOf(status: number): Refusal | undefined {
  switch (status) {
    case 401:
      return { cause: "auth", status };
    case 403:
      return { cause: "forbidden", status };
    case 404:
      return { cause: "not-found", status };
    case 413:
      return { cause: "too-large", status };
    case 429:
      return { cause: "rate-limited", status };
    default:
      if (status >= 500) return { cause: "overloaded", status };
      return status >= 400 && status !== 408 ? { cause: "rejected", status } : undefined;
  }
}

const MAX_DEPTH = 6;
const MAX_FIELDS = 40;
const MAX_TEXT = 8 * 1024;
/** Maximum length of all texts of an error together. Beyond it, only the structure is shown. */
const MAX_TOTAL = 48 * 1024;

interface Budget {
  left: number;
  readonly open: Set<object>;
}

/**
 * Any thrown value, with its causes and own fields, as a JSON string. Never throws. Whatever is thrown (cycles, getters that
 * throw, proxies, megabytes), the JSON has at most about 64 KiB.
 */
export function errorToDetailedString(err: unknown): string {
  const budget: Budget = { left: MAX_TOTAL, open: new Set() };
  try {
    if (isError(err)) return JSON.stringify(describe(err, budget, 0));
    const isObject = typeof err === "object" && err !== null;
    const said = isObject ? field(err, "message") : describe(err, budget, 0);
    const message =
      isObject && typeof said !== "string" ? "An object was thrown" : clip(String(said), budget);
    return JSON.stringify({ name: "NonError", message, value: describe(err, budget, 0) });
  } catch {
    return '{"name":"NonError","message":"An error that cannot be inspected"}';
  }
}

function isError(value: unknown): boolean {
  return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
}

function describe(value: unknown, budget: Budget, depth: number): unknown {
  switch (typeof value) {
    case "object":
      return value === null ? null : describeObject(value, budget, depth);
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
      return clip(`${value}n`, budget);
    case "string":
    case "symbol":
      return clip(String(value), budget);
    case "undefined":
    case "function":
      return `[${typeof value}]`;
  }
}

function describeObject(value: object, budget: Budget, depth: number): unknown {
  if (budget.open.has(value)) return "[circular]";
  if (depth >= MAX_DEPTH) return "[too deep]";
  if (budget.left <= 0) return "[omitted: too long]";
  budget.open.add(value);
  // A shape costs too, else many small objects would get past the bound.
  budget.left -= 16;
  try {
    return contentsOf(value, budget, depth);
  } catch {
    return "[cannot be inspected]";
  } finally {
    budget.open.delete(value);
  }
}

function contentsOf(value: object, budget: Budget, depth: number): unknown {
  if (value instanceof Date) return String(value);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Map || value instanceof Set) return contentsOf([...value], budget, depth);
  if (Array.isArray(value))
    return value.slice(0, MAX_FIELDS).map((item) => describe(item, budget, depth + 1));
  const ofErrors = ["name", "message", "stack", "cause", "errors"];
  const own = Object.keys(value).slice(0, MAX_FIELDS);
  const known = isError(value) ? ofErrors.filter((key) => field(value, key) !== undefined) : [];
  return Object.fromEntries(
    [...new Set([...known, ...own])].map((key): [string, unknown] => [
      clip(key, budget),
      describe(field(value, key), budget, depth + 1),
    ]),
  );
}

function field(value: object, key: string): unknown {
  try {
    return Reflect.get(value, key);
  } catch {
    return "[getter threw]";
  }
}

function clip(text: string, budget: Budget): string {
  const room = Math.max(0, Math.min(MAX_TEXT, budget.left));
  const shown = truncateUnredacted(text, room, moreCharacters);
  budget.left -= shown.length + 8;
  return shown;
}
