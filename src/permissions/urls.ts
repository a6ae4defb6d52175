import { urlOf } from "../text/guards.ts";
import { domainToASCII } from "node:url";
import { wildcardMatches } from "./wildcard.ts";

/** Longer addresses match nothing, and every denial. */
const maxLength = 8_192;

/**
 * Before the path, `*` matches all but a slash. Without a path, every path is meant; without a scheme, https. A URL with
 * a user name matches nothing, nor does one that is neither http nor https.
 */
export function urlMatches(url: string, pattern: string): boolean {
  if (url.length > maxLength) return false;
  const parsed = urlOf(url);
  if (parsed === undefined) return false;
  if (parsed.username !== "" || parsed.password !== "") return false;
  if (parsed.protocol !== "https:" && parsed.protocol !== "http:") return false;
  const match = /^(?:([a-z*]+):\/\/)?([^/?#]+)(\/.*)?$/i.exec(pattern.trim());
  if (match === null) return false;
  const [, scheme = "https", host = "", path = "/*"] = match;
  return (
    wildcardMatches(parsed.protocol.slice(0, -1), scheme.toLowerCase()) &&
    wildcardMatches(parsed.host, host.toLowerCase()) &&
    wildcardMatches(`${parsed.pathname}${parsed.search}`, path)
  );
}

/**
 * Ignores scheme, user, port, case, the encoding of characters, and a dot at the end of the host. A path covers what is
 * below it. An invalid or too long address is denied.
 */
export function urlDenied(url: string, pattern: string): boolean {
  const match = /^(?:[a-z*]+:\/\/)?(?:[^@/]*@)?([^/?#@]+?)(?::[\d*]*)?(\/.*)?$/i.exec(
    pattern.trim(),
  );
  const parsed = url.length > maxLength ? undefined : urlOf(url);
  if (match === null || parsed === undefined) return true;
  const [, host = "", path = "/*"] = match;
  const text = plainPath(`${parsed.pathname}${parsed.search}`);
  const named = plainPath(path);
  return (
    wildcardMatches(plainHost(parsed.hostname), plainHost(host)) &&
    [named, `${named}?*`, `${named.replace(/\/$/, "")}/*`].some((one) => wildcardMatches(text, one))
  );
}

export function hostOf(pattern: string): string[] {
  const host = /^(?:[a-z*]+:\/\/)?(?:[^@/]*@)?([^/?#@]+?)(?::[\d*]*)?(?:\/.*)?$/i.exec(
    pattern.trim(),
  );
  return host?.[1] === undefined ? [] : [plainHost(host[1])];
}

function plainHost(host: string): string {
  return (domainToASCII(host) || host).toLowerCase().replace(/(?<!\.)\.+$/, "");
}

/** In bytes, however they are written. */
function plainPath(path: string): string {
  return Buffer.from(path)
    .toString("latin1")
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .toLowerCase();
}
