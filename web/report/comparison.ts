/** Two runs side by side: which of their works belong together, and what differs. Pure. */
import { defaultLimits, type Permissions } from "../../src/entry/model.ts";
import type { PlannedLimit } from "../../src/events/plan.ts";
import { elapsedMs, type RunView, type WorkView } from "../../src/events/view.ts";
import { formatCost, formatCount, formatDuration } from "../parts/format.ts";

export type Pair<T> = readonly [T, T];

export interface Figure {
  readonly name: string;
  readonly values: Pair<number>;
  readonly format: (value: number) => string;
}

/** The works of both runs that belong together; undefined where a run lacks one. */
export interface WorkPair {
  readonly taskId: string;
  readonly works: Pair<WorkView | undefined>;
}

/** A setting that differs, as text; undefined where a run has none. */
export interface Difference {
  readonly name: string;
  readonly values: Pair<string | undefined>;
}

const count = (value: number): string => formatCount(value);

/** `last`: the time of the last event, for runs and works that have not ended. */
export function runFigures(views: Pair<RunView>, last: Pair<number>): readonly Figure[] {
  const durations = both(
    (index) => (views[index].endedAt ?? last[index]) - (views[index].startedAt ?? last[index]),
  );
  const total = (of: (totals: RunView["totals"]) => number): Pair<number> =>
    both((index) => of(views[index].totals));
  return [
    { name: "Duration", values: durations, format: formatDuration },
    { name: "Model calls", values: total((t) => t.modelCalls), format: count },
    { name: "Input tokens", values: total((t) => t.inputTokens), format: count },
    { name: "Output tokens", values: total((t) => t.outputTokens), format: count },
    { name: "Cost", values: total((t) => t.cost), format: formatCost },
    { name: "Attempts", values: total((t) => t.attempts), format: count },
    { name: "Retries", values: total((t) => t.retries), format: count },
    { name: "Crashes", values: total((t) => t.crashes), format: count },
    { name: "Denials", values: total((t) => t.denials), format: count },
  ];
}

export function workFigures(
  works: Pair<WorkView | undefined>,
  last: Pair<number>,
): readonly Figure[] {
  const of = (value: (work: WorkView) => number): Pair<number> =>
    both((index) => {
      const work = works[index];
      return work === undefined ? 0 : value(work);
    });
  return [
    {
      name: "Duration",
      values: both((index) => {
        const work = works[index];
        return work === undefined ? 0 : elapsedMs(work, last[index]);
      }),
      format: formatDuration,
    },
    { name: "Tokens", values: of((work) => work.inputTokens + work.outputTokens), format: count },
    { name: "Cost", values: of((work) => work.cost), format: formatCost },
    { name: "Attempts", values: of((work) => work.attempts), format: count },
    { name: "Retries", values: of((work) => work.retries), format: count },
    { name: "Crashes", values: of((work) => work.crashes), format: count },
  ];
}

/** From the first to the second, such as `−340 ms` and `−12 %`; undefined where both look the same. */
export function differenceOf({
  values: [a, b],
  format,
}: Figure): { readonly by: string; readonly share: string | undefined } | undefined {
  if (a === b || format(a) === format(b)) return undefined;
  const sign = b > a ? "+" : "−";
  const by = `${sign}${format(Math.abs(b - a))}`;
  return { by, share: a === 0 ? undefined : `${sign}${percent(Math.abs(b - a) / a)}` };
}

function percent(share: number): string {
  return `${formatCount(Math.round(share * 100))} %`;
}

/**
 * By task: the first work of a task belongs to the first one of the same task in the other run. So an entry that was
 * changed between the runs can be compared, too. In the order of the first run; what only the second has comes last.
 */
export function pairWorks([a, b]: Pair<RunView>): readonly WorkPair[] {
  const pairs = new Map<string, { taskId: string; works: [WorkView?, WorkView?] }>();
  for (const [index, view] of [a, b].entries()) {
    const seen = new Map<string, number>();
    for (const work of view.works.values()) {
      const number = (seen.get(work.taskId) ?? 0) + 1;
      seen.set(work.taskId, number);
      const key = `${number} ${work.taskId}`;
      const pair = pairs.get(key) ?? { taskId: work.taskId, works: [] };
      pair.works[index] = work;
      pairs.set(key, pair);
    }
  }
  return [...pairs.values()].map(({ taskId, works: [one, other] }) => ({
    taskId,
    works: [one, other],
  }));
}

/** What was set differently: entry, models, limits, permissions, user input, version. */
export function settingDifferences(views: Pair<RunView>): readonly Difference[] {
  const settings = views.map(settingsOf);
  const [a = new Map<string, string>(), b = new Map<string, string>()] = settings;
  const names = [...new Set([...a.keys(), ...b.keys()])];
  return names
    .map((name): Difference => ({ name, values: [a.get(name), b.get(name)] }))
    .filter(({ values: [one, other] }) => one !== other);
}

function settingsOf(view: RunView): Map<string, string> {
  const settings = new Map<string, string>();
  settings.set("Job", view.jobName);
  if (view.entryFile !== undefined) settings.set("Entry file", view.entryFile);
  settings.set("Working directory", view.workingDirectory);
  const { plan } = view;
  if (plan === undefined) return settings;
  settings.set("Entry", plan.entryFingerprint.slice(0, 12));
  settings.set("Version of agent-jobs", plan.version);
  settings.set("User input", plan.userInput);
  for (const [category, id] of Object.entries(plan.models)) settings.set(`Model ${category}`, id);
  for (const [limit, { value, source }] of Object.entries({ ...absentLimits, ...plan.limits }))
    settings.set(`Limit ${limit}`, `${value ?? "none"} (${source})`);
  for (const [taskId, permissions] of Object.entries(plan.permissions))
    settings.set(`Permissions of ${taskId}`, permissionsText(permissions));
  return settings;
}

/** What holds for limits that a plan does not name: its job has no workflow, or its version did not have them. */
const absentLimits: Readonly<Record<string, PlannedLimit>> = Object.fromEntries(
  Object.entries(defaultLimits).map(([name, value]: [string, number]) => [
    name,
    { value: Number.isFinite(value) ? value : null, source: "default" },
  ]),
);

function permissionsText(permissions: Permissions): string {
  return typeof permissions === "string" ? permissions : JSON.stringify(permissions);
}

export function both<T>(make: (index: 0 | 1) => T): Pair<T> {
  return [make(0), make(1)];
}
