/** The JSON Schema of each limit: of an entry, of the front matter of a workflow, of a rehearsal. */
import { defaultLimits, type Limits } from "./model.ts";

type Properties = Readonly<Record<keyof Limits, LimitSchema>>;

interface LimitSchema {
  readonly type: "number" | "integer";
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly default?: number;
  readonly description: string;
}

export const limitProperties: Properties = {
  jobMinutes: minutes("jobMinutes", "the job. When exceeded, the job fails"),
  tokens: whole("tokens", "Input and output tokens of the job. When exceeded, the job fails."),
  cost: fraction(
    "cost",
    "Cost of the job in premium requests (may be a fraction), as reported by the Copilot runtime. When exceeded, the job fails.",
  ),
  taskMinutes: minutes("taskMinutes", "one iteration of a task. When exceeded, the task fails"),
  modelCalls: whole(
    "modelCalls",
    "Model calls of one iteration of a task. When exceeded, the task fails.",
  ),
  turnMinutes: minutes("turnMinutes", "a turn. When exceeded, the turn crashes"),
  idleMinutes: minutes(
    "idleMinutes",
    "silence while no tool runs. When exceeded, the turn crashes",
  ),
  loopIterations: whole("loopIterations", "Iterations of one Loop. When exceeded, the loop fails."),
  parallel: whole("parallel", "Maximum number of concurrent turns. Further turns wait."),
  activityHits: whole(
    "activityHits",
    "Runs of one activity in one run of its workflow file. When exceeded, the file fails.",
  ),
  activities: whole(
    "activities",
    "Activities of one run of a workflow. When exceeded, the workflow fails.",
  ),
  callDepth: whole(
    "callDepth",
    "CALLs of workflow files within one another. When exceeded, the CALL fails.",
  ),
  promptCharacters: whole(
    "promptCharacters",
    "Characters of one prompt of a workflow. When exceeded, the PROMPT fails.",
  ),
  outputCharacters: whole(
    "outputCharacters",
    "Characters of the output of one EXECUTE. When exceeded, the EXECUTE fails.",
  ),
  commandMinutes: minutes("commandMinutes", "one EXECUTE. When exceeded, the EXECUTE fails"),
  commandIdleMinutes: minutes(
    "commandIdleMinutes",
    "silence of an EXECUTE. When exceeded, the EXECUTE fails",
  ),
};

/** For limits that override those of an entry: without defaults, because the entry has the fallback. */
export const overridingLimits: object = Object.fromEntries(
  Object.entries(limitProperties).map(([name, schema]) => [
    name,
    Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "default")),
  ]),
);

function minutes(name: keyof Limits, of: string): LimitSchema {
  return fraction(name, `Minutes (may be fractions) of ${of}.`);
}

function fraction(name: keyof Limits, description: string): LimitSchema {
  return { type: "number", exclusiveMinimum: 0, ...fallback(name), description };
}

function whole(name: keyof Limits, description: string): LimitSchema {
  return { type: "integer", minimum: 1, ...fallback(name), description };
}

function fallback(name: keyof Limits): { readonly default?: number } {
  const value: number = defaultLimits[name];
  return Number.isFinite(value) ? { default: value } : {};
}
