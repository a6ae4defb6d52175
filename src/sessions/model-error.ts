/** Parses the error messages of the runtime and of model servers. */
import { defined, isRecord, parsedJson, urlOf } from "../text/guards.ts";
import { crashRemedy, refusalOf, type Crash, type Refusal } from "../events/crash.ts";
import { rehearsalProvider, transportProvider } from "./provider.ts";
import { truncateUnredacted } from "../text/truncate.ts";
import { capitalized } from "../events/decision.ts";

export interface ModelAddress {
  readonly modelId: string;
  readonly baseUrl: string | undefined;
  readonly request?: string;
  readonly contextTokens?: number;
  readonly outputTokens?: number;
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
  const server = capitalized(name);
  const model = `model "${asked.modelId}"`;
  const words = failure === undefined ? undefined : wordsOf(failure);
  if (noTools.test((words ?? message).slice(0, LONGEST_WORDS))) {
    const sentence = `${server}, ${model}: this model does not support tools${quoted(words)}`;
    return { cause: "no-tools", message: sentence, ...defined({ status }), detail };
  }
  const copilot = asked.baseUrl === undefined ? { copilot: true as const } : {};
  const known = refusalIn(failure ?? message, status);
  if (status !== undefined) {
    const to = asked.request === undefined ? "" : ` to ${asked.request}`;
    const sentence = `${server} answered ${status}${to} for ${model}${quoted(words ?? message)}`;
    const cause = known ?? { cause: "session-error", status };
    return { ...cause, message: sentence, detail, ...copilot };
  }
  if (known !== undefined) {
    const sentence = `${server} answered with an error for ${model}${quoted(words ?? message)}`;
    return { ...known, message: sentence, detail, ...copilot };
  }
  const rest = message.replace(/(?<![.\s])[.\s]+$/, "");
  const where = rest.includes(asked.baseUrl ?? name) ? model : `${model} of ${name}`;
  const cause =
    errorType === "authentication" || errorType === "authorization"
      ? "auth"
      : causeOf(message, failure);
  return { cause, message: `${rest} (${where}).`, detail, ...copilot };
}

/** The kind of an error. Its document is more exact than the status; an error within a stream has no status. */
function refusalIn(failure: string, status: number | undefined): Refusal | undefined {
  const fields = tellingFields(parsedJson(failure), 4).join(" ").toLowerCase();
  const own = defined({ status });
  if (/\binsufficient_quota\b|billing_hard_limit/.test(fields) || status === 402)
    return { cause: "quota", ...own };
  if (/credit balance is too low/i.test(failure)) return { cause: "quota", ...own };
  const rejects = status === undefined || status === 400;
  const key =
    /\binvalid_api_key\b|api[ _-]?key.{0,40}(?:invalid|not valid|expired)|(?:invalid|incorrect) api[ _-]?key/i;
  if (rejects && key.test(failure.slice(0, LONGEST_WORDS))) return { cause: "auth", ...own };
  if (status !== undefined) return refusalOf(status);
  const code = /(?<!\d)[45]\d\d(?!\d)/.exec(fields)?.[0];
  const type = Object.entries(statusOfType).find(([name]) => fields.includes(name));
  const meant = code === undefined ? type?.[1] : Number(code);
  return meant === undefined ? undefined : refusalOf(meant);
}

/** The types of errors that OpenAI and Anthropic document, for errors in an answer with status 200. */
const statusOfType: Readonly<Record<string, number>> = {
  invalid_request: 400,
  context_length_exceeded: 400,
  authentication: 401,
  permission: 403,
  not_found: 404,
  request_too_large: 413,
};

function tellingFields(value: unknown, depth: number): string[] {
  if (typeof value !== "object" || value === null || depth === 0) return [];
  return Object.entries(value).flatMap(([name, one]) =>
    /^(?:code|type|status)$/.test(name) && (typeof one === "string" || typeof one === "number")
      ? [String(one)]
      : tellingFields(one, depth - 1),
  );
}

/** The runtime would repeat these, up to six times in every attempt. */
export function hopeless(
  failure: string,
  status: number | undefined,
  asked: ModelAddress,
): Crash | undefined {
  if (/too many redirects|redirect (?:loop|cycle)/i.test(failure)) {
    const copilot = asked.baseUrl === undefined ? { copilot: true as const } : {};
    return { cause: "redirect", message: "The model server redirects every request", ...copilot };
  }
  const known = refusalIn(failure, status);
  if (known === undefined || crashRemedy(known).kind !== "give-up") return undefined;
  if (status !== undefined && known.cause !== "quota") return undefined;
  return modelCrash({ message: failure, errorType: "query", statusCode: status }, failure, asked);
}

/** The runtime calls an empty answer an error, but not after a tool call. */
export function reportsNoAnswer({ message, statusCode }: ReportedError): boolean {
  return statusCode === undefined && message.startsWith("No response");
}

/** Undefined if the model server, or the way to it, is not the reason why a session could not be opened. */
export function openingCrash(message: string, asked: ModelAddress): Crash | undefined {
  const status = /\b(?:status(?: code)?|HTTP)[: ]+([45]\d\d)\b/i.exec(message)?.[1];
  const error = { message, errorType: "query" };
  if (status !== undefined)
    return modelCrash({ ...error, statusCode: Number(status) }, undefined, asked);
  return causeOf(message) === "session-error" ? undefined : modelCrash(error, undefined, asked);
}

/** The cause of an error without a status. The runtime reports some network failures as failed authentication. */
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

export function modelName(asked: ModelAddress): string {
  return `model "${asked.modelId}" of ${serverName(asked)}`;
}

export function quoted(words: string | undefined): string {
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

/** The message in an error document of a server, in whatever form: a JSON document, a web page, or a text. */
export function wordsOf(failure: string): string | undefined {
  const words = (messageIn(parsedJson(failure), 5) ?? textOfPage(failure)).trim();
  return words === "" ? undefined : truncateUnredacted(words, LONGEST_WORDS, "…");
}

export function failureWords(failure: string): string | undefined {
  const words = wordsOf(failure);
  const system = /(?<![^:])([^:]+) \(os error \d+\) \[(E[A-Z]+)\]$/.exec(words ?? "");
  return system === null ? words : `${system[1]?.trim() ?? ""} (${system[2] ?? ""})`;
}

const messageFields = ["message", "msg", "error", "detail", "errors", "error_description", "title"];
const MOST_MESSAGES = 5;

function messageIn(value: unknown, depth: number): string | undefined {
  if (typeof value === "string") return value;
  if (depth === 0) return undefined;
  const all = (parts: readonly unknown[]): readonly string[] =>
    parts.flatMap((part) => messageIn(part, depth - 1) ?? []);
  if (Array.isArray(value)) return all(value.slice(0, MOST_MESSAGES)).join("; ") || undefined;
  return isRecord(value) ? all(messageFields.map((name) => value[name]))[0] : undefined;
}

function textOfPage(text: string): string {
  if (!/^\s*</.test(text)) return text;
  const page = text.slice(0, 4 * LONGEST_WORDS);
  const title = /<title[^<>]*>([^<]+)/i.exec(page)?.[1]?.trim() ?? "";
  const shown = page.replace(/<(script|style|title)\b.*?<\/\1>/gis, " ").replace(/<[^<>]*>/g, " ");
  const body = truncateUnredacted(shown.replace(/\s+/g, " ").trim(), 200, "…");
  return [title, body].filter((part) => part !== "").join(": ");
}
