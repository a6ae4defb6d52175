import { positive, whole } from "./schema-parts.ts";

/** Bounds of a run, with their defaults. Minutes and cost may be fractions; infinity is none. */
export const defaultLimits = {
  /** The whole job, which then fails. */
  jobMinutes: 60,
  /** Input and output of all model calls of the job. */
  tokens: Number.POSITIVE_INFINITY,
  /** All model calls of the job, in premium requests, as the Copilot runtime reports them. */
  cost: Number.POSITIVE_INFINITY,
  /** One iteration of a task, which then fails. */
  taskMinutes: 30,
  /** Of one iteration of a task. */
  modelCalls: 200,
  /** One turn, which then counts as crashed. */
  turnMinutes: 15,
  /** Silence of a session while no tool runs; the turn then counts as crashed. */
  idleMinutes: 5,
  /** Iterations of one `Loop`. */
  loopIterations: 100,
  /** Turns at the same time; more wait. */
  parallel: 8,
  /** How often one activity runs in one run of its workflow file. */
  activityHits: 3,
  /** Activities of one run of a workflow, those of called files included. */
  activities: 10_000,
  /** CALLs of workflow files within one another. */
  callDepth: 10,
  /** Characters of one prompt of a workflow. */
  promptCharacters: 1_000_000,
  /** Characters of the output of one EXECUTE. */
  outputCharacters: 100_000,
  /** One EXECUTE. */
  commandMinutes: 30,
  /** Silence of an EXECUTE. */
  commandIdleMinutes: 10,
} as const;

/** All optional, all positive. Defaults: `defaultLimits`. */
export type Limits = { readonly [Name in keyof typeof defaultLimits]?: number };

export const workflowLimits = [
  "activityHits",
  "activities",
  "callDepth",
  "promptCharacters",
  "outputCharacters",
  "commandMinutes",
  "commandIdleMinutes",
] as const satisfies readonly (keyof Limits)[];

/** For limits that override those of an entry: without defaults, because the entry has the fallback. */
export const overridingLimits: Readonly<
  Record<keyof Limits, ReturnType<typeof whole | typeof positive>>
> = {
  jobMinutes: minutes("the job. When exceeded, the job fails"),
  tokens: whole("Input and output tokens of the job. When exceeded, the job fails."),
  cost: positive(
    "Cost of the job in premium requests (may be a fraction), as reported by the Copilot runtime. When exceeded, the job fails.",
  ),
  taskMinutes: minutes("one iteration of a task. When exceeded, the task fails"),
  modelCalls: whole("Model calls of one iteration of a task. When exceeded, the task fails."),
  turnMinutes: minutes("a turn. When exceeded, the turn crashes"),
  idleMinutes: minutes("silence while no tool runs. When exceeded, the turn crashes"),
  loopIterations: whole("Iterations of one Loop. When exceeded, the loop fails."),
  parallel: whole("Maximum number of concurrent turns. Further turns wait."),
  activityHits: whole(
    "Runs of one activity in one run of its workflow file. When exceeded, the file fails.",
  ),
  activities: whole("Activities of one run of a workflow. When exceeded, the workflow fails."),
  callDepth: whole("CALLs of workflow files within one another. When exceeded, the CALL fails."),
  promptCharacters: whole(
    "Characters of one prompt of a workflow. When exceeded, the PROMPT fails.",
  ),
  outputCharacters: whole(
    "Characters of the output of one EXECUTE. When exceeded, the EXECUTE fails.",
  ),
  commandMinutes: minutes("one EXECUTE. When exceeded, the EXECUTE fails"),
  commandIdleMinutes: minutes("silence of an EXECUTE. When exceeded, the EXECUTE fails"),
};

export const limitProperties: object = Object.fromEntries(
  Object.entries(overridingLimits).map(([name, { description, ...rules }]) => {
    const fallback = new Map<string, number>(Object.entries(defaultLimits)).get(name);
    const isBounded = Number.isFinite(fallback);
    return [name, { ...rules, ...(isBounded ? { default: fallback } : {}), description }];
  }),
);

function minutes(of: string): ReturnType<typeof positive> {
  return positive(`Minutes (may be fractions) of ${of}.`);
}
