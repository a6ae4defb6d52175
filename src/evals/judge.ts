/** The judge of a run: the last work of its job, so that it sees what the job has done and counts against its limits. */
import { suggestion } from "../document/suggest.ts";
import type { Work } from "../entry/model.ts";
import { assignWorkId } from "../entry/work.ts";
import type { ReadEntry } from "../run/flows.ts";
import { UsageError } from "../run/options.ts";
import type { Judge } from "./eval-schema.ts";

/** Throws a `UsageError` if the task is unknown. The works of the job keep their ids. */
export function withJudge(loaded: ReadEntry, jobName: string, judge: Judge | undefined): ReadEntry {
  const { entry } = loaded;
  const job = entry.jobs[jobName];
  if (judge === undefined || job === undefined) return loaded;
  const { task, command } = judge;
  if (task !== undefined && entry.tasks[task]?.model === undefined) {
    const { hint } = suggestion(task, Object.keys(entry.tasks));
    const why = Object.hasOwn(entry.tasks, task)
      ? `The task ${JSON.stringify(task)} has no model, so it can't be the judge.`
      : `There is no task ${JSON.stringify(task)} in the entry${hint === undefined ? "" : ` (${hint})`}.`;
    throw new UsageError(why);
  }
  const asked: Work =
    task === undefined
      ? { kind: "Run", run: command ?? "", name: "judge" }
      : { kind: "Ref", taskId: task };
  const work = assignWorkId({ kind: "Seq", works: [job.work, asked] });
  return { ...loaded, entry: { ...entry, jobs: { ...entry.jobs, [jobName]: { ...job, work } } } };
}
