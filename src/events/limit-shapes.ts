/** The JSON of limits: their names, what they apply to, and those in the plan of a run. */
import type { Limits } from "../entry/model.ts";
import type { LimitScope } from "./exceeded-limit.ts";
import type { PlannedLimit, PlannedLimits } from "./plan.ts";
import {
  list,
  natural,
  nullable,
  optional,
  positive,
  record,
  tagged,
  text,
  words,
  type Shape,
} from "./shape.ts";

const scopes = {
  job: {},
  task: { taskId: text },
  turn: { of: text },
  loop: { tasks: list(text) },
  workflow: { file: text },
  activity: { file: text, activity: text },
};

/** A plain string is its kind. */
export const limitScope: Shape<LimitScope> = {
  ...tagged<LimitScope, "kind">("kind", scopes),
  is: Object.keys(scopes),
};

export const limitName = words<keyof Limits>({
  jobMinutes: true,
  tokens: true,
  cost: true,
  taskMinutes: true,
  modelCalls: true,
  turnMinutes: true,
  idleMinutes: true,
  loopIterations: true,
  parallel: true,
  activityHits: true,
  activities: true,
  callDepth: true,
  promptCharacters: true,
  outputCharacters: true,
  commandMinutes: true,
  commandIdleMinutes: true,
});

const fraction = record<PlannedLimit>({ value: nullable(positive), source: text });
const whole = record<PlannedLimit>({ value: nullable(natural), source: text });
export const plannedLimits = record<PlannedLimits>({
  jobMinutes: fraction,
  tokens: whole,
  cost: optional(fraction),
  taskMinutes: fraction,
  modelCalls: whole,
  turnMinutes: fraction,
  idleMinutes: fraction,
  loopIterations: whole,
  parallel: whole,
  activityHits: optional(whole),
  activities: optional(whole),
  callDepth: optional(whole),
  promptCharacters: optional(whole),
  outputCharacters: optional(whole),
  commandMinutes: optional(fraction),
  commandIdleMinutes: optional(fraction),
});
