/** The files that decide what an entry runs: an edge must know where they come from before they are believed. */
import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { documentLimits } from "../document/read-document.ts";
import { loadEntry } from "../entry/prepare.ts";
import { promptText, variablePattern } from "../entry/prompt.ts";
import { leafWorks } from "../entry/work.ts";
import { readSmallFile } from "../platform/files.ts";
import { loadWorkflow } from "../workflow/read/load-workflow.ts";
import type { Params } from "../run/options.ts";
import { filesAround, isWorkflowFile, promptsAround } from "../run/workflow-files.ts";

/** Ignores problems of files, which the run reports. `params` are those of an entry that is a workflow. */
export function reachedFiles(
  entryFile: string,
  params: Params = {},
): { readonly found: readonly string[]; readonly missing: readonly string[] } {
  const reached = new Map<string, boolean>();
  const seen = (path: string, isThere: boolean): void => void reached.set(path, isThere);
  if (isWorkflowFile(entryFile)) {
    follow(entryFile, Object.values(params), seen);
  } else {
    for (const [file, values] of workflowsOf(entryFile, seen)) {
      const isThere = statSync(file, { throwIfNoEntry: false }) !== undefined;
      seen(file, isThere);
      if (isThere) follow(file, values, seen);
    }
  }
  const paths = [...reached];
  return {
    found: paths.flatMap(([path, isThere]) => (isThere ? [path] : [])),
    missing: paths.flatMap(([path, isThere]) => (isThere ? [] : [path])),
  };
}

function follow(
  file: string,
  params: readonly string[],
  seen: (path: string, isThere: boolean) => void,
): void {
  const text = contentOf(file);
  if (text === undefined) return;
  const { id, files } = filesAround(file, { seen });
  const loaded = loadWorkflow(text, file, { id, files });
  if (loaded.kind === "rejected") return;
  const { workflow } = loaded;
  const read = (value: string | undefined, from: string): void => {
    if (value?.startsWith("file:") === true) files.read(value.slice("file:".length), from);
  };
  for (const value of params) read(value, workflow.main);
  for (const one of Object.values(workflow.files)) {
    for (const { default: value } of one.parameters) read(value, one.id);
  }
}

/** With the values of the parameters of each in all jobs. Prompts are seen on the way. */
function workflowsOf(
  entryFile: string,
  seen: (path: string, isThere: boolean) => void,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  const text = contentOf(entryFile);
  if (text === undefined) return found;
  const loaded = loadEntry(text, entryFile, { readPrompt: promptsAround(entryFile, seen) });
  if (loaded.kind === "rejected") return found;
  const leaves = Object.values(loaded.entry.jobs).flatMap(({ work }) => leafWorks(work));
  for (const leaf of leaves) {
    if (leaf.kind !== "Flow") continue;
    const file = resolve(dirname(entryFile), leaf.file);
    const values = found.get(file) ?? [];
    found.set(file, values);
    for (const prompt of Object.values(leaf.params ?? {})) {
      const value = withoutVariables(promptText(prompt));
      if (value !== undefined) values.push(value);
    }
  }
  return found;
}

/** Undefined if the text is only known when the job runs. */
function withoutVariables(text: string): string | undefined {
  const isKnown = [...text.matchAll(variablePattern)].every(([, name]) => name === undefined);
  return isKnown ? text.replace(variablePattern, () => "$") : undefined;
}

function contentOf(file: string): Uint8Array | undefined {
  try {
    return readSmallFile(file, documentLimits.bytes);
  } catch {
    return undefined;
  }
}
