/**
 * Which files decide what an entry runs, besides itself: the workflows of its jobs, and what workflows call,
 * include and name with `file:`. For an edge that must know where they come from before they are believed.
 */
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { documentLimits } from "../document/read-document.ts";
import { leafWorks } from "../entry/work.ts";
import { loadWorkflow } from "../workflow/load-workflow.ts";
import { loadEntry } from "./entry-files.ts";
import type { Params } from "./options.ts";
import { filesAround, isWorkflowFile } from "./workflow-files.ts";

/** Absolute paths, without the entry itself. */
export interface ReachedFiles {
  readonly found: readonly string[];
  /** They may name further ones. */
  readonly missing: readonly string[];
}

/** What is wrong with a file doesn't matter here: whoever runs it says so. `params`: of an entry that is a workflow. */
export function reachedFiles(entryFile: string, params: Params = {}): ReachedFiles {
  const reached = new Map<string, boolean>();
  const seen = (path: string, isThere: boolean): void => void reached.set(path, isThere);
  if (isWorkflowFile(entryFile)) {
    follow(entryFile, params, seen);
  } else {
    for (const file of workflowsOf(entryFile)) {
      const isThere = statSync(file, { throwIfNoEntry: false }) !== undefined;
      seen(file, isThere);
      if (isThere) follow(file, {}, seen);
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
  params: Params,
  seen: (path: string, isThere: boolean) => void,
): void {
  const text = contentOf(file);
  if (text === undefined) return;
  const { id, files } = filesAround(file, seen);
  const loaded = loadWorkflow(text, file, { id, files });
  if (loaded.kind === "rejected") return;
  const { workflow } = loaded;
  const read = (value: string | undefined, from: string): void => {
    if (value?.startsWith("file:") === true) files.read(value.slice("file:".length), from);
  };
  for (const value of Object.values(params)) read(value, workflow.main);
  for (const one of Object.values(workflow.files)) {
    for (const { default: value } of one.parameters) read(value, one.id);
  }
}

function workflowsOf(entryFile: string): readonly string[] {
  const text = contentOf(entryFile);
  if (text === undefined) return [];
  const loaded = loadEntry(text, entryFile);
  if (loaded.kind === "rejected") return [];
  const leaves = Object.values(loaded.entry.jobs).flatMap(({ work }) => leafWorks(work));
  const names = leaves.flatMap((leaf) => (leaf.kind === "Flow" ? [leaf.file] : []));
  return [...new Set(names)].map((name) => resolve(dirname(entryFile), name));
}

function contentOf(file: string): Uint8Array | undefined {
  try {
    const found = statSync(file);
    return found.isFile() && found.size <= documentLimits.bytes ? readFileSync(file) : undefined;
  } catch {
    return undefined;
  }
}
