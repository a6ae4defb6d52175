/** The kinds of work that make up a job. Source of the rules: `docs/entry-format.md`. */
import type { SchemaType } from "../document/describe.ts";
import {
  choice,
  flag,
  listOf,
  means,
  named,
  object,
  positive,
  ref,
  text,
  textOf,
  whole,
} from "./schema-parts.ts";

/** Lines of a prompt, joined with LF. A plain string counts as one item. */
export type Prompt = string | readonly string[];

/** A model by its category (a key of `Entry.models`) or by its id. */
export type Model = { readonly category: string } | { readonly id: string };

export const namedModelSchema = {
  title: "Named model",
  description: "The id of a model, alone or with its limits.",
  type: ["string", "object"],
  minLength: 1,
  properties: {
    id: named("The id of a model, passed to the provider unchanged."),
    contextTokens: whole(
      "How many tokens fit into a request and its answer. Default: what the model server tells.",
    ),
    outputTokens: whole(
      "An answer is cut off at about so many tokens. Default: 8,192 with a model server of your own.",
    ),
  },
  required: ["id"],
  additionalProperties: false,
} as const;
export type NamedModel = SchemaType<typeof namedModelSchema>;
export type ModelLimits = Omit<Exclude<NamedModel, string>, "id">;

export function idOf(model: NamedModel): string {
  return typeof model === "string" ? model : model.id;
}

/** A tree of steps. `Work<number>` has a `workIdInJob` at its leaves (see `assignWorkId`). */
export type Work<Id extends number = never, Leaf extends LeafWork<Id> = LeafWork<Id>> =
  | Leaf
  | SequentialWork<Work<Id, Leaf>>
  | ParallelWork<Work<Id, Leaf>>
  | LoopWork<Work<Id, Leaf>>
  | AltWork<Work<Id, Leaf>>
  | EachWork<Work<Id, Leaf>>;

/** The form that authors write: the id of a task is a `Ref`, a list a `Seq`. */
export type WrittenWork =
  | string
  | readonly WrittenWork[]
  | LeafWork
  | SequentialWork<WrittenWork>
  | ParallelWork<WrittenWork>
  | LoopWork<WrittenWork>
  | AltWork<WrittenWork>
  | EachWork<WrittenWork>;

export type CompositeWork<Part> =
  SequentialWork<Part> | ParallelWork<Part> | LoopWork<Part> | AltWork<Part> | EachWork<Part>;

/** A leaf runs something; all other kinds only say when. */
export type LeafWork<Id extends number = never> = TaskWork<Id> | FlowWork<Id> | RunWork<Id>;

export type TaskWork<Id extends number = never> = {
  readonly kind: "Ref";
  readonly taskId: string;
  readonly modelOverride?: Model;
} & Numbered<Id>;

/** Runs a Markdown workflow. */
export type FlowWork<Id extends number = never> = {
  readonly kind: "Flow";
  /** Its file, relative to the entry. */
  readonly file: string;
  /** By name; with the variables of a prompt. */
  readonly params?: Readonly<Record<string, Prompt>>;
} & Numbered<Id>;

export const defaultCommandMinutes = 30;

export const commandFields = {
  run: {
    type: ["string", "array"],
    description:
      "The command. A string is run by bash, a list without a shell. Variables such as $AGENT_JOBS_ITEM come in the environment.",
    items: { type: "string" },
    minItems: 1,
    minLength: 1,
  },
  minutes: positive("The time limit of the command.", { default: defaultCommandMinutes }),
  name: { ...text, minLength: 1, description: "What it is called. Default: the command." },
  env: {
    type: "array",
    items: { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
    description:
      "Names of environment variables that it needs, such as NPM_TOKEN. Must be allowed with --env.",
  },
} as const;
const commandSchema = object(commandFields, ["run"]);
/** A command that the author wrote. The permissions of agents don't apply to it. */
export type Command = SchemaType<typeof commandSchema>;

/** Succeeds if its command exits with 0. No task: `previousTasks` passes over it. */
export type RunWork<Id extends number = never> = { readonly kind: "Run" } & Command & Numbered<Id>;

type Numbered<Id extends number> = [Id] extends [never]
  ? { readonly workIdInJob?: number }
  : { readonly workIdInJob: Id };

export interface SequentialWork<Part> {
  readonly kind: "Seq";
  readonly works: readonly Part[];
}

export interface ParallelWork<Part> {
  readonly kind: "Par";
  readonly works: readonly Part[];
  readonly onCrash?: OnCrash;
}

export const onCrashes = ["stop", "continue"] as const;
export type OnCrash = (typeof onCrashes)[number];

export interface LoopWork<Part> {
  readonly kind: "Loop";
  /** The body runs while the work's outcome equals the boolean. */
  readonly preCondition?: readonly [boolean, Part];
  readonly body: Part;
  /** The loop repeats while the work's outcome equals the boolean. Without it, only `atMost` repeats the loop. */
  readonly postCondition?: readonly [boolean, Part];
  /** The maximum number of passes. With it, an absent condition means to continue. */
  readonly atMost?: number;
  /** The outcome if a condition asks for another iteration after `atMost` iterations. Default: `fail`. */
  readonly atMostReached?: "fail" | "succeed";
}

export interface AltWork<Part> {
  readonly kind: "Alt";
  readonly condition: Part;
  readonly trueWork?: Part;
  readonly falseWork?: Part;
}

/** Runs its step once for each item. Fails if one of them failed, after all of them. */
export interface EachWork<Part> {
  readonly kind: "Each";
  readonly items: ItemSource;
  readonly work: Part;
  /** Default: one after the other. */
  readonly parallel?: boolean;
  /** More items are a failure before the first of them is run. Default: `defaultAtMostItems`. */
  readonly atMost?: number;
  /** Takes the first `atMost` items if there are more. Default: false. */
  readonly sample?: boolean;
  readonly onCrash?: OnCrash;
}

export const defaultAtMostItems = 50;

/** An item that is no text is its JSON. */
export type ItemSource =
  | { readonly values: readonly unknown[] }
  /** Tracked files. A glob that starts with `!` excludes. */
  | { readonly files: readonly string[] }
  /** Files of the change, but for deleted ones. */
  | { readonly changedFiles: readonly string[] }
  /** The lines of a text, with the variables of a prompt; without empty lines and list markers. */
  | { readonly lines: Prompt }
  /** The lines that a command prints. */
  | Command
  /** A list in the structured result of a task. `path`: a JSON pointer; default: the result itself. */
  | { readonly result: string; readonly path?: string };

function condition(description: string): object {
  const prefixItems = [{ type: "boolean" }, ref("work")];
  return { type: "array", description, prefixItems, minItems: 2, maxItems: 2 };
}

const works = { type: "array", items: ref("work"), minItems: 1 };
const workIdInJob = whole("Assigned by agent-jobs.", { minimum: 0 });

const onCrash = choice(
  onCrashes,
  "stop",
  "stop: a crash ends the job. continue: it is a failure of its part.",
);

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
    itemsOf("The lines that a command prints.", commandFields, ["run"]),
    itemsOf(
      "A list in the structured result of a task.",
      {
        result: means("task with a result", textOf("A key of tasks.")),
        path: { ...text, pattern: "^(/.*)?$" },
      },
      ["result"],
    ),
  ],
};

/** A kind without a row doesn't compile. */
export const kindsOfWork: Readonly<
  Record<
    Work["kind"],
    readonly [description: string, properties: object, required: string[], more?: object]
  >
> = {
  Ref: [
    "Runs a task.",
    {
      taskId: means("task", textOf("A key of tasks.")),
      modelOverride: ref("model", "The model to use in place of the task's."),
      workIdInJob,
    },
    ["taskId"],
  ],
  Flow: [
    "Runs a Markdown workflow.",
    {
      file: means("name of a work", named("The workflow, relative to this file.")),
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
    { ...commandFields, workIdInJob },
    ["run"],
  ],
  Seq: ["One after the other; stops at the first that fails.", { works }, ["works"]],
  Par: ["All at once; fails if one of them fails.", { works, onCrash }, ["works"]],
  Loop: [
    "Repeats its body. Without postCondition and atMost, the body runs once.",
    {
      preCondition: condition(
        "[outcome, step]: checked before the body. If the step has the outcome, the body runs; otherwise the loop succeeds.",
      ),
      body: ref("work"),
      postCondition: condition(
        "[outcome, step]: checked after the body. If the step has the outcome, the loop starts over; otherwise it succeeds.",
      ),
      atMost: whole(
        "Maximum number of times that the body runs. With it, an absent condition asks for another iteration. If a condition still asks for another iteration, the loop fails.",
      ),
      atMostReached: choice(
        ["fail", "succeed"],
        "fail",
        "How the loop ends if a condition still asks for another iteration after atMost iterations.",
      ),
    },
    ["body"],
    { dependentRequired: { atMostReached: ["atMost"] } },
  ],
  Alt: [
    "Runs one of two steps, depending on the outcome of a condition.",
    { condition: ref("work"), trueWork: ref("work"), falseWork: ref("work") },
    ["condition"],
  ],
  Each: [
    "Runs its step once for each item, with $item and $item-index in its prompts. Fails if one of them fails, after all of them.",
    {
      items,
      work: ref("work"),
      parallel: flag("Whether the items run at the same time.", false),
      atMost: whole("Maximum number of items. With more, the step fails before it runs any.", {
        default: defaultAtMostItems,
      }),
      sample: flag("If there are more than atMost items, take the first atMost of them.", false),
      onCrash,
    },
    ["items", "work"],
  ],
};

const kinds = {
  type: "object",
  required: ["kind"],
  discriminator: { propertyName: "kind" },
  oneOf: Object.entries(kindsOfWork).map(([kind, [description, properties, required, more]]) =>
    means(
      "work",
      object({ kind: { const: kind }, ...properties }, ["kind", ...required], {
        title: kind,
        description,
        ...more,
      }),
    ),
  ),
};

export const workSchema = {
  title: "Work",
  oneOf: [
    means("work of a task", named("A key of tasks, for a Ref to it.")),
    { ...works, description: "A Seq of these steps." },
    kinds,
  ],
};
