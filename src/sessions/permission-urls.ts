/** Matches URLs against the patterns of `permissions.url`. Pure. */
import { wildcardMatches } from "./wildcard.ts";

/**
 * `*` stands for any characters, before the path for any but a slash: `https://*.example.com/docs/*`.
 * A pattern without a path means every path, one without a scheme means https. A URL that carries a user
 * name matches nothing, nor does one that is neither http nor https.
 */
export function urlMatches(url: string, pattern: string): boolean {
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
