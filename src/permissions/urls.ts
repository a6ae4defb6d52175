/** Matches URLs against the patterns of `permissions.url`. Pure. */
import { domainToASCII } from "node:url";
import { wildcardMatches } from "./wildcard.ts";

/** Longer addresses match nothing, and every denial. */
const maxLength = 8_192;

/**
 * `*` matches any characters, and before the path any except a slash: `https://*.example.com/docs/*`.
 * A pattern without a path means every path, one without a scheme means https. A URL that carries a user
 * name matches nothing, nor does one that is neither http nor https.
 */
export function urlMatches(url: string, pattern: string): boolean {
  if (url.length > maxLength) return false;
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return false;
  }
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
 * Whether a denial covers the URL. Only host and path count, not scheme, user, port, case, how a character
 * is written, or a dot at the end of the host; a path also means what is below it, with any query. What
 * can't be read, or is too long, is denied.
 */
export function urlDenied(url: string, pattern: string): boolean {
  const match = /^(?:[a-z*]+:\/\/)?(?:[^@/]*@)?([^/?#@]+?)(?::[\d*]*)?(\/.*)?$/i.exec(
    pattern.trim(),
  );
  if (match === null || url.length > maxLength || !URL.canParse(url)) return true;
  const [, host = "", path = "/*"] = match;
  const parsed = new URL(url);
  const text = plainPath(`${parsed.pathname}${parsed.search}`);
  const named = plainPath(path);
  return (
    wildcardMatches(plainHost(parsed.hostname), plainHost(host)) &&
    [named, `${named}?*`, `${named.replace(/\/$/, "")}/*`].some((one) => wildcardMatches(text, one))
  );
}

/** The host of a pattern of `permissions.url`, with its wildcards; none if the pattern has no host. */
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
