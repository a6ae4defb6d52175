/** The part of a job that the step runs: its plan, one of its shards, or the merge of them. */
import { readdir, stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { defined } from "../document/guards.ts";
import type { ContinueOptions } from "../run/resume-job.ts";
import { readEarlierJob } from "../run/past-run.ts";
import type { RunReport } from "../run/execute.ts";
import { checkShards, matrixOf } from "../run/shards.ts";
import { asInput, type Inputs } from "./inputs.ts";
import { artifactPrefix } from "./earlier-journal.ts";
import type { Outputs } from "./github.ts";
import type { Paths, Setting } from "./preparation.ts";
import { Stop } from "./stop.ts";
import { insideWorkspace } from "./workspace-paths.ts";

/** Relative to the workspace, and in it. Throws a `Stop` with every problem. */
export async function journalsOf({ inputs, workspace }: Setting): Promise<readonly string[]> {
  const problems: string[] = [];
  const found: string[] = [];
  for (const given of inputs.journals) {
    const checked = await insideWorkspace(workspace, "journals", given);
    if (checked.kind !== "inside") {
      problems.push(checked.problem);
      continue;
    }
    const path = resolve(workspace, checked.path);
    const is = await stat(path).catch(() => undefined);
    const files = is?.isDirectory() === true ? await journalsIn(path) : [path];
    if (is === undefined) problems.push(`${asInput("journals")}: ${given} doesn't exist.`);
    else if (files.length === 0)
      problems.push(`${asInput("journals")}: ${given} contains no *.jsonl file.`);
    found.push(...files.map((file) => relative(workspace, file)));
  }
  if (inputs.shard !== undefined && found.length > 1)
    problems.push(
      `${asInput("journals")} names ${found.length} files. With ${asInput("shard")}, it must name one, the journal of the plan.`,
    );
  if (problems.length > 0) throw new Stop("failure", problems);
  return [...new Set(found)];
}

async function journalsIn(folder: string): Promise<string[]> {
  const children = await readdir(folder, { withFileTypes: true, recursive: true });
  return children
    .filter((child) => child.isFile() && child.name.endsWith(".jsonl"))
    .map((child) => join(child.parentPath, child.name))
    .sort();
}

type PartOptions = ContinueOptions & { readonly resume?: string; readonly jobName?: string };

/** For the run. Throws `UsageError`. */
export async function partOf(
  { mode, shard, shards, onMissing, job }: Inputs,
  journals: readonly string[],
): Promise<PartOptions> {
  const [first] = journals;
  if (mode === "plan") {
    checkShards(shards ?? 0, asInput("shards"));
    return { plan: true };
  }
  if (mode === "merge") {
    // A journal that can't be read is reported with the others.
    const earlier = await readEarlierJob(first ?? "").catch(() => undefined);
    return { journals, onMissing, ...defined({ jobName: job ?? earlier?.started?.jobName }) };
  }
  return defined({ shard, resume: shard && first });
}

/** Outputs of a plan that has succeeded. */
export async function outputsOfPlan(
  inputs: Inputs,
  { journal }: Paths,
  { outcome }: RunReport,
): Promise<Partial<Outputs>> {
  if (inputs.mode !== "plan" || outcome.kind !== "succeeded" || journal === undefined) return {};
  return {
    matrix: await matrixOf(journal, inputs.shards ?? 1),
    "journal-pattern": `${artifactPrefix(inputs)}-*`,
  };
}
