import { costText, countText, plural } from "../text/numbers.ts";
import { workflowLimits, type Limits } from "../entry/model.ts";
import { limitName, type PlannedLimit, type PlannedLimits } from "./plan.ts";
import * as is from "../document/describe.ts";
import type { ObjectOf, TypeOf } from "../document/describe.ts";

export const limitScope = is.tagged("kind", {
  job: {},
  task: { taskId: is.text },
  /** `of`: what the turn belongs to, in the words of its sender. */
  turn: { of: is.text },
  /** A loop has no name of its own: it is identified by the tasks of its body. */
  loop: { tasks: is.list(is.text) },
  /** A workflow in the job, by the file as the entry names it. */
  workflow: { file: is.text },
  /** `file`: the id of the workflow file. */
  activity: { file: is.text, activity: is.text },
});
export type LimitScope = TypeOf<typeof limitScope>;

export const exceededLimit = {
  limit: limitName,
  value: is.positive,
  /** How much was used. Default: `value`. */
  used: is.optional(is.amount),
  /** The option, input or field that set it. Absent: it is the default. */
  setBy: is.optional(is.text),
  /** The last error, with advice, if no model has answered since. */
  lastError: is.optional(is.text),
};
export type ExceededLimit = ObjectOf<typeof exceededLimit>;

export function limitText(exceeded: ExceededLimit, scope?: LimitScope): string {
  const { limit, value, used = value, setBy, lastError } = exceeded;
  const of = scope === undefined || scope.kind === "job" ? "" : ` of ${scopeName(scope)}`;
  const bound = `${plural(value, ...limitUnits[limit])}${used === value ? "" : `, ${used} used`}`;
  const place = workflowLimits.some((name) => name === limit)
    ? "the workflow's front matter or the entry"
    : "the entry";
  const source =
    setBy === undefined ? `, the default; set limits.${limit} in ${place})` : `), set by ${setBy}`;
  return `limits.${limit}${of} (${bound}${source}${lastErrorText(lastError)}`;
}

/** For the end of a sentence: what a job may use, where nobody has set it. */
export function defaultBounds({ tokens, cost }: PlannedLimits): string {
  const valueOf = (limit: PlannedLimit | undefined): number =>
    limit?.source === "default" ? (limit.value ?? 0) : 0;
  const bounds = [
    ...(valueOf(tokens) > 0 ? [`${countText(valueOf(tokens))} tokens`] : []),
    ...(valueOf(cost) > 0 ? [costText(valueOf(cost))] : []),
  ];
  return bounds.length === 0 ? "" : `; at most ${bounds.join(" and ")}, by default`;
}

export function lastErrorText(lastError: string | undefined): string {
  return lastError === undefined ? "" : `. The last error was: ${lastError}`;
}

const limitUnits: Readonly<Record<keyof Limits, readonly [one: string, many?: string]>> = {
  jobMinutes: ["minute"],
  tokens: ["token"],
  cost: ["credit"],
  runsPerDay: ["run"],
  runsPerActorPerDay: ["run"],
  taskMinutes: ["minute"],
  rateLimitMinutes: ["minute"],
  modelCalls: ["model call"],
  turnMinutes: ["minute"],
  idleMinutes: ["minute"],
  loopIterations: ["iteration"],
  parallel: ["turn"],
  activityHits: ["run"],
  activities: ["activity", "activities"],
  callDepth: ["call"],
  promptCharacters: ["character"],
  outputCharacters: ["character"],
  commandMinutes: ["minute"],
  commandIdleMinutes: ["minute"],
};

const NAMED_TASKS = 3;

/** `the loop of "a", "b"`. */
export function scopeName(scope: LimitScope): string {
  switch (scope.kind) {
    case "job":
      return "the job";
    case "task":
      return `task "${scope.taskId}"`;
    case "turn":
      return `a turn of ${scope.of}`;
    case "workflow":
      return `workflow "${scope.file}"`;
    case "activity":
      return `activity "${scope.activity}" of ${scope.file}`;
    case "loop": {
      const names = scope.tasks.slice(0, NAMED_TASKS).map((task) => JSON.stringify(task));
      return `the loop of ${names.join(", ")}${scope.tasks.length > NAMED_TASKS ? "…" : ""}`;
    }
  }
}
