/** The limits of a run, and what they are if nobody sets them. */

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

/** The limits that concern only workflows. */
export const workflowLimits = [
  "activityHits",
  "activities",
  "callDepth",
  "promptCharacters",
  "outputCharacters",
  "commandMinutes",
  "commandIdleMinutes",
] as const satisfies readonly (keyof Limits)[];
export type WorkflowLimit = (typeof workflowLimits)[number];
