import type { SchemaType } from "../document/describe.ts";
import { rehearsalSchema } from "../rehearsal/format/rehearsal-schema.ts";
import { filled, map, text, whole } from "../rehearsal/format/fields.ts";

const ofRehearsal = rehearsalSchema.properties;

const name = (description: string) => ({ type: "string", minLength: 1, description }) as const;
const budgetOf = (description: string) =>
  ({ type: "number", exclusiveMinimum: 0, description }) as const;

const minPassRate = (of: string) =>
  ({
    type: "number",
    minimum: 0,
    maximum: 1,
    description: `The lowest pass rate of ${of}, for each variant and each set of models. Below it, the eval fails.`,
  }) as const;

/** The most runs of each case. All runs of an eval are listed in memory. */
export const MAX_RUNS = 10_000;

const judge = {
  type: "object",
  description:
    "Judges a run after its job has succeeded, in the same folder: a task of the entry or a command. The run passes if it succeeds.",
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  properties: {
    task: name(
      "A task of the entry. It succeeds if its criteria hold, for example a condition that asks for job_boolean_true or job_boolean_false.",
    ),
    command: name("A command for bash. It succeeds if it exits with 0."),
  },
} as const;

const rehearsal = {
  type: "object",
  description:
    "A script that plays the models. Of several for the same variant and model, the runs take turns.",
  additionalProperties: false,
  required: ["sessions"],
  properties: {
    variant: name("Only for runs of this variant. It wins over rehearsals without one."),
    model: name("Only for runs of these models. It wins over rehearsals without one."),
    sessions: ofRehearsal.sessions,
  },
} as const;

const evalCase = {
  type: "object",
  description: "What a run begins with, and what is expected of it.",
  additionalProperties: false,
  required: ["name"],
  properties: {
    name: name("The name of the case. The baseline knows it by this name."),
    userInput: ofRehearsal.userInput,
    inputs: ofRehearsal.inputs,
    params: ofRehearsal.params,
    answers: ofRehearsal.answers,
    workingDirectory: ofRehearsal.workingDirectory,
    workspace: ofRehearsal.workspace,
    change: ofRehearsal.change,
    judge,
    minPassRate: minPassRate("this case"),
    expect: ofRehearsal.expect,
    rehearsals: filled(
      "Scripts that play the models, to try the eval offline. Default: models answer.",
      rehearsal,
    ),
  },
} as const;

export type EvalFile = SchemaType<typeof evalSchema>;
export type CaseFields = SchemaType<typeof evalCase>;
export type Judge = SchemaType<typeof judge>;

export const evalSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "agent-jobs eval",
  description: "Cases that a job is measured with: how often each passes, what it costs and takes.",
  $defs: rehearsalSchema.$defs,
  type: "object",
  additionalProperties: false,
  required: ["entry", "cases"],
  properties: {
    $schema: text("The schema of this file, for editors."),
    description: text("What this eval measures. Printed with its result."),
    entry: ofRehearsal.entry,
    job: ofRehearsal.job,
    runs: {
      ...whole(1, "How often each case runs, for each variant and each set of models. Default: 5."),
      maximum: MAX_RUNS,
    },
    parallel: whole(1, "How many runs at once. Default: the number of cores."),
    models: {
      type: "object",
      description:
        "Sets of models to compare, by name: model ids by category. Default: the entry's.",
      minProperties: 1,
      additionalProperties: {
        type: "object",
        additionalProperties: { type: "string", minLength: 1 },
      },
    },
    variants: {
      type: "object",
      description: "Variants of the prompts to compare, by name. Default: the entry as it is.",
      minProperties: 1,
      additionalProperties: {
        type: "object",
        additionalProperties: false,
        properties: {
          entry: text("Another entry file, relative to this file."),
          inputs: map("Inputs of the entry, by name. They override those of the cases.", {
            type: "string",
          }),
        },
      },
    },
    permissions: ofRehearsal.permissions,
    limits: ofRehearsal.limits,
    budget: {
      type: "object",
      description:
        "Bounds of the whole eval, including what earlier processes spent on it. A turn starts only if the largest one so far would fit.",
      additionalProperties: false,
      minProperties: 1,
      properties: {
        tokens: budgetOf("Input and output tokens."),
        cost: budgetOf("Cost in AI credits (0.01 USD each)."),
        minutes: budgetOf("Time, in minutes."),
      },
    },
    judge,
    minPassRate: minPassRate("all cases together"),
    cases: filled("The cases.", evalCase),
  },
} as const;
