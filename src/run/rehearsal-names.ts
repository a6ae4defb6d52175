/** The names in a rehearsal, against the entry that it is for. */
import { DiagnosticsError, type Diagnostic } from "../document/diagnostic.ts";
import { suggestion } from "../document/suggest.ts";
import { leafName, leafWorks } from "../entry/work.ts";
import {
  namesActivity,
  writtenName,
  type FoundActivity,
} from "../rehearsal/format/activity-name.ts";
import type { NamedActivity, Script } from "../rehearsal/format/script.ts";
import type { ReadEntry } from "./flows.ts";

interface Known extends FoundActivity {
  readonly isAsk: boolean;
}

/**
 * Throws `DiagnosticsError` if a rehearsal names works that the entry doesn't have, or activities that no workflow of
 * the job has. Without a job, it is for all jobs.
 */
export function checkNames(
  { namedTasks, namedActivities }: Script,
  loaded: Pick<ReadEntry, "entry" | "flows">,
  jobName?: string,
): void {
  const { entry, flows } = loaded;
  const commands = Object.values(entry.jobs).flatMap(({ work }) =>
    leafWorks(work).flatMap((leaf) => (leaf.kind === "Run" ? [leafName(leaf)] : [])),
  );
  const works = [...Object.keys(entry.tasks), ...Object.keys(flows), ...commands];
  const tasks = namedTasks
    .filter(({ task }) => !works.includes(task))
    .map(({ task, at }) => ({
      ...at,
      reason: `The entry has no task ${JSON.stringify(task)}.`,
      ...suggestion(task, works),
    }));
  const known = activitiesOf(loaded, jobName);
  const activities = namedActivities.flatMap((named) => unknownActivity(named, known));
  if (tasks.length + activities.length > 0) throw new DiagnosticsError([...tasks, ...activities]);
}

function activitiesOf(
  { entry, flows }: Pick<ReadEntry, "entry" | "flows">,
  jobName: string | undefined,
): Known[] {
  const jobs = Object.entries(entry.jobs).filter(([name]) => name === (jobName ?? name));
  const names = new Set(jobs.flatMap(([, { work }]) => leafWorks(work).map(leafName)));
  return Object.entries(flows)
    .filter(([name]) => names.has(name))
    .flatMap(([, { workflow }]) =>
      Object.entries(workflow.files).flatMap(([file, { activities }]) =>
        Object.values(activities).map(({ id, kind }) => ({ id, file, isAsk: kind === "ask" })),
      ),
    );
}

function unknownActivity(
  { activity, isAsk, at }: NamedActivity,
  known: readonly Known[],
): Diagnostic[] {
  const possible = known.filter((one) => one.isAsk || !isAsk);
  if (possible.some((one) => namesActivity(activity, one))) return [];
  const owner = known.length === 0 ? "There is no workflow with" : "The workflow has no";
  const what = `${known.length === 0 ? "the " : ""}${isAsk ? "ASK" : "activity"}`;
  const reason = `${owner} ${what} ${JSON.stringify(writtenName(activity))}.`;
  const files = possible.filter(({ id }) => id === activity.id).map(({ file }) => file);
  const ids = [...new Set(possible.map(({ id }) => id))];
  const hint =
    files.length > 0 ? { hint: `it is in ${files.join(" and ")}` } : suggestion(activity.id, ids);
  return [{ ...at, reason, ...hint }];
}
