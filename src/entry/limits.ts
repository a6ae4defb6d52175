/** Bounds of a run. Minutes and cost may be fractions; infinity is none. */
import { positive, whole } from "./schema-parts.ts";

const minutes = (of: string): ReturnType<typeof positive> =>
  positive(`Minutes (may be fractions) of ${of}.`);

/** The default and the description of each limit. */
const table = {
  jobMinutes: [60, minutes("the job. When exceeded, the job fails")],
  // Far more than a job needs. They bound the cost of a mistake or a flood of events.
  tokens: [20_000_000, whole("Input and output tokens of the job. When exceeded, the job fails.")],
  cost: [
    1000,
    positive(
      "Cost of the job in AI credits of GitHub Copilot (0.01 USD each, may be a fraction), or by `prices`. When exceeded, the job fails.",
    ),
  ],
  runsPerDay: [
    Infinity,
    whole(
      "Runs of the GitHub workflow in 24 hours. When exceeded, the run is skipped. Only in the action.",
    ),
  ],
  runsPerActorPerDay: [
    Infinity,
    whole(
      "Runs of the GitHub workflow in 24 hours that the same user triggered. When exceeded, the run is skipped. Only in the action.",
    ),
  ],
  taskMinutes: [30, minutes("one iteration of a task. When exceeded, the task fails")],
  modelCalls: [
    200,
    whole("Model calls of one iteration of a task. When exceeded, the task fails."),
  ],
  turnMinutes: [15, minutes("a turn. When exceeded, the turn crashes")],
  idleMinutes: [5, minutes("silence while no tool runs. When exceeded, the turn crashes")],
  loopIterations: [100, whole("Iterations of one Loop. When exceeded, the loop fails.")],
  parallel: [8, whole("Maximum number of concurrent steps and turns. Further ones wait.")],
  activityHits: [
    3,
    whole("Runs of one activity in one run of its workflow file. When exceeded, the file fails."),
  ],
  activities: [
    10_000,
    whole("Activities of one run of a workflow. When exceeded, the workflow fails."),
  ],
  callDepth: [
    10,
    whole("CALLs of workflow files within one another. When exceeded, the CALL fails."),
  ],
  promptCharacters: [
    1_000_000,
    whole("Characters of one prompt of a workflow. When exceeded, the PROMPT fails."),
  ],
  outputCharacters: [
    100_000,
    whole("Characters of the output of one EXECUTE. When exceeded, the EXECUTE fails."),
  ],
  commandMinutes: [30, minutes("one EXECUTE. When exceeded, the EXECUTE fails")],
  commandIdleMinutes: [10, minutes("silence of an EXECUTE. When exceeded, the EXECUTE fails")],
} as const;

/** All optional, all positive. Defaults: `defaultLimits`. */
export type Limits = { readonly [Name in keyof typeof table]?: number };

export const workflowLimits = [
  "activityHits",
  "activities",
  "callDepth",
  "promptCharacters",
  "outputCharacters",
  "commandMinutes",
  "commandIdleMinutes",
] as const satisfies readonly (keyof Limits)[];

type Table<Column extends 0 | 1> = {
  readonly [Name in keyof typeof table]: (typeof table)[Name][Column];
};

function column<Column extends 0 | 1>(index: Column): Table<Column>;
function column(index: number): object {
  return Object.fromEntries(Object.entries(table).map(([name, row]) => [name, row[index]]));
}

export const defaultLimits = column(0);
/** For limits that override those of an entry: without defaults, because the entry has the fallback. */
export const overridingLimits = column(1);

export const limitProperties: object = Object.fromEntries(
  Object.entries(table).map(([name, [fallback, { description, ...rules }]]) => {
    const bounded = Number.isFinite(fallback) ? { default: fallback } : {};
    return [name, { ...rules, ...bounded, description }];
  }),
);
