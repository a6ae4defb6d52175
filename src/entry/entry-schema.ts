/** The JSON Schema of an entry file. Checks that compare two places of the file are in `check-entry.ts`. */
import type { SchemaType } from "../document/describe.ts";
import { limitProperties, pricesSchema } from "./limits.ts";
import { availableTools, permissionsSchema, type Permissions } from "./permissions.ts";
import {
  choice,
  flag,
  list,
  listOf,
  map,
  means,
  name,
  named,
  object,
  ref,
  text,
  textOf,
  texts,
  whole,
} from "./schema-parts.ts";
import { commandFields, namedModelSchema, workSchema, type Model, type Prompt } from "./works.ts";
import { outputsSchema } from "./outputs.ts";
import {
  declarations,
  mcpServerSchema,
  monumentSchema,
  providerSchema,
  relicSchema,
  toolName,
  toolSchema,
} from "./tool-declarations.ts";

const promptFile = {
  properties: {
    file: named("A text file, relative to this one, such as prompts/review.md."),
  },
  required: ["file"],
  additionalProperties: false,
};

const prompt = means("prompt", {
  title: "Prompt",
  description:
    "A text, the file of a text, or a list of them that is joined with line breaks. $name inserts a prompt variable, or a runtime variable such as $user-input. $$ is a literal $.",
  type: ["string", "array", "object"],
  items: { type: ["string", "object"], ...promptFile },
  minItems: 1,
  ...promptFile,
});

const model = {
  title: "Model",
  description: "A model, either by category (a key of models) or by id.",
  type: "object",
  properties: {
    category: means("category", named("A key of models.")),
    id: named("The id of a model, passed to the provider unchanged."),
  },
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  examples: [{ category: "driving" }, { id: "gpt-5" }],
};

const system = object(
  {
    prompt: ref<Prompt>("prompt", "Instructions for all sessions of a task."),
    mode: choice(
      ["replace", "append"],
      "append",
      "append: after the system prompt of the Copilot runtime. replace: in its place, its rules of safety included.",
    ),
  },
  ["prompt"],
  { title: "System prompt" },
);

const limits = object(limitProperties, [], {
  title: "Limits",
  description: "Limits of a run. The report of an exceeded limit names the limit.",
});

const availability = object(
  {
    change: {
      description:
        "true: there must be a changed file. Globs: one must match, relative to the root of the repository; a leading ! excludes. Otherwise the task is skipped, which is no failure.",
      oneOf: [{ const: true }, { ...listOf("glob"), minItems: 1 }],
    },
    previousTasks: listOf("task", "The task that ran before must be one of these."),
    condition: means(
      "condition",
      ref<Prompt>(
        "prompt",
        "Sent before the prompt. Must mention job_boolean_true or job_boolean_false.",
      ),
    ),
  },
  [],
  { description: "When the task may run. All fields must hold." },
);

const criteria = object(
  {
    toolExecuted: list(
      { ...means("tool of a task"), examples: availableTools },
      "Tools that must have been called: job tools, tools of this entry, or `server/tool`. In the last turn; with `protocol`, in any turn since the last retry.",
    ),
    condition: means(
      "condition",
      ref<Prompt>(
        "prompt",
        "Sent after the prompt. Must mention job_boolean_true or job_boolean_false.",
      ),
    ),
    changed: listOf(
      "glob inside",
      "At least one of these files must differ from the start of the task. Globs, relative to the working directory; a leading ! excludes.",
      { minItems: 1 },
    ),
    commands: list(
      object(commandFields, ["run"]),
      "Commands that must exit with 0. Run after toolExecuted and before the condition; a retry is told what they printed.",
      { minItems: 1 },
    ),
    result: means("parameters", {
      type: "object",
      description:
        "JSON Schema of an object. The task is offered job_result, and must call it with arguments that fit.",
    }),
    runConditionInSameSession: flag(
      "false: conditions are checked in sessions of their own, with the driving model.",
      true,
    ),
    failureAction: object(
      {
        retryTimes: whole("Maximum number of retries if the criteria don't hold.", { minimum: 0 }),
        additionalPrompt: ref<Prompt>("prompt", "Added to the prompt of a retry."),
      },
      ["retryTimes"],
      { description: "Default: no retry." },
    ),
  },
  [],
  { description: "When the task has succeeded. All fields must hold." },
);

const instructions = {
  ...listOf(
    "file of the repository",
    "Files of the repository with instructions for agents, such as AGENTS.md. Read from the base of the change, never from its head. A name without a folder also means the files of that name in the folders that the change touches.",
  ),
  maxItems: 20,
} as const;

const task = object(
  {
    model: ref<Model>("model", "Without it, every Ref to this task needs a modelOverride."),
    prompt: means("prompt of a task", ref<Prompt>("prompt", "What the agent is asked to do.")),
    requireUserInput: flag("Must be true if and only if the prompt uses $user-input.", false),
    availability,
    criteria,
    system: ref<SystemPrompt>("system", "Replaces the system prompt of the entry."),
    instructions: { ...instructions, description: "Replaces the instructions of the entry." },
    permissions: ref<Permissions>("permissions", "Replaces the permissions of the entry."),
    protocol: {
      const: "actions",
      description: "The model answers with documents of the action protocol.",
    } as const,
    iterations: whole("With protocol: maximum number of documents in one round of the task.", {
      maximum: 1000,
      default: 20,
    }),
    preThinking: {
      description:
        "With protocol: maximum number of documents before the first, in which actions only read.",
      default: false,
      oneOf: [
        { const: false },
        object({ iterations: { type: "integer", minimum: 1, maximum: 100 } }, ["iterations"]),
      ],
    } as const,
    relics: listOf("relic", "With protocol: the relics of the task. Default: all."),
    monuments: listOf("monument", "With protocol: the monuments of the task. Default: all."),
  },
  ["prompt"],
  {
    title: "Task",
    dependentRequired: {
      iterations: ["protocol"],
      relics: ["protocol"],
      monuments: ["protocol"],
    },
    // `preThinking: false` is the default, also without the protocol.
    if: { properties: { preThinking: { const: false } }, additionalProperties: true },
    else: { dependentRequired: { preThinking: ["protocol"] } },
  },
);

const memory = object(
  {
    file: named("A Markdown file, relative to the working directory."),
    max: whole("In bytes. The oldest notes go when there are more.", {
      minimum: 100,
      maximum: 100_000,
      default: 20_000,
    }),
  },
  ["file"],
  { description: "Notes for later runs: tasks read $memory, and add to it with job_remember." },
);

const job = object(
  {
    requireUserInput: {
      type: "boolean",
      description: "Whether a task of the job requires user input. Computed if absent.",
    },
    work: ref("work"),
    outputs: ref("outputs"),
    memory,
  },
  ["work"],
  { title: "Job" },
);

const input = object(
  {
    description: textOf("For people."),
    required: { type: "boolean", default: false },
    default: textOf("The value if none is given."),
    options: { ...texts, description: "The only values that are allowed." },
  },
  ["description"],
  { title: "Input" },
);

const gridRow = object(
  {
    keyword: text,
    jobs: {
      type: "array",
      items: {
        ...object({ name: text, jobName: means("job", textOf("A key of jobs.")) }, [
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

/** A prompt, when it may run, and what must hold after it. */
export interface Task extends SchemaType<typeof task> {}
/** When the task may run. */
export type Availability = SchemaType<typeof availability>;
/** When the task has succeeded. */
export type Criteria = SchemaType<typeof criteria>;
/** Instructions beside the system prompt of the Copilot runtime, or in its place. */
export type SystemPrompt = SchemaType<typeof system>;
/** A Markdown list that tasks read as `$memory`, and add to with `job_remember`. */
export type Memory = SchemaType<typeof memory>;
/** A value that a run gets with `--input NAME=VALUE`. */
export type Input = SchemaType<typeof input>;
/** A prepared entry has null for an empty cell. */
export type GridRow = SchemaType<typeof gridRow>;
export type DrivingSessionRetry = SchemaType<typeof drivingSessionRetry>;

export const entrySchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "agent-jobs entry",
  ...object(
    {
      $schema: textOf("For editors. Ignored."),
      models: {
        ...map(ref("namedModel"), { title: "Models", description: "Models by category." }),
        properties: { driving: ref("namedModel", "Checks conditions.") },
        required: ["driving"],
        examples: [
          { driving: "gpt-5-mini", planning: "gpt-5" },
          { driving: { id: "qwen3", contextTokens: 32_768, outputTokens: 4_096 } },
        ],
      },
      promptVariables: map(means("variable", ref<Prompt>("prompt")), {
        description: "Texts that prompts insert with $name. They may use each other.",
      }),
      inputs: {
        ...map(ref("input"), { description: "What a run can be given, by name: $input-NAME." }),
        propertyNames: { pattern: "^[A-Za-z][A-Za-z0-9]*(-[A-Za-z][A-Za-z0-9]*)*$" },
      },
      outputs: ref("outputs"),
      tasks: map(ref("task"), { description: "Tasks by name." }),
      jobs: map(ref("job"), { description: "Jobs by name." }),
      grid: list(
        ref("gridRow"),
        "The layout of the jobs on a page: rows of cells. null is an empty cell.",
      ),
      drivingSessionRetries: list(
        ref("drivingSessionRetry"),
        "Models for driving sessions, in the order in which they are tried. The first is models.driving.",
        { minItems: 1 },
      ),
      system: ref("system", "For every task without one of its own."),
      instructions,
      permissions: ref("permissions"),
      limits: ref("limits"),
      prices: pricesSchema,
      provider: ref("provider"),
      tools: declarations("tool", toolName, "Commands and modules that agents may call, by name."),
      mcpServers: declarations("mcpServer", toolName, "MCP servers by name."),
      relics: declarations("relic", toolName, "Knowledge for tasks with protocol, by name."),
      monuments: declarations("monument", toolName, "Bundles of tools and relics, by name."),
    },
    ["models", "tasks", "jobs"],
  ),
  $defs: {
    outputs: outputsSchema,
    provider: providerSchema,
    tool: toolSchema,
    mcpServer: mcpServerSchema,
    relic: relicSchema,
    monument: monumentSchema,
    prompt,
    model,
    namedModel: namedModelSchema,
    system,
    permissions: permissionsSchema,
    limits,
    input,
    task,
    job,
    work: workSchema,
    gridRow,
    drivingSessionRetry,
  },
};
