/**
 * The JSON Schema of an entry file: what editors complete from and what the loader checks first.
 * Titles, descriptions, defaults and examples are for editors; checks that need two places of the
 * file at once are in `check-entry.ts`.
 */
import { availableTools, defaultLimits, permissionPresets } from "./model.ts";

const text = { type: "string" } as const;
const name = { type: "string", minLength: 1 } as const;
const texts = { type: "array", items: { type: "string" } } as const;
const names = { type: "array", items: { type: "string", minLength: 1 } } as const;

function ref(definition: string, description?: string): object {
  const reference = { $ref: `#/$defs/${definition}` };
  return description === undefined ? reference : { ...reference, description };
}

function object(properties: object, required: readonly string[], more: object = {}): object {
  return { type: "object", ...more, properties, required, additionalProperties: false };
}

function map(values: object, more: object): object {
  return { type: "object", ...more, additionalProperties: values };
}

function minutes(of: string, fallback: number): object {
  const description = `Minutes, fractions allowed: ${of}.`;
  return { type: "number", exclusiveMinimum: 0, default: fallback, description };
}

function amount(of: string, fallback: number): object {
  const defaults = Number.isFinite(fallback) ? { default: fallback } : {};
  return { type: "integer", minimum: 1, ...defaults, description: of };
}

const prompt = {
  title: "Prompt",
  description:
    "Text, or lines that are joined with a line break. $name inserts a prompt variable or a runtime variable such as $user-input; $$ is a literal $.",
  type: ["string", "array"],
  items: text,
  minItems: 1,
};

const model = {
  title: "Model",
  description: "A model by its category (a key of models) or by its id.",
  type: "object",
  properties: {
    category: { ...name, description: "A key of models." },
    id: { ...name, description: "The id of a model, as the provider knows it." },
  },
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  examples: [{ category: "driving" }, { id: "gpt-5" }],
};

const permissionRules = object(
  {
    preset: {
      enum: permissionPresets,
      default: "read-only",
      description: "The preset that the rules add to.",
    },
    read: { ...names, description: "Globs of files that may be read; a leading ! denies." },
    write: { ...names, description: "Globs of files that may be written; a leading ! denies." },
    shell: {
      description:
        "true, or patterns of shell commands such as `git diff *`. Every command of a pipeline or list must match; a leading ! denies.",
      oneOf: [{ const: true }, names],
    },
    url: { ...names, description: "Patterns of addresses that may be fetched; ! denies." },
    tools: { ...names, description: "Names of further tools that may be called; ! denies." },
  },
  [],
);

const permissions = {
  title: "Permissions",
  description:
    "What the agent may do: a preset, or rules that add to one. A rule that denies wins over one that allows.",
  oneOf: [{ type: "string", enum: permissionPresets }, permissionRules],
  default: "read-only",
};

const limits = object(
  {
    jobMinutes: minutes("the whole job, which then fails", defaultLimits.jobMinutes),
    tokens: amount("Tokens of the whole job, input and output.", defaultLimits.tokens),
    taskMinutes: minutes("one run of a task, which then fails", defaultLimits.taskMinutes),
    modelCalls: amount("Model calls of one run of a task.", defaultLimits.modelCalls),
    turnMinutes: minutes("a turn, which then counts as crashed", defaultLimits.turnMinutes),
    idleMinutes: minutes("silence while no tool runs: a crash", defaultLimits.idleMinutes),
    loopIterations: amount("Iterations of one Loop.", defaultLimits.loopIterations),
    parallel: amount(
      "Maximum number of concurrent turns; further turns wait.",
      defaultLimits.parallel,
    ),
  },
  [],
  { title: "Limits", description: "Limits of a run. An exceeded limit is reported with its name." },
);

const availability = object(
  {
    previousTasks: { ...texts, description: "The task before this one must be in the list." },
    condition: ref("prompt", "Asked first; must mention job_boolean_true or job_boolean_false."),
  },
  [],
  { description: "When the task may run; every field must hold." },
);

const criteria = object(
  {
    toolExecuted: {
      type: "array",
      items: { enum: availableTools },
      description: "Tools that must have run in the last turn.",
    },
    condition: ref("prompt", "Asked last; must mention job_boolean_true or job_boolean_false."),
    runConditionInSameSession: {
      type: "boolean",
      default: true,
      description: "false: conditions are asked in separate sessions, with the driving model.",
    },
    failureAction: object(
      {
        retryTimes: {
          type: "integer",
          minimum: 0,
          description: "How often the task is retried when its criteria don't hold.",
        },
        additionalPrompt: ref("prompt", "Added to the prompt of a retry."),
      },
      ["retryTimes"],
    ),
  },
  ["failureAction"],
  { description: "When the task has succeeded; every field must hold." },
);

const task = object(
  {
    model: ref("model", "Without it, every Ref to this task needs a modelOverride."),
    prompt: ref("prompt", "What the agent is asked to do."),
    requireUserInput: {
      type: "boolean",
      default: false,
      description: "Must be true if, and only if, the prompt uses $user-input.",
    },
    availability,
    criteria,
    permissions: ref("permissions", "Replaces the permissions of the entry."),
  },
  ["prompt"],
  { title: "Task" },
);

function workOf(kind: string, description: string, properties: object, required: string[]): object {
  return object({ kind: { const: kind }, ...properties }, ["kind", ...required], {
    title: kind,
    description,
  });
}

function condition(description: string): object {
  const prefixItems = [{ type: "boolean" }, ref("work")];
  return { type: "array", description, prefixItems, minItems: 2, maxItems: 2 };
}

const works = { type: "array", items: ref("work"), minItems: 1 };

const work = {
  title: "Work",
  type: "object",
  required: ["kind"],
  discriminator: { propertyName: "kind" },
  oneOf: [
    workOf(
      "Ref",
      "Runs a task.",
      {
        taskId: { ...text, description: "A key of tasks." },
        modelOverride: ref("model", "The model to use instead of the task's."),
        workIdInJob: {
          type: "integer",
          minimum: 0,
          description: "Assigned automatically; can be omitted.",
        },
      },
      ["taskId"],
    ),
    workOf("Seq", "One after the other; stops at the first that fails.", { works }, ["works"]),
    workOf("Par", "All at the same time; fails if one of them fails.", { works }, ["works"]),
    workOf(
      "Loop",
      "Repeats its body. Without postCondition and atMost the body runs once.",
      {
        preCondition: condition(
          "[outcome, work]: asked before the body, which runs if the work has the outcome; else the loop has succeeded.",
        ),
        body: ref("work"),
        postCondition: condition(
          "[outcome, work]: asked after the body; the loop starts over if the work has the outcome, else it has succeeded.",
        ),
        atMost: {
          type: "integer",
          minimum: 1,
          description:
            "The maximum number of passes. With it, an absent condition means to continue. If a condition asks for another pass after the last one, the loop fails.",
        },
        atMostReached: {
          enum: ["fail", "succeed"],
          default: "fail",
          description:
            "The outcome if a condition asks for another pass after atMost passes. Use succeed if atMost is the intended number of passes.",
        },
      },
      ["body"],
    ),
    workOf(
      "Alt",
      "Chooses by the outcome of a condition.",
      { condition: ref("work"), trueWork: ref("work"), falseWork: ref("work") },
      ["condition"],
    ),
  ],
};

const job = object(
  {
    requireUserInput: {
      type: "boolean",
      description:
        "Whether any task of the job requires user input. Default: derived from the tasks.",
    },
    work: ref("work"),
  },
  ["work"],
  { title: "Job" },
);

const gridRow = object(
  {
    keyword: text,
    jobs: {
      type: "array",
      items: {
        ...object({ name: text, jobName: { ...text, description: "A key of jobs." } }, [
          "name",
          "jobName",
        ]),
        type: ["object", "null"],
      },
    },
  },
  ["keyword", "jobs"],
);

const drivingSessionRetry = object({ modelId: name, retries: { type: "integer", minimum: 0 } }, [
  "modelId",
  "retries",
]);

export const entrySchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "agent-jobs entry",
  ...object(
    {
      $schema: { ...text, description: "For editors; ignored." },
      models: {
        ...map(name, { title: "Models", description: "Categories of models and their ids." }),
        properties: { driving: { ...name, description: "Checks conditions." } },
        required: ["driving"],
        examples: [{ driving: "gpt-5-mini", planning: "gpt-5" }],
      },
      promptVariables: map(ref("prompt"), {
        description: "Texts for prompts, used as $name. They may use each other.",
      }),
      tasks: map(ref("task"), { description: "Tasks by name." }),
      jobs: map(ref("job"), { description: "Jobs by name." }),
      grid: {
        type: "array",
        items: ref("gridRow"),
        description: "The layout of the jobs on a page: rows of cells; null is an empty cell.",
      },
      drivingSessionRetries: {
        type: "array",
        items: ref("drivingSessionRetry"),
        minItems: 1,
        description: "Models to try in turn for a driving session; the first is models.driving.",
      },
      permissions: ref("permissions"),
      limits: ref("limits"),
    },
    ["models", "tasks", "jobs"],
  ),
  $defs: {
    prompt,
    model,
    permissions,
    limits,
    task,
    job,
    work,
    gridRow,
    drivingSessionRetry,
  },
};
