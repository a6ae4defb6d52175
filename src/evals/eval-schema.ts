import type { SchemaType } from "../document/describe.ts";
import {
  list,
  map,
  name,
  named,
  object,
  positive,
  text,
  textOf,
  whole,
} from "../entry/schema-parts.ts";
import { rehearsalSchema } from "../rehearsal/format/rehearsal-schema.ts";

const ofRehearsal = rehearsalSchema.properties;

const minPassRate = (of: string) =>
  ({
    type: "number",
    minimum: 0,
    maximum: 1,
    description: `The lowest pass rate of ${of}, for each variant and each set of models. Below it, the eval fails.`,
  }) as const;

/** The most runs of each case. All runs of an eval are listed in memory. */
export const MAX_RUNS = 10_000;

const judge = object(
  {
    task: named(
      "A task of the entry. It succeeds if its criteria hold, for example a condition that asks for job_boolean_true or job_boolean_false.",
    ),
    command: named("A command for bash. It succeeds if it exits with 0."),
  },
  [],
  {
    description:
      "Judges a run after its job has succeeded, in the same folder: a task of the entry or a command. The run passes if it succeeds.",
    minProperties: 1,
    maxProperties: 1,
  },
);
export type Judge = SchemaType<typeof judge>;

const rehearsal = object(
  {
    variant: named("Only for runs of this variant. It wins over rehearsals without one."),
    model: named("Only for runs of these models. It wins over rehearsals without one."),
    sessions: ofRehearsal.sessions,
  },
  ["sessions"],
  {
    description:
      "A script that plays the models. Of several for the same variant and model, the runs take turns.",
  },
);

const evalCase = object(
  {
    name: named("The name of the case. The baseline knows it by this name."),
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
    rehearsals: list(
      rehearsal,
      "Scripts that play the models, to try the eval offline. Default: models answer.",
      { minItems: 1 },
    ),
  },
  ["name"],
  { description: "What a run begins with, and what is expected of it." },
);
export type CaseFields = SchemaType<typeof evalCase>;

const variant = object(
  {
    entry: textOf("Another entry file, relative to this file."),
    inputs: map(text, {
      description: "Inputs of the entry, by name. They override those of the cases.",
    }),
  },
  [],
);

export const evalSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "agent-jobs eval",
  description: "Cases that a job is measured with: how often each passes, what it costs and takes.",
  $defs: rehearsalSchema.$defs,
  ...object(
    {
      $schema: textOf("The schema of this file, for editors."),
      description: textOf("What this eval measures. Printed with its result."),
      entry: ofRehearsal.entry,
      job: ofRehearsal.job,
      runs: {
        ...whole("How often each case runs, for each variant and each set of models. Default: 5."),
        maximum: MAX_RUNS,
      },
      parallel: whole("How many runs at once. Default: the number of cores."),
      models: map(map(name, {}), {
        description:
          "Sets of models to compare, by name: model ids by category. Default: the entry's.",
        minProperties: 1,
      }),
      variants: map(variant, {
        description: "Variants of the prompts to compare, by name. Default: the entry as it is.",
        minProperties: 1,
      }),
      permissions: ofRehearsal.permissions,
      limits: ofRehearsal.limits,
      budget: object(
        {
          tokens: positive("Input and output tokens."),
          cost: positive("Cost in AI credits (0.01 USD each)."),
          minutes: positive("Time, in minutes."),
        },
        [],
        {
          description:
            "Bounds of the whole eval, including what earlier processes spent on it. A turn starts only if the largest one so far would fit.",
          minProperties: 1,
        },
      ),
      judge,
      minPassRate: minPassRate("all cases together"),
      cases: list(evalCase, "The cases.", { minItems: 1 }),
    },
    ["entry", "cases"],
  ),
} as const;
export type EvalFile = SchemaType<typeof evalSchema>;
