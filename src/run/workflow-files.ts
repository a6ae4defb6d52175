/** Workflows, and the prompts of entries, from their files: what they call and include stays within the repository of the first one. */
import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { documentLimits } from "../document/read-document.ts";
import type { Permissions } from "../entry/model.ts";
import { isUnder } from "../permissions/paths.ts";
import { decidePermission } from "../permissions/policy.ts";
import { isPrivate } from "../platform/private-files.ts";
import { readJudged } from "../platform/files.ts";
import { errorCode, errorMessage } from "../platform/system-error.ts";
import { realFiles } from "../sessions/permission-handler.ts";
import type { FoundFile, WorkflowFiles } from "../workflow/model.ts";
import type { FileRead } from "../workflow/run/run-flow.ts";
import type { WarningChecks } from "../entry/warnings.ts";
import { holdsCredential } from "../redaction/redactor.ts";
import { unmatchable } from "../permissions/commands.ts";
import { allowsServer, ruleSet, toolVerdict } from "../permissions/rules.ts";
import { isText } from "../text/guards.ts";
import type { ReadPrompt } from "../entry/prompt.ts";

export function isWorkflowFile(file: string): boolean {
  return /\.wf\.md$/i.test(file);
}

/** Such a file is an entry of one job, which sends it. */
export function isPromptFile(file: string): boolean {
  return /\.prompt\.md$/i.test(file);
}

/**
 * The files that a workflow may reach: those of its git repository, else of its folder, but none that may hold
 * credentials. Links count by their target; those to a prompt of an entry are refused, because GitHub's API, which reads
 * the files of the base, knows only whole repositories. `seen` gets the absolute path of each file that is looked for.
 */
export function filesAround(
  file: string,
  {
    seen = () => {},
    of = "workflow",
  }: {
    readonly seen?: ((path: string, isThere: boolean) => void) | undefined;
    readonly of?: "workflow" | "entry";
  } = {},
): { readonly id: string; readonly files: WorkflowFiles } {
  const first = real(resolve(file));
  const root = gitRoot(dirname(first)) ?? dirname(first);
  const idOf = (path: string): string => relative(root, path).split(sep).join("/");
  const nameOf = (path: string): string => join(dirname(file), relative(dirname(first), path));
  return { id: idOf(first), files: { read: (path, from) => read(path, from) } };

  function read(path: string, from: string): FoundFile {
    const wanted = resolve(root, dirname(from), path);
    const quoted = JSON.stringify(path);
    const target = real(wanted);
    if (!isUnder(target, root)) {
      const reason = `${quoted} is outside of the folder of the ${of}.`;
      return { kind: "outside", reason, hint: `files must be in ${root}` };
    }
    // The path may come from a parameter, and what is read may become a prompt.
    if (isPrivate(relative(root, wanted)) || isPrivate(relative(root, target))) {
      const reason = `${quoted} may hold credentials, so no ${of} reads it.`;
      return { kind: "outside", reason };
    }
    if (of === "entry" && target !== wanted) {
      const hint = `name the file itself, ${relative(dirname(first), target)}`;
      return { kind: "outside", reason: `A symbolic link leads to ${quoted}.`, hint };
    }
    try {
      const found = statSync(target, { throwIfNoEntry: false });
      seen(target, found !== undefined);
      if (found === undefined) return missing();
      if (!found.isFile())
        return { kind: "unreadable", reason: `${quoted} is not a regular file.` };
      if (found.size > documentLimits.bytes) {
        const reason = `${quoted} has ${found.size} bytes. The maximum is ${documentLimits.bytes}.`;
        return { kind: "unreadable", reason };
      }
      const content = readJudged(target, documentLimits.bytes);
      if (content === undefined) {
        return { kind: "unreadable", reason: `${quoted} was replaced while it was read.` };
      }
      return { kind: "found", id: idOf(target), file: nameOf(target), content };
    } catch (error) {
      const code = errorCode(error);
      if (code === "ENOENT" || code === "ENOTDIR") return missing();
      return { kind: "unreadable", reason: `Can't read ${quoted}: ${errorMessage(error)}.` };
    }

    function missing(): FoundFile {
      const reason = `There is no file ${quoted}.`;
      return { kind: "missing", reason, hint: `looked for ${nameOf(wanted)}` };
    }
  }
}

/** Resolves links; for a missing file, those of its folder. */
function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const folder = dirname(path);
    return folder === path ? path : join(real(folder), basename(path));
  }
}

export function gitRoot(folder: string): string | undefined {
  if (existsSync(join(folder, ".git"))) return folder;
  const parent = dirname(folder);
  return parent === folder ? undefined : gitRoot(parent);
}

/** A file in the working directory is read as far as an agent may read it. */
export function readValue(
  found: FoundFile,
  permissions: Permissions,
  workingDirectory: string,
): FileRead {
  if (found.kind !== "found") return { kind: "failed", reason: found.reason };
  const path = resolve(found.file);
  if (path.startsWith(`${workingDirectory}${sep}`)) {
    const request = { kind: "read", paths: [path], deep: false } as const;
    const decision = decidePermission(permissions, request, { ...realFiles, workingDirectory });
    if (decision.kind !== "allowed") {
      const reason = `The permissions don't allow reading ${relative(workingDirectory, path)}: ${decision.reason}.`;
      return { kind: "failed", reason };
    }
  }
  const { content } = found;
  return {
    kind: "read",
    text: typeof content === "string" ? content : new TextDecoder().decode(content),
  };
}

export const warningChecks: WarningChecks = {
  checkCommandPattern: unmatchable,
  toolPermissions: (permissions) => {
    const rules = ruleSet(permissions);
    return (pattern) =>
      pattern.endsWith("/*")
        ? allowsServer(permissions, pattern.slice(0, -2))
        : toolVerdict(rules, pattern) === "allowed";
  },
  hasCredential: holdsCredential,
};

/** Regular files of its repository, which no link leads to. `seen` gets each absolute path that is looked for. */
export function promptsAround(
  entryFile: string,
  seen?: (path: string, isThere: boolean) => void,
): ReadPrompt {
  let around: ReturnType<typeof filesAround> | undefined;
  return (name) => {
    around ??= filesAround(entryFile, { seen, of: "entry" });
    const found = around.files.read(name, around.id);
    if (found.kind !== "found") return { ...found, kind: "refused" };
    const { content } = found;
    try {
      const text = isText(content)
        ? content
        : new TextDecoder("utf-8", { fatal: true }).decode(content);
      // The line break at the end of a file is not part of the prompt.
      const place = join(dirname(entryFile), name);
      return { kind: "read", place, text: text.replaceAll("\r\n", "\n").replace(/\n$/, "") };
    } catch {
      return { kind: "refused", reason: `${JSON.stringify(name)} is not valid UTF-8.` };
    }
  };
}
