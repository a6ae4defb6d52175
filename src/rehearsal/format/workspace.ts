/** The folder that a rehearsal works in, the change that it is about, and what GitHub has. */
import { posix, win32 } from "node:path";
import type { SchemaType } from "../../document/describe.ts";
import { fileStatus } from "../../events/plan.ts";
import { filled, list, map, nonEmpty, string, text } from "./fields.ts";

export const workspace = {
  type: "object",
  description:
    "A new folder with these files instead of `workingDirectory`, or what a copy of `workingDirectory` includes. Removed after the run.",
  additionalProperties: false,
  properties: {
    files: map("Contents by path.", string),
    include: filled(
      "Instead of files: ignored files and folders that a copy of the working directory includes, such as node_modules. Relative to the working directory.",
      nonEmpty,
    ),
    git: {
      type: "boolean",
      description:
        "Makes the folder a git repository, with one commit of all the files on the branch main. Default: true if there are commits, else false.",
    },
    commits: filled(
      "Further commits, in this order. The branch of the last one is checked out, so that `git diff main...HEAD` shows its changes.",
      {
        type: "object",
        additionalProperties: false,
        required: ["message", "files"],
        properties: {
          message: { ...nonEmpty, description: "The commit message." },
          branch: {
            ...nonEmpty,
            description:
              "The branch. A new branch starts at the previous commit. Default: the branch of the previous commit, or main.",
          },
          files: map("New contents by path. null removes the file.", { type: ["string", "null"] }),
        },
      },
    ),
  },
} as const;

const lines = (description: string) =>
  ({ type: ["integer", "null"], minimum: 0, description }) as const;

const changedFile = {
  type: "object",
  additionalProperties: false,
  required: ["path"],
  properties: {
    path: text("With /, relative to the root of the repository."),
    status: { enum: fileStatus.enum, description: "Default: modified." },
    additions: lines("Added lines; null in a binary file. Default: 0."),
    deletions: lines("Removed lines; null in a binary file. Default: 0."),
    previousPath: text("Of a file that was renamed or copied."),
    isSubmodule: { const: true, description: "It is a submodule." },
    isLeftOut: { const: true, description: "Its lines can't be shown." },
  },
} as const;

export const change = {
  type: "object",
  description:
    "The change that the job is about. With `base` alone, git compares the workspace with it. Default: what the commits of the workspace have done since they left main, or the last of them.",
  additionalProperties: false,
  minProperties: 1,
  properties: {
    base: text("The base: its name in the workspace, or with `files` what $change-base is."),
    head: text("With `files`: what $change-head is."),
    files: list("The changed files, as data. An empty list is an empty change.", changedFile),
    notes: list("With `files`: what is not shown of them, in sentences.", { type: "string" }),
    diff: text("With `files`: the content of the file $change-diff. Default: empty."),
  },
} as const;

export type WorkspaceFields = SchemaType<typeof workspace>;
export type CommitFields = NonNullable<WorkspaceFields["commits"]>[number];

export function refusedName(
  name: string,
): { readonly reason: string; readonly hint: string } | undefined {
  if (!isWithin(name)) {
    return {
      reason: "This is not a path inside the workspace.",
      hint: "write a relative path with /, without . and ..",
    };
  }
  if (name.split("/").some(isGitsOwn)) {
    return {
      reason:
        "On some systems, git would read this as a file of the repository, whose settings can start programs.",
      hint: 'set "git: true" to make the workspace a repository',
    };
  }
  return undefined;
}

/** A part of what git takes: no name that an option, a revision or a file of git's own could be taken for. */
export function isBranchName(name: string): boolean {
  return (
    name.length <= 200 &&
    /^[A-Za-z0-9_][A-Za-z0-9._/+=#-]*$/.test(name) &&
    !/\.\.|\/\/|\/\.|[/.]$|\.lock(?:\/|$)/.test(name) &&
    name !== "HEAD"
  );
}

/** A relative path in its shortest form that stays below where it starts, with `/` on every system. */
function isWithin(path: string): boolean {
  return (
    path !== "" &&
    posix.normalize(path) === path &&
    !/^\.{0,2}(?:\/|$)|\/$|\\|\0/.test(path) &&
    !win32.isAbsolute(path)
  );
}

/** Also where a file system knows no case or ignores invisible characters, and with the endings that Windows ignores. */
function isGitsOwn(part: string): boolean {
  const seen = part.replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "").normalize("NFKC");
  return /^(?:\.git|git~\d+)[. ]*(?::.*)?$/is.test(seen);
}
