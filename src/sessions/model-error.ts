/** Parses the error messages of the runtime and of model servers. */
import { defined, parsedJson, urlOf } from "../document/guards.ts";
import { refusalOf, type Crash } from "../events/crash.ts";
import { rehearsalProvider, transportProvider } from "./request-handler.ts";
import { clipWords } from "../events/cut.ts";

export interface ModelAddress {
  readonly modelId: string;
  readonly baseUrl: string | undefined;
}

export interface ReportedError {
  readonly message: string;
  /** The runtime's own class of error: `authentication`, `rate_limit`, `query`… */
  readonly errorType: string;
  readonly statusCode?: number | undefined;
}

const LONGEST_WORDS = 2_000;

export function modelCrash(
  error: ReportedError,
  failure: string | undefined,
  asked: ModelAddress,
): Crash {
  const { statusCode: status, errorType } = error;
  const detail = JSON.stringify(error);
  // The lines below the first give advice for another product; the detail keeps them.
  const message =
    error.message.split("\n")[0]?.trim() || "The session reported an error without a message.";
  const name = serverName(asked);
  const server = `T${name.slice(1)}`;
  const model = `model "${asked.modelId}"`;
  const words = failure === undefined ? undefined : wordsOf(failure);
  if (noTools.test((words ?? message).slice(0, LONGEST_WORDS))) {
    const sentence = `${server}, ${model}: this model does not support tools${quoted(words)}`;
    return { cause: "no-tools", message: sentence, ...defined({ status }), detail };
  }
  if (status !== undefined) {
    const sentence = `${server} answered ${status} for ${model}${quoted(words ?? message)}`;
    const cause = refusalOf(status) ?? { cause: "session-error", status };
    return { ...cause, message: sentence, detail };
  }
  const rest = message.replace(/(?<![.\s])[.\s]+$/, "");
  const where = rest.includes(asked.baseUrl ?? name) ? model : `${model} of ${name}`;
  const cause =
    errorType === "authentication" || errorType === "authorization"
      ? "auth"
      : causeOf(message, failure);
  return { cause, message: `${rest} (${where}).`, detail };
}

/** The runtime calls an empty answer an error, but not after a tool call. */
export function reportsNoAnswer({ message, statusCode }: ReportedError): boolean {
  return statusCode === undefined && message.startsWith("No response");
}

/** Why a session could not be opened, as far as that is a matter of the model server or of the way to it. */
export function openingCrash(message: string, asked: ModelAddress): Crash | undefined {
  const status = /\b(?:status(?: code)?|HTTP)[: ]+([45]\d\d)\b/i.exec(message)?.[1];
  const error = { message, errorType: "query" };
  if (status !== undefined)
    return modelCrash({ ...error, statusCode: Number(status) }, undefined, asked);
  return causeOf(message) === "session-error" ? undefined : modelCrash(error, undefined, asked);
}

/** What an error without a status is about. The runtime reports some network failures as failed authentication. */
export function causeOf(message: string, failure = ""): "auth" | "unreachable" | "session-error" {
  const codes = `${message} ${failure}`.matchAll(/\[(E[A-Z_]+)\]/g);
  const unreachable = [...codes].some(([, code = ""]) => unreachableCodes.has(code));
  if (unreachable || /^Could not connect to |network fetch failed/.test(message))
    return "unreachable";
  return /No GitHub OAuth token|Not authenticated|session authentication failed/i.test(message)
    ? "auth"
    : "session-error";
}

export const unreachableCodes: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** The runtime follows 20 redirects, and would then begin again five times. */
export function redirectLoop(failure: string): Crash | undefined {
  return /too many redirects|redirect (?:loop|cycle)/i.test(failure)
    ? { cause: "redirect", message: "The model server redirects every request" }
    : undefined;
}

export function modelName(asked: ModelAddress): string {
  return `model "${asked.modelId}" of ${serverName(asked)}`;
}

function quoted(words: string | undefined): string {
  if (words === undefined) return ".";
  return /[.!?]$/.test(words) ? `: "${words}"` : `: "${words}".`;
}

export function serverName({ baseUrl }: Pick<ModelAddress, "baseUrl">): string {
  if (baseUrl === rehearsalProvider.baseUrl) return "the script of the rehearsal";
  if (baseUrl === transportProvider.baseUrl) return "the model transport";
  return baseUrl === undefined
    ? "the Copilot service"
    : `the model server ${withoutSecrets(baseUrl)}`;
}

export function withoutSecrets(address: string): string {
  const url = urlOf(address);
  if (url === undefined) return "(no address)";
  const { origin, pathname } = url;
  return `${origin}${pathname === "/" ? "" : pathname}`;
}

const noTools =
  /\b(?:does|do)(?:n't| not) support (?:\w+ ){0,3}(?:tools?|functions?)\b|\b(?:tools?|functions?)['"`]?(?: \w+){0,3} (?:is|are) not supported\b/i;

/** The message in an error document of a server: `{"message"}`, `{"error":{"message"}}`, a JSON string, or a text. */
function wordsOf(failure: string): string | undefined {
  const words = (messageIn(parsedJson(failure), 3) ?? failure).trim();
  return words === "" ? undefined : clipWords(words, LONGEST_WORDS);
}

export function failureWords(failure: string): string | undefined {
  const words = wordsOf(failure);
  const system = /(?<![^:])([^:]+) \(os error \d+\) \[(E[A-Z]+)\]$/.exec(words ?? "");
  return system === null ? words : `${system[1]?.trim() ?? ""} (${system[2] ?? ""})`;
}

function messageIn(value: unknown, depth: number): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null || depth === 0) return undefined;
  const { message, error } = { message: undefined, error: undefined, ...value };
  return messageIn(message, depth - 1) ?? messageIn(error, depth - 1);
}
