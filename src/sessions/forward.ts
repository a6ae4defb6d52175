/** Sends a model request as the runtime would: `fetch` knows no proxy, and gives up after five silent minutes. */
import * as http from "node:http";
import * as https from "node:https";
import { BlockList, isIP } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { connect } from "node:tls";
import type { Environment } from "../platform/environment.ts";
import { urlOf } from "../text/guards.ts";
import type { WireRequest } from "./model-response.ts";

const mostRedirects = 20;
const harmless = new Set(["accept", "content-length", "content-type", "user-agent"]);

export async function forward(
  { headers, ...request }: WireRequest & { readonly headers: Headers },
  environment: Environment,
  signal: AbortSignal,
): Promise<Response> {
  const asked = { ...request, headers: Object.fromEntries(headers) };
  return responseOf(await exchange(asked, environment, signal));
}

type PlainRequest = WireRequest & Pick<Options, "headers">;

/** A short answer, read whole, without the classes of `fetch`, whose first use takes 14 ms of CPU. */
export async function ask(
  request: PlainRequest,
  environment: Environment,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await exchange(request, environment, signal);
  return { status: answer.statusCode ?? 502, text: await text(answer) };
}

/** Rejects, with the system's own code in the message, when there is no connection. */
async function exchange(
  { method, body, url, ...request }: PlainRequest,
  environment: Environment,
  signal: AbortSignal,
): Promise<http.IncomingMessage> {
  // The runtime would not decode the answer.
  let headers = Object.entries(request.headers).filter(([name]) => name !== "accept-encoding");
  let target = new URL(url);
  for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
    const options = { method, headers: Object.fromEntries(headers), signal };
    const answer = await send(target, options, { body, environment });
    const to = answer.headers.location;
    if ((answer.statusCode !== 307 && answer.statusCode !== 308) || to === undefined) {
      return answer;
    }
    answer.resume();
    const from = target;
    target = new URL(to, from);
    // Credentials are for the first server, and any header of an author may be one.
    if (target.origin !== from.origin) headers = headers.filter(([name]) => harmless.has(name));
  }
  throw new Error(`too many redirects for url (${target.href})`);
}

async function send(
  target: URL,
  options: Options,
  { body, environment }: { readonly body: string; readonly environment: Environment },
): Promise<http.IncomingMessage> {
  try {
    const proxy = proxyFor(target.href, environment);
    const request = await begin(target, options, proxy === undefined ? undefined : new URL(proxy));
    return await new Promise((resolve, reject) => {
      request.on("response", resolve).on("error", reject).end(body);
    });
  } catch (error) {
    throw withCode(error);
  }
}

interface Options {
  readonly method: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

async function begin(
  target: URL,
  options: Options,
  proxy: URL | undefined,
): Promise<http.ClientRequest> {
  if (proxy === undefined) return requestTo(target, options);
  if (target.protocol === "http:") {
    const headers = { ...options.headers, host: target.host, ...authorization(proxy) };
    return requestTo(proxy, { ...options, headers, path: target.href });
  }
  const socket = await tunnel(target, proxy, options.signal);
  const createConnection = (): Duplex => connect({ socket, servername: target.hostname });
  return https.request(target, { ...options, createConnection });
}

function requestTo(address: URL, options: http.RequestOptions): http.ClientRequest {
  return (address.protocol === "https:" ? https : http).request(address, options);
}

async function tunnel(target: URL, proxy: URL, signal: AbortSignal): Promise<Duplex> {
  const host = `${target.hostname}:${target.port === "" ? "443" : target.port}`;
  const headers = { host, ...authorization(proxy) };
  const request = requestTo(proxy, {
    method: "CONNECT",
    path: host,
    headers,
    signal,
    agent: false,
  });
  return new Promise((resolve, reject) => {
    request.on("error", reject).on("connect", ({ statusCode = 0 }, socket) => {
      if (statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(new Error(`The proxy ${proxy.host} answered ${statusCode} for ${host}.`));
    });
    request.end();
  });
}

function authorization({ username, password }: URL): Record<string, string> {
  if (username === "") return {};
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(user).toString("base64")}` };
}

const bodiless = new Set([204, 205, 304]);

function responseOf(incoming: http.IncomingMessage): Response {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(incoming.headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  const { statusCode: status = 502, statusMessage: statusText = "" } = incoming;
  if (bodiless.has(status)) incoming.resume();
  return new Response(bodiless.has(status) ? null : incoming, { status, statusText, headers });
}

/** In the message, where the runtime puts it too: an unreachable server is recognized by it. */
function withCode(error: unknown): unknown {
  if (!(error instanceof Error) || !("code" in error)) return error;
  return new Error(`${error.message} [${String(error.code)}]`, { cause: error });
}

export function proxyFor(address: string, environment: Environment): string | undefined {
  const url = urlOf(address);
  if (url === undefined) return undefined;
  const ofScheme = url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const proxy = variable(environment, ofScheme) ?? variable(environment, "ALL_PROXY");
  return isExcluded(url, variable(environment, "NO_PROXY") ?? "") ? undefined : proxy;
}

/** `*`, a domain (with its subdomains), an address, or a range of addresses; each may have a port. */
function isExcluded(url: URL, noProxy: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  const port = url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port;
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((item) => item !== "")
    .some((item) => {
      if (item === "*") return true;
      const [, name = item, ofPort] = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(item) ?? [];
      if (ofPort !== undefined && ofPort !== port) return false;
      const bare = name.replace(/^\[|\]$/g, "");
      if (isIP(host) !== 0) return isInRange(host, bare);
      const domain = bare.replace(/^\*?\.+/, "");
      return domain !== "" && (host === domain || host.endsWith(`.${domain}`));
    });
}

function isInRange(host: string, range: string): boolean {
  const [address = "", bits] = range.split("/");
  const type = isIP(address) === 4 ? "ipv4" : "ipv6";
  const list = new BlockList();
  try {
    if (bits === undefined) list.addAddress(address, type);
    else list.addSubnet(address, Number(bits), type);
    return list.check(host, isIP(host) === 4 ? "ipv4" : "ipv6");
  } catch {
    // Not a range of addresses.
    return false;
  }
}

/** Programs read either case; the lower one first. */
export function variable(environment: Environment, name: string): string | undefined {
  const value = environment[name.toLowerCase()] ?? environment[name];
  return value === "" ? undefined : value;
}
