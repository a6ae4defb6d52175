/**
 * Who may call the server. A page of another site that the user has open can send requests to loopback, with the
 * cookies of loopback, and under a name of its own that resolves to loopback (DNS rebinding). So `Host`, `Origin` and
 * `Sec-Fetch-Site` are checked on every request, and the token where there is one.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { hostname as machineName, networkInterfaces } from "node:os";
import { portalPolicy } from "../reports/html/page.ts";
import { refuse } from "./http.ts";

export interface AccessOptions {
  readonly hostname: string;
  readonly port: number;
  readonly token?: string | undefined;
  /** Further names of the server, such as that of a proxy: with any port. */
  readonly allowedHosts?: readonly string[] | undefined;
}

interface AccessRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly token?: string | undefined;
}

/** Addresses that earlier portals for this API had: links to them lead to the page. */
export const formerPages: readonly string[] = ["/index.html", "/jobs.html", "/jobTracking.html"];
const pagePaths = new Set(["/", ...formerPages]);

const loopback = ["localhost", "127.0.0.1", "[::1]"];

export function isLoopback(hostname: string): boolean {
  const name = hostname.toLowerCase();
  return name === "localhost" || name === "::1" || /^127(?:\.\d{1,3}){3}$/.test(name);
}

export function isToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** Characters of a token by which other machines can call the server: they have time to guess. */
export const MIN_TOKEN = 16;

/** Where a proxy that strips a path says that the server is, such as `/agents`. Empty if it is no plain path. */
export function prefixOf(headers: IncomingHttpHeaders): string {
  const prefix = String(headers["x-forwarded-prefix"] ?? "").replace(/\/$/, "");
  const isPlain = /^(?:\/[\w.~-]+)+$/.test(prefix) && !/\/\.\.?(?:\/|$)/.test(prefix);
  return isPlain ? prefix : "";
}

export class Access {
  readonly #options: AccessOptions;
  readonly #names: ReadonlySet<string>;
  readonly #allowed: ReadonlySet<string>;

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#names = new Set([...loopback, ...namesOf(options.hostname)]);
    this.#allowed = new Set((options.allowedHosts ?? []).map((name) => name.toLowerCase()));
  }

  /** Undefined for a request that may be answered; for `/?token=…` the cookie and the address without the token. */
  check({ method, path, headers, token: given }: AccessRequest): Response | undefined {
    const { host = "", origin } = headers;
    if (!this.#isOurs(host)) {
      return refuse(
        "Forbidden",
        `This server does not answer requests for the host ${JSON.stringify(host)}. Pass --allowed-host if it is a name of this server.`,
      );
    }
    if (origin !== undefined && !isSameOrigin(origin, host))
      return refuse(
        "Forbidden",
        `Requests from pages of ${JSON.stringify(origin)} are not allowed.`,
      );
    // A link to the page from elsewhere is fine: a browser shows the page, and the other site sees nothing of it.
    const site = headers["sec-fetch-site"] ?? "none";
    const isPage = pagePaths.has(path) && (method === "GET" || method === "HEAD");
    if (!isPage && site !== "same-origin" && site !== "none")
      return refuse("Forbidden", "Requests from pages of other sites are not allowed.");
    const { token } = this.#options;
    if (token === undefined) return undefined;
    const prefix = prefixOf(headers);
    if (isPage && given !== undefined && isEqual(given, token)) {
      // A proxy that doesn't say where the server is may have put it anywhere: the browser takes the path of its address.
      const path = prefix === "" ? "" : ` Path=${prefix};`;
      const cookie = `${this.#cookieName}=${cookieValue(token)};${path} HttpOnly; SameSite=Strict`;
      const Location = prefix === "" ? "./" : `${prefix}/`;
      return new Response(null, { status: 303, headers: { Location, "Set-Cookie": cookie } });
    }
    const sent = this.#tokenIn(headers, token);
    if (sent === "right") return undefined;
    const isWrong = sent === "wrong" || (isPage && given !== undefined);
    if (asksForPage({ method, path, headers })) {
      const title = isWrong ? "The token is wrong" : "This server requires a token";
      return page(401, title, `Open the portal with <code>${prefix}/?token=TOKEN</code>.`);
    }
    const why = isWrong
      ? "The token is not the one of this server."
      : "This server requires a token.";
    const how = `Send it as \`Authorization: Bearer TOKEN\`, or open ${prefix}/?token=TOKEN in a browser.`;
    return refuse("Unauthorized", `${why} ${how}`, { "WWW-Authenticate": "Bearer" });
  }

  #tokenIn(
    { authorization, cookie = "" }: IncomingHttpHeaders,
    token: string,
  ): "right" | "wrong" | "none" {
    const [, given] = /^Bearer +(\S+) *$/i.exec(authorization ?? "") ?? [];
    if (given !== undefined) return isEqual(given, token) ? "right" : "wrong";
    const prefix = `${this.#cookieName}=`;
    const ours = cookie
      .split(";")
      .map((one) => one.trim())
      .filter((one) => one.startsWith(prefix));
    if (ours.length === 0) return "none";
    const value = cookieValue(token);
    return ours.some((one) => isEqual(one.slice(prefix.length), value)) ? "right" : "wrong";
  }

  /** Cookies don't know ports: servers on other ports of this machine have cookies of their own. */
  get #cookieName(): string {
    return `agent-jobs-${this.#options.port}`;
  }

  #isOurs(host: string): boolean {
    const [, name = "", port = "80"] =
      /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i.exec(host) ?? [];
    const lower = name.toLowerCase();
    return (
      this.#allowed.has(lower) || (this.#names.has(lower) && Number(port) === this.#options.port)
    );
  }
}

/** The names of an address as a `Host` header has them. A wildcard address has those of the whole machine. */
function namesOf(hostname: string): readonly string[] {
  if (hostname !== "0.0.0.0" && hostname !== "::") return [asHost(hostname)];
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const names = [hostname, machineName(), ...addresses.map(({ address }) => address)];
  return names.map(asHost);
}

/** An IPv6 address is in brackets in `Host` and in addresses. */
export function asHost(hostname: string): string {
  const name = hostname.toLowerCase();
  return name.includes(":") ? `[${name}]` : name;
}

function isSameOrigin(origin: string, host: string): boolean {
  const [, named] = /^https?:\/\/([^/]+)$/i.exec(origin) ?? [];
  return named?.toLowerCase() === host.toLowerCase();
}

/** For a browser that asks for the portal; nothing of the request is in it. */
export function page(status: number, title: string, text: string): Response {
  const body = `<!doctype html>
<html lang="en">
<title>${title} · agent-jobs</title>
<h1>${title}</h1>
<p>${text}</p>
</html>
`;
  const headers = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'",
  };
  return new Response(body, { status, headers });
}

export function asksForPage({ method, path, headers }: Omit<AccessRequest, "token">): boolean {
  return (
    method === "GET" && /\btext\/html\b/i.test(headers.accept ?? "") && !/^\/api(\/|$)/.test(path)
  );
}

/** Not the token itself: a cookie goes to every server on this host name, whatever its port. */
function cookieValue(token: string): string {
  return createHmac("sha256", token).update("agent-jobs cookie").digest("base64url");
}

/** In constant time, also for texts of different lengths. */
function isEqual(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

export const securityHeaders: Readonly<Record<string, string>> = {
  "Content-Security-Policy": portalPolicy,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Cache-Control": "no-store",
};
