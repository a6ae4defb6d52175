/**
 * A search of a folder can't leave files out, and the runtime asks for the folder only. So what it found
 * in files of credentials is taken out of its result before the model sees it: silently, because “there was
 * something” would answer a question about their content.
 *
 * The runtime lets a result pass if a hook fails; this one never throws.
 */
import type { SessionHooks } from "@github/copilot-sdk";
import type { Permissions } from "../entry/model.ts";
import { resolve } from "node:path";
import { privateParts, type PathContext } from "./permission-paths.ts";
import { decidePermission } from "./permissions.ts";

type PostToolUse = NonNullable<SessionHooks["onPostToolUse"]>;

/** Every place in a line where a path could end whose last or earlier part is private. */
const candidates = new RegExp(
  String.raw`(?<=^|[\\/])(?:${privateParts})(?=[\\/:-]|$)[^:]*?(?=[:-]|$)`,
  "gi",
);

export function searchFilter(permissions: Permissions, context: PathContext): PostToolUse {
  const mayRead = (path: string): boolean =>
    decidePermission(permissions, { kind: "read", path, intention: `Read file: ${path}` }, context)
      .kind === "allowed";
  return ({ toolName, toolResult }) => {
    if (toolName !== "grep") return undefined;
    const text = toolResult.textResultForLlm;
    const shown = safely(() => withoutPrivateFiles(text, mayRead, context));
    return shown === text
      ? undefined
      : { modifiedResult: { ...toolResult, textResultForLlm: shown } };
  };
}

/** Lines have the form `path`, `path:count`, `path:line:text` or, around a match, `path-line-text`. */
export function withoutPrivateFiles(
  result: string,
  mayRead: (path: string) => boolean,
  { workingDirectory, isThere }: Pick<PathContext, "workingDirectory" | "isThere">,
): string {
  const lines = result.split("\n");
  const shown = lines.filter((line) =>
    [...line.matchAll(candidates)].every(({ 0: part, index }) => {
      const path = line.slice(0, index + part.length);
      // Behind a colon it may be what the file says, not where it is.
      const isPath = !path.includes(":") || isThere(resolve(workingDirectory, path));
      return !isPath || mayRead(resolve(workingDirectory, path));
    }),
  );
  if (shown.length === lines.length) return result;
  return shown.some((line) => line !== "" && line !== "--")
    ? shown.join("\n")
    : "No matches found.";
}

function safely(filter: () => string): string {
  try {
    return filter();
  } catch {
    return "The result of this search could not be checked; search in a smaller folder.";
  }
}
