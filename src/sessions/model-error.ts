/** What went wrong at the model server, in a sentence that says where: the model, the address, the server's own words. */
import type { Crash } from "../events/crash.ts";
import { rehearsalProvider } from "./request-handler.ts";

/** Whom a session asks. */
export interface ModelAddress {
  readonly modelId: string;
  /** Undefined: GitHub's Copilot service. */
  readonly baseUrl: string | undefined;
}

const LONGEST_WORDS = 2_000;

/** `failure`: what the runtime said of the last call that failed, as it got it. */
export function atModel(crash: Crash, failure: string | undefined, asked: ModelAddress): Crash {
  if (crash.kind !== "session-error") return crash;
  const name = serverName(asked);
  const server = `T${name.slice(1)}`;
  const model = `model "${asked.modelId}"`;
  const { statusCode } = crash;
  const words = failure === undefined ? undefined : wordsOf(failure);
  if (isToolRefusal(words ?? crash.message)) {
    const message = `${server}, ${model}: this model does not support tools${said(words)}`;
    return { ...crash, errorType: "no-tools", message };
  }
  if (statusCode !== undefined) {
    const message = `${server} answered ${statusCode} for ${model}${said(words ?? crash.message)}`;
    return { ...crash, message };
  }
  const rest = crash.message.replace(/[.\s]+$/, "");
  const where = rest.includes(asked.baseUrl ?? name) ? model : `${model} of ${name}`;
  return { ...crash, message: `${rest} (${where}).` };
}

function said(words: string | undefined): string {
  if (words === undefined) return ".";
  return /[.!?]$/.test(words) ? `: "${words}"` : `: "${words}".`;
}

export function serverName({ baseUrl }: Pick<ModelAddress, "baseUrl">): string {
  if (baseUrl === rehearsalProvider.baseUrl) return "the script of the rehearsal";
  return baseUrl === undefined
    ? "the Copilot service"
    : `the model server ${withoutSecrets(baseUrl)}`;
}

/** Name, password and query of an address are nobody's business. */
export function withoutSecrets(address: string): string {
  try {
    const { origin, pathname } = new URL(address);
    return `${origin}${pathname === "/" ? "" : pathname}`;
  } catch {
    return "(no address)";
  }
}

const noTools =
  /\b(?:does|do)(?:n't| not) support (?:\w+ ){0,3}(?:tools?|functions?)\b|\b(?:tools?|functions?)['"`]?(?: \w+){0,3} (?:is|are) not supported\b/i;

function isToolRefusal(words: string): boolean {
  return noTools.test(words.slice(0, LONGEST_WORDS));
}

/** The message in an error document of a server: `{"message"}`, `{"error":{"message"}}`, a JSON string, or a text. */
function wordsOf(failure: string): string | undefined {
  const words = (messageIn(parsed(failure), 3) ?? failure).trim();
  if (words === "") return undefined;
  return words.length <= LONGEST_WORDS ? words : `${words.slice(0, LONGEST_WORDS)}…`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function messageIn(value: unknown, depth: number): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null || depth === 0) return undefined;
  const { message, error } = { message: undefined, error: undefined, ...value };
  return messageIn(message, depth - 1) ?? messageIn(error, depth - 1);
}
