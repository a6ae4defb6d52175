/** Why a server failed: whether another try may help, or what its author can do. */
import { urlOf } from "../../text/guards.ts";
import { errorCode } from "../../platform/system-error.ts";
import { existsSync } from "node:fs";
import { resolve } from "node:path";

/**
 * `unreached`: nobody listens there, so that the request has not been read. `refused`: the server, or a proxy, said that
 * it doesn't answer now. `broken`: the request may have been carried out. `forgotten`: the session has ended.
 */
type UnavailableKind = "unreached" | "refused" | "broken" | "forgotten";

export class ServerUnavailable extends Error {
  readonly kind: UnavailableKind;

  constructor(kind: UnavailableKind, reason: string, options: ErrorOptions) {
    super(reason, options);
    this.kind = kind;
  }
}

const unreached = new Set([
  ..."ECONNREFUSED ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH EHOSTDOWN".split(" "),
  "UND_ERR_CONNECT_TIMEOUT",
]);
const broken = new Set([
  ..."ECONNRESET ECONNABORTED EPIPE ETIMEDOUT UND_ERR_SOCKET".split(" "),
  ..."UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT".split(" "),
]);

export function unavailableKind(error: unknown, hasSession: boolean): UnavailableKind | undefined {
  const status = statusOf(error);
  // Some servers answer 400 where the protocol asks for 404.
  if (status === 400 || status === 404) return hasSession ? "forgotten" : undefined;
  if (status === 429 || status === 503) return "refused";
  if (status !== undefined) return [408, 502, 504].includes(status) ? "broken" : undefined;
  for (const one of causesOf(error)) {
    const code = errorCode(one) ?? "";
    if (unreached.has(code)) return "unreached";
    if (broken.has(code)) return "broken";
  }
  return undefined;
}

/** The body of an answer over HTTP. */
function statusOf(error: unknown): number | undefined {
  for (const one of causesOf(error)) {
    if ("status" in one && typeof one.status === "number") return one.status;
  }
  return undefined;
}

function causesOf(error: unknown, depth = 0): readonly Error[] {
  if (!(error instanceof Error) || depth === 5) return [];
  return [error, ...causesOf(error.cause, depth + 1)];
}

/** Milliseconds before the next try. Undefined: another one would not help. */
export function backoffMs({ kind }: ServerUnavailable, tries: number): number | undefined {
  if (kind === "forgotten") return tries === 1 ? 0 : undefined;
  return Math.min(5_000, 125 * 2 ** Math.min(tries, 10));
}

export function addressError(text: string, error: unknown): string {
  const url = urlOf(text);
  // These may be secrets.
  if (url !== undefined) url.username = url.password = url.search = url.hash = "";
  const status = statusOf(error);
  const how = status === undefined ? "" : `HTTP ${status}: `;
  const old =
    status === 405
      ? "\nIt may speak the older transport with only server-sent events, which is not supported. Use the address of Streamable HTTP: often /mcp, not /sse."
      : "";
  return `${url?.href ?? text}: ${how}${messageOf(error)}${old}`;
}

/** Includes the causes, because `fetch failed` alone gives no reason. */
export function messageOf(error: unknown, depth = 0): string {
  if (!(error instanceof Error) || depth === 5) return depth === 0 ? String(error) : "";
  const cause = messageOf(error.cause, depth + 1);
  const text = error.message || (errorCode(error) ?? "");
  if (cause === "" || text.includes(cause)) return text;
  const [said = ""] = cause.split(": ");
  return text.endsWith(said) ? text + cause.slice(said.length) : `${text}: ${cause}`;
}

const absent =
  /no such file|no module named|module not found|cannot find|can't (?:open|find)|not found|ENOENT/i;
const noNetwork =
  /ENOTFOUND|EAI_AGAIN|ENETUNREACH|getaddrinfo|could ?n[o']t resolve|unable to resolve|name resolution|network is unreachable|no such host/i;

/** What its author can do about a program whose log has these errors. */
export function hintOf(
  { command, args }: { readonly command: string; readonly args: readonly string[] },
  { cwd, sandbox, isLocal }: { cwd: string; sandbox?: object | undefined; isLocal: boolean },
  errors: string,
): string {
  const misses = absent.test(errors);
  if (sandbox !== undefined) {
    const hidden = [command, ...args]
      .filter((word) => word.includes("/"))
      .map((word) => resolve(cwd, word))
      .find((path) => errors.includes(path) && existsSync(path));
    if (hidden !== undefined && misses)
      return `\nThe file ${hidden} exists, but the sandbox hides it. Allow its folder with \`read\` in the \`permissions\` of the server.`;
    if (noNetwork.test(errors))
      return "\nIn the sandbox, a program reaches only the hosts of its permissions. Name those that it needs in `hosts`, in the `permissions` of the server.";
  }
  if (isLocal || !misses) return "";
  const script = args.find((word) => /^[^-@/]*\.[a-z]+$/i.test(word)) ?? "server.js";
  return `\nThe server started in an empty folder, because neither its \`command\` nor its first argument is the path of a file in the working directory. Write such a path, for example \`./${script}\` or \`./node_modules/.bin/tsx\`.`;
}
