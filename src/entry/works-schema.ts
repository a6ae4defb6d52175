/** The JSON Schema of works: the kinds, commands, and sources of items. */
import { defaultAtMostItems, defaultCommandMinutes, onCrashes, type Work } from "./model.ts";
import { listOf, means, object, ref, text } from "./schema-parts.ts";

export const command = {
  run: {
    type: ["string", "array"],
    description:
      "The command. A string is run by bash, a list without a shell. Variables such as $AGENT_JOBS_ITEM come in the environment.",
    items: { type: "string" },
    minItems: 1,
    minLength: 1,
  },
  minutes: {
    type: "number",
    exclusiveMinimum: 0,
    default: defaultCommandMinutes,
    description: "The time limit of the command.",
  },
  name: { ...text, minLength: 1, description: "What it is called. Default: the command." },
  env: {
    type: "array",
    items: { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
    description:
      "Names of environment variables that it needs, such as NPM_TOKEN. Must be allowed with --env.",
  },
};

function condition(description: string): object {
  const prefixItems = [{ type: "boolean" }, ref("work")];
  return { type: "array", description, prefixItems, minItems: 2, maxItems: 2 };
}

const works = { type: "array", items: ref("work"), minItems: 1 };
const workIdInJob = { type: "integer", minimum: 0, description: "Assigned by agent-jobs." };

const onCrash = {
  enum: onCrashes,
  default: "stop",
  description: "stop: a crash ends the job. continue: it is a failure of its part.",
};

function itemsOf(description: string, properties: object, required: string[]): object {
  return object(properties, required, { description });
}

const items = {
  description: "Where the items come from.",
  type: "object",
  oneOf: [
    itemsOf("Values, as they are.", { values: { type: "array" } }, ["values"]),
    itemsOf("Tracked files.", { files: { ...listOf("glob"), minItems: 1 } }, ["files"]),
    itemsOf(
      "Files of the change, but for deleted ones.",
      { changedFiles: { ...listOf("glob"), minItems: 1 } },
      ["changedFiles"],
    ),
    itemsOf(
      "The lines of a text, such as $report-of-TASK.",
      { lines: means("prompt of a work", ref("prompt")) },
      ["lines"],
    ),
    itemsOf("The lines that a command prints.", command, ["run"]),
    itemsOf(
      "A list in the structured result of a task.",
      {
        result: { ...means("task with a result", text), description: "A key of tasks." },
        path: { ...text, pattern: "^(/.*)?$" },
      },
      ["result"],
    ),
  ],
};

/** A kind without a row doesn't compile. */
const kinds: Readonly<
  Record<
    Work["kind"],
    readonly [description: string, properties: object, required: string[], more?: object]
  >
> = {
  Ref: [
    "Runs a task.",
    {
      taskId: { ...means("task", text), description: "A key of tasks." },
      modelOverride: ref("model", "The model to use in place of the task's."),
      workIdInJob,
    },
    ["taskId"],
    means("Ref", {}),
  ],
  Flow: [
    "Runs a Markdown workflow.",
    {
      file: { ...means("name of a work"), description: "The workflow, relative to this file." },
      params: {
        type: "object",
        description: "The parameters of the workflow, by name.",
        additionalProperties: means("prompt of a work", ref("prompt")),
      },
      workIdInJob,
    },
    ["file"],
  ],
  Run: [
    "Runs a command, and succeeds if it exits with 0.",
    { ...command, workIdInJob },
    ["run"],
    means("Run", {}),
  ],
  Seq: ["One after the other; stops at the first that fails.", { works }, ["works"]],
  Par: ["All at once; fails if one of them fails.", { works, onCrash }, ["works"]],
  Loop: [
    "Repeats its body. Without postCondition and atMost, the body runs once.",
    {
      preCondition: condition(
        "[outcome, work]: checked before the body. If the work has the outcome, the body runs; otherwise the loop succeeds.",
      ),
      body: ref("work"),
      postCondition: condition(
        "[outcome, work]: checked after the body. If the work has the outcome, the loop starts over; otherwise it succeeds.",
      ),
      atMost: {
        type: "integer",
        minimum: 1,
        description:
          "Maximum number of times that the body runs. With it, an absent condition asks for another iteration. If a condition still asks for another iteration, the loop fails.",
      },
      atMostReached: {
        enum: ["fail", "succeed"],
        default: "fail",
        description:
          "How the loop ends if a condition still asks for another iteration after atMost iterations.",
      },
    },
    ["body"],
    { dependentRequired: { atMostReached: ["atMost"] } },
  ],
  Alt: [
    "Runs one of two works, depending on the outcome of a condition.",
    { condition: ref("work"), trueWork: ref("work"), falseWork: ref("work") },
    ["condition"],
  ],
  Each: [
    "Runs its work once for each item, with $item and $item-index in its prompts. Fails if one of them fails, after all of them.",
    {
      items,
      work: ref("work"),
      parallel: {
        type: "boolean",
        default: false,
        description: "Whether the items run at the same time.",
      },
      atMost: {
        type: "integer",
        minimum: 1,
        default: defaultAtMostItems,
        description: "Maximum number of items. More are a failure before the first of them is run.",
      },
      sample: {
        type: "boolean",
        default: false,
        description: "If there are more than atMost items, take the first atMost of them.",
      },
      onCrash,
    },
    ["items", "work"],
  ],
};

export const work = {
  title: "Work",
  type: "object",
  required: ["kind"],
  discriminator: { propertyName: "kind" },
  oneOf: Object.entries(kinds).map(([kind, [description, properties, required, more]]) =>
    object({ kind: { const: kind }, ...properties }, ["kind", ...required], {
      title: kind,
      description,
      ...more,
    }),
  ),
};
