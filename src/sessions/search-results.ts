/**
 * How files of credentials stay out of searches.
 *
 * A runtime can leave them out by itself: the configuration of ripgrep lets such a file be searched as if it were empty.
 * For sessions that may read some of them, and where there is no such configuration, hooks filter the results. A search
 * of a folder shows what is in all files below, and the runtime asks for the folder only. They are kept out of it
 * silently, because “there was something” would answer a question about their content. Two walls, because the runtime
 * goes on when a hook fails. The search itself leaves them out: then no count, limit or grouping reveals them. And what
 * it found in them all the same is taken out of its result before the model sees it.
 *
 * The hooks never throw.
 */
import type { SessionHooks } from "@github/copilot-sdk";
import { resolve } from "node:path";
import type { Permissions } from "../entry/model.ts";
import { type PathContext, longestPath } from "../permissions/paths.ts";
import { ruleSet, searchTools } from "../permissions/rules.ts";
import { decidePermission } from "../permissions/policy.ts";
import {
  orderedPrivateGlobs,
  privateGlobs,
  privateNamesGlob,
  privateParts,
} from "../permissions/private-files.ts";
import { isRecord } from "../document/guards.ts";
import type { Environment } from "../platform/environment.ts";
import { findProgram } from "../platform/search-path.ts";

/** Every place in a line where a path could end whose last or earlier part is private. */
const candidates = new RegExp(
  String.raw`(?<=^|[\\/])(?:${privateParts})(?=[\\/:-]|$)[^:]*?(?=[:-]|$)`,
  "gi",
);

/** A line that names more files of credentials is not worth the time to find out which of them exist. */
const mostInLine = 20;

/** What the search tools pass to ripgrep. It is not in the schema that models see. */
const leftOut = { exclude_globs: privateGlobs };

export function searchHooks(
  permissions: Permissions,
  context: PathContext,
): Pick<SessionHooks, "onPreToolUse" | "onPostToolUse"> {
  if (ruleSet(permissions).everything) return {};
  const mayRead = (path: string): boolean =>
    decidePermission(permissions, { kind: "read", paths: [path], deep: false }, context).kind ===
    "allowed";
  return {
    onPreToolUse({ toolName, toolArgs }) {
      if (!searchTools.includes(toolName) || !isRecord(toolArgs)) return undefined;
      return { modifiedArgs: { ...toolArgs, ...leftOut } };
    },
    onPostToolUse({ toolName, toolArgs, toolResult }) {
      if (!searchTools.includes(toolName)) return undefined;
      const text = toolResult.textResultForLlm;
      const shown = safely(() => {
        if (!text.startsWith("[grep")) return withoutPrivateFiles(text, mayRead, context);
        return hasLeftOut(toolArgs) && isClean(text, mayRead, context) ? text : unchecked;
      });
      return shown === text
        ? undefined
        : { modifiedResult: { ...toolResult, textResultForLlm: shown } };
    },
  };
}

type Place = Pick<PathContext, "workingDirectory" | "isThere">;

/** Lines have the form `path`, `path:count`, `path:line:text` or, around a match, `path-line-text`. */
export function withoutPrivateFiles(
  result: string,
  mayRead: (path: string) => boolean,
  place: Place,
): string {
  const lines = result.split("\n");
  const readable = remembered(mayRead);
  const shown = lines.filter((line) => isOfReadable(line, readable, place));
  if (shown.length === lines.length) return result;
  return shown.some((line) => line !== "" && line !== "--")
    ? shown.join("\n")
    : "No matches found.";
}

function isOfReadable(
  line: string,
  mayRead: (path: string) => boolean,
  { workingDirectory, isThere }: Place,
): boolean {
  let found = 0;
  for (const { 0: part, index } of line.slice(0, longestPath + 1).matchAll(candidates)) {
    found += 1;
    if (found > mostInLine) return false;
    const path = line.slice(0, index + part.length);
    // Behind a colon it may be what the file says, not where it is.
    const isPath = !path.includes(":") || isThere(resolve(workingDirectory, path));
    if (isPath && !mayRead(resolve(workingDirectory, path))) return false;
  }
  return true;
}

/** The lines of a file come together. */
function remembered(mayRead: (path: string) => boolean): (path: string) => boolean {
  const answers = new Map<string, boolean>();
  return (path) => {
    const answer = answers.get(path) ?? mayRead(path);
    answers.set(path, answer);
    return answer;
  };
}

/**
 * From about sixty lines on the runtime groups them by file, or sums them up. Its sums speak of every file,
 * and it takes some paths apart: so this form is shown as a whole or not at all.
 */
function isClean(result: string, mayRead: (path: string) => boolean, place: Place): boolean {
  const [first = "", ...lines] = result.split("\n");
  const heading = readHeading(first);
  if (heading === undefined) return false;
  const { folder, showsContent } = heading;
  if (!showsContent) return true;
  // A line that mentions such a file costs the whole result only if there is one.
  const mayShow = remembered((path) => !place.isThere(path) || mayRead(path));
  let inFile = false;
  return lines.every((line) => {
    if (/^\s/.test(line)) return inFile;
    if (line === "") return true;
    const head = line.replace(/ \(\d+ match\(es\)\):$/, "");
    inFile = head !== line;
    return isOfReadable(`${folder}/${head}`, mayShow, place);
  });
}

/** `[grep content … under FOLDER; note]`. One expression for it takes the square of its length. */
function readHeading(
  line: string,
): { readonly folder: string; readonly showsContent: boolean } | undefined {
  if (!line.startsWith("[grep") || !line.endsWith("]")) return undefined;
  const showsContent = line.startsWith(" content", "[grep".length);
  const text = line.slice("[grep".length, -1);
  const note = text.lastIndexOf("; ");
  const rest = note >= 0 && /^[a-z ]+$/.test(text.slice(note + 2)) ? text.slice(0, note) : text;
  const under = " under ";
  const at = rest.indexOf(under, showsContent ? " content".length : 0);
  const isWhole = at < 0 || at + under.length === rest.length;
  if ((isWhole ? rest : rest.slice(0, at)).includes("]")) return undefined;
  return { folder: isWhole ? "." : rest.slice(at + under.length), showsContent };
}

function hasLeftOut(toolArgs: unknown): boolean {
  if (!isRecord(toolArgs)) return false;
  return JSON.stringify(toolArgs["exclude_globs"]) === JSON.stringify(privateGlobs);
}

const unchecked = "The result of this search couldn't be checked. Search in a smaller folder.";

function safely(filter: () => string): string {
  try {
    return filter();
  } catch {
    return unchecked;
  }
}

/**
 * The content of the file that `RIPGREP_CONFIG_PATH` names: one argument on each line. Undefined where there is no
 * program without output.
 *
 * A glob alone is not enough: a glob of the model comes later, and wins. `--pre` has no such exception: for a file with
 * such a name, ripgrep searches the output of a program, and `true` has none.
 */
export function searchConfiguration(environment: Environment): string | undefined {
  const empty = process.platform === "win32" ? undefined : findProgram("true", environment);
  if (empty === undefined) return undefined;
  const lines = [
    `--pre=${empty}`,
    ...orderedPrivateGlobs().map((glob) => `--pre-glob=${glob}`),
    // Only so that a large folder of such a name isn't gone through file by file.
    `--glob=!${privateNamesGlob}`,
  ];
  return lines.map((line) => `${line}\n`).join("");
}
