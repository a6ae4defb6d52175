/** The JSON Schema of each limit: of an entry, of the front matter of a workflow, of a rehearsal. */
import { defaultLimits, type Limits } from "./model.ts";

interface LimitSchema {
  readonly type: "number" | "integer";
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly description: string;
}

/** For limits that override those of an entry: without defaults, because the entry has the fallback. */
export const overridingLimits: Readonly<Record<keyof Limits, LimitSchema>> = {
  jobMinutes: minutes("the job. When exceeded, the job fails"),
  tokens: whole("Input and output tokens of the job. When exceeded, the job fails."),
  cost: fraction(
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

function minutes(of: string): LimitSchema {
  return fraction(`Minutes (may be fractions) of ${of}.`);
}

function fraction(description: string): LimitSchema {
  return { type: "number", exclusiveMinimum: 0, description };
}

function whole(description: string): LimitSchema {
  return { type: "integer", minimum: 1, description };
}
