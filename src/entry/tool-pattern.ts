/** The patterns of `permissions.tools`. Pure. */

/**
 * Whether a pattern, without its `!`, covers a tool: the name of one, `*` for every tool, `server/*` for every tool of
 * an MCP server, `delegate/*` for every task. `./name` is a tool of the entry, never one of the runtime. (As an
 * allowance, `*` doesn't cover delegation: `mayDelegate` sees to that.)
 */
export function toolPatternMatches(pattern: string, name: string): boolean {
  if (pattern === "*") return true;
  if (pattern.endsWith("/*")) {
    const server = pattern.slice(0, -1);
    return name.startsWith(server) && name.length > server.length;
  }
  if (pattern.startsWith("./")) return name === pattern.slice(2);
  return name === pattern;
}

/** Whether it covers more than one name. */
export function isToolWildcard(pattern: string): boolean {
  return pattern === "*" || pattern.endsWith("/*");
}

/** Why a pattern, without its `!`, is none; undefined if it is one. */
export function toolPatternProblem(pattern: string): string | undefined {
  if (pattern === "") return "it is empty";
  const fixed = isToolWildcard(pattern) ? pattern.slice(0, -1) : pattern;
  if (fixed.includes("*") || fixed === "/") {
    return "a star must stand alone, or for all tools of a server (server/*)";
  }
  return undefined;
}
