/** Matches URLs against the patterns of `permissions.url`. Pure. */

/**
 * `*` stands for any characters, before the path for any but a slash: `https://*.example.com/docs/*`.
 * A pattern without a path means every path. A URL that carries a user name matches nothing, nor does one
 * that is not http or https.
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
    wildcard(scheme, "[a-z]*").test(parsed.protocol.slice(0, -1)) &&
    wildcard(host.toLowerCase(), "[^/]*").test(parsed.host) &&
    wildcard(path, "[^]*").test(`${parsed.pathname}${parsed.search}`)
  );
}

function wildcard(pattern: string, star: string): RegExp {
  const source = pattern
    .split(/\*+/)
    .map((part) => part.replace(/[\\^$.+?()[\]{}|]/g, "\\$&"))
    .join(star);
  return new RegExp(`^${source}$`, "u");
}
