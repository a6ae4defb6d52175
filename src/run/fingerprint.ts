import { createHash } from "node:crypto";
import type { LeafWork, PreparedEntry } from "../entry/model.ts";
import { reachedTasks } from "../entry/reached.ts";
import { leafName, leafWorks, mapLeaves } from "../entry/work.ts";
import type { JobFingerprints } from "../events/plan.ts";
import type { Workflow } from "../workflow/model.ts";

/** SHA-256, in hex. Prompts are hashed with their variables expanded, so `$schema` and the variables don't count. */
export function entryFingerprint(
  entry: PreparedEntry,
  flows: Readonly<Record<string, { readonly workflow: Workflow }>> = {},
): string {
  const { $schema: _schema, promptVariables: _variables, ...rest } = entry;
  const workflows = Object.values(flows).map(({ workflow }) => [
    workflow.settings,
    contentOf(workflow),
  ]);
  return hashOf([rest, ...workflows]);
}

/** A run is only resumed if these are the same. Models may change. */
export function jobFingerprints(
  entry: PreparedEntry,
  jobName: string,
  flows: Readonly<Record<string, { readonly workflow: Workflow }>>,
): JobFingerprints {
  const work = entry.jobs[jobName]?.work;
  if (work === undefined) return { work: "", tasks: {} };
  const tasks = reachedTasks(entry, work).map((name): [string, string] => {
    const { model: _model, ...task } = entry.tasks[name] ?? {};
    return [name, hashOf([task])];
  });
  const workflows = leafWorks(work).flatMap((leaf): [string, string][] => {
    const flow = leaf.kind === "Flow" ? flows[leaf.file] : undefined;
    return flow === undefined ? [] : [[leafName(leaf), workflowFingerprint(flow.workflow)]];
  });
  const tree = mapLeaves<number, number, LeafWork<number>>(work, (leaf) => {
    if (leaf.kind !== "Ref") return leaf;
    const { modelOverride: _model, ...same } = leaf;
    return same;
  });
  return { work: hashOf([tree]), tasks: Object.fromEntries([...tasks, ...workflows]) };
}

/** SHA-256 of what a workflow does, in hex: without its front matter, its descriptions and the places of its lines. */
export function workflowFingerprint(workflow: Workflow): string {
  return hashOf([contentOf(workflow)]);
}

function contentOf({ main, files }: Workflow): unknown {
  return {
    main,
    files: Object.values(files).map(
      ({ id, parameters, prompts, activities, start, onSuccess, onFailed }) => ({
        id,
        start,
        onSuccess,
        onFailed,
        parameters: parameters.map(({ at: _at, ...parameter }) => parameter),
        prompts: [...prompts].map(([name, { role, text }]) => ({ name, role, text })),
        activities: [...activities.values()].map(
          ({ at: _at, label: _label, ...activity }) => activity,
        ),
      }),
    ),
  };
}

export function hashOf(values: readonly unknown[]): string {
  const hash = createHash("sha256");
  for (const value of values) hash.update(JSON.stringify(sorted(value)));
  return hash.digest("hex");
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([, item]) => item !== undefined);
  // An object would put names that are numbers first, whatever their order.
  return fields.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, item]) => [name, sorted(item)]);
}
