/** `expect` of a rehearsal. */
import {
  type Described,
  type Fields,
  type Optional,
  type SchemaType,
  isOptional,
  wordsOf,
} from "../../document/describe.ts";
import type { Path } from "../../document/diagnostic.ts";
import { meaning } from "../../document/schema-check.ts";
import { proposalKinds, severities, verdicts } from "../../entry/outputs.ts";
import { list, map, name, named, object, text, textOf, whole } from "../../entry/schema-parts.ts";
import { endedStatus } from "../../events/action.ts";
import { decisionFields } from "../../events/decision.ts";

/** Values that are checked after the schema. The last two are tables with these names as keys. */
export type Meaning = "expression" | "task" | "activity" | "names of tasks" | "names of asks";

export function means<const S extends object>(schema: S, what: Meaning): S {
  return { ...schema, [meaning]: what };
}

const texts = (description: string) =>
  ({ type: ["string", "array"], description, minLength: 1, minItems: 1, items: name }) as const;

export const condition = (description: string) =>
  ({
    type: ["string", "object"],
    description: `${description} A plain string is short for "contains".`,
    minLength: 1,
    minProperties: 1,
    additionalProperties: false,
    properties: {
      contains: texts("What the text must contain: one string or several."),
      excludes: texts("What the text must not contain: one string or several."),
      equals: textOf("The whole text, apart from white space at its end."),
      matches: means(
        textOf("A JavaScript regular expression that must match somewhere in the text."),
        "expression",
      ),
    },
  }) as const;
export type Condition = SchemaType<ReturnType<typeof condition>>;

/** Needs a schema that has `condition` as `$defs.text`. */
const conditionRef = (description: string): Described<Condition> => ({
  $ref: "#/$defs/text",
  description,
});

const results = ["succeeded", "failed", "canceled", "skipped"] as const;
const outcomes = ["succeeded", "failed", "crashed", "canceled"] as const;
export type RunResult = (typeof results)[number];
export type WorkResult = (typeof outcomes)[number];

const taskOf = (description: string) => means(textOf(description), "task");

const finding = object(
  {
    path: textOf("Its file."),
    line: whole("Its first line."),
    endLine: whole("Its last line."),
    severity: { enum: severities, description: "How bad it is." },
    rule: textOf("Its rule."),
    sameAs: textOf("The id of the earlier finding that it repeats."),
    task: taskOf("The task that reported it."),
    title: conditionRef("Its title."),
    message: conditionRef("Its message."),
    suggestion: conditionRef("The replacement for the lines."),
  },
  [],
  { description: "A finding. All fields that are given must match.", minProperties: 1 },
);

const id = textOf("The id of an earlier finding.");
const resolved = object({ finding: id, reason: conditionRef("Why it is resolved.") }, ["finding"]);
const reply = object({ finding: id, message: conditionRef("What it says.") }, ["finding"]);

const proposal = object(
  {
    kind: { enum: proposalKinds, description: "What is proposed." },
    task: taskOf("The task that proposes it."),
    labels: list(text, "All of its labels."),
    reviewers: list(text, "All of its reviewers."),
    files: list(text, "The paths of all files that its pull request or commit changes."),
    branch: textOf("The end of the name of its branch."),
    title: conditionRef("Its title."),
    body: conditionRef("Its body."),
    reason: conditionRef("Its reason."),
  },
  ["kind"],
  { description: "A proposal. All fields that are given must match." },
);

const byTask = <const V extends object>(values: V, description: string) =>
  means(map(values, { description }), "names of tasks");

const outputs = {
  verdict: {
    enum: [...verdicts, "none"],
    description: "The verdict of the job. none: no task gave one.",
  },
  findings: list(
    finding,
    "The findings of the job, in any order. A further one fails the rehearsal.",
  ),
  dismissed: list(
    finding,
    "The findings that were reported again although a person had closed their thread. A further one fails the rehearsal.",
  ),
  resolved: list(
    resolved,
    "The earlier findings that the job has resolved. A further one fails the rehearsal.",
  ),
  replies: list(reply, "The answers of the job to replies. A further one fails the rehearsal."),
  proposals: list(
    proposal,
    "The proposals of the job, in any order. A further one fails the rehearsal.",
  ),
  reports: byTask(
    condition("The report."),
    "By task: its last report. In an Each, those of all items, one after another.",
  ),
  results: byTask(
    {},
    "By task: its result, which must be the same. In an Each, a list of { item, result }.",
  ),
} as const;

const outputsSchema = { type: "object", properties: outputs } as const;
export type OutputFields = SchemaType<typeof outputsSchema>;
export type ExpectedOutput =
  | SchemaType<typeof finding>
  | SchemaType<typeof proposal>
  | SchemaType<typeof resolved>
  | SchemaType<typeof reply>;
export type ExpectedFinding = SchemaType<typeof finding>;
export type ExpectedProposal = SchemaType<typeof proposal>;

const work = object(
  {
    task: textOf("The task of the step. A step needs this field, `name` or `workId`."),
    name: taskOf("The name of a `Run`, or its command."),
    workId: whole("The id of the step, where the task occurs more than once in the job.", {
      minimum: 0,
    }),
    model: textOf("The model id of the step."),
    outcome: {
      description:
        'The outcome of the last iteration, or a list of the outcomes of all iterations. "skipped": the step never ran, also because the change had nothing for it.',
      anyOf: [
        { type: "string", enum: [...outcomes, "skipped"] },
        { type: "array", minItems: 1, items: { type: "string", enum: outcomes } },
      ],
    } as const,
    runs: whole("The number of iterations."),
    attempts: whole(
      "How often the prompt was sent, over all iterations, including retries and attempts after a crash. With `protocol: actions`: the number of all prompts.",
    ),
    retries: whole("The number of retries, over all iterations.", { minimum: 0 }),
    crashes: whole("The number of crashes, over all iterations.", { minimum: 0 }),
    rejected: whole(
      "With `protocol: actions`: the number of rejected documents, over all iterations.",
      { minimum: 0 },
    ),
  },
  ["outcome"],
  {
    description: "A step of the job, and how it must have ended.",
    anyOf: [{ required: ["task"] }, { required: ["name"] }, { required: ["workId"] }],
  },
);
export type WorkFields = SchemaType<typeof work>;

/** Matches a decision by its kind and the fields of that kind, or without a kind by its text. */
export interface DecisionFields {
  readonly kind?: string;
  readonly task?: string;
  readonly workId?: number;
  readonly iteration?: number;
  readonly contains?: string | readonly string[];
  readonly excludes?: string | readonly string[];
  readonly equals?: string;
  readonly matches?: string;
  readonly [field: string]: Condition | readonly string[] | number | undefined;
}

const asText = condition("A text that is met.");

const decision: Described<DecisionFields> = {
  description:
    'A decision by its kind and fields; or a condition for its printed form, `[CATEGORY] text`, which may change with any version. A plain string is short for "contains".',
  anyOf: [
    {
      type: "object",
      required: ["kind"],
      discriminator: { propertyName: "kind" },
      oneOf: Object.entries(decisionFields).map(([kind, fields]) => fieldsOfKind(kind, fields)),
    },
    asText,
  ],
};

function fieldsOfKind(kind: string, fields: Fields): object {
  const own = Object.entries(fields).map(([name, field]) => {
    const words = wordsOf(field);
    if (words.length > 0) return [name, { type: "string", enum: words }];
    return [name, isNumeric(field) ? { type: "number" } : conditionRef("A text of the decision.")];
  });
  const ofWork = {
    task: taskOf("The task that it is about."),
    workId: whole("The work that it is about.", { minimum: 0 }),
    iteration: whole("The iteration of that step, in a loop."),
  };
  return object({ kind: { const: kind }, ...Object.fromEntries(own), ...ofWork }, ["kind"]);
}

export function isTextOfDecision(kind: string, name: string): boolean {
  const field = decisionFields[kind]?.[name];
  return field !== undefined && !isNumeric(field) && wordsOf(field).length === 0;
}

function isNumeric(field: Described<unknown> | Optional<unknown>): boolean {
  const { type } = isOptional(field) ? field.optional : field;
  return type === "number" || type === "integer";
}

const action = object(
  {
    id: named("Its id: `action_id`, or `i<document>-<n>` if it has none."),
    action: named(
      "The name of the tool, the internal function, the relic, or the label of a group.",
    ),
    status: { enum: endedStatus.enum, description: "How it ended." },
    params: conditionRef("The params as JSON, after references were replaced. Long ones are cut."),
    output: conditionRef("The result of an action that succeeded. A long one is cut."),
    reason: conditionRef("Why it did not succeed."),
    document: whole("The number of its document, of those that were accepted."),
    task: means(named("Its task."), "task"),
    workId: whole("The work of its task.", { minimum: 0 }),
    iteration: whole("The iteration of that step, in a loop."),
  },
  [],
  {
    description:
      "An action of the action protocol, when it has ended. All fields that are given must match.",
    minProperties: 1,
  },
);
export type ActionFields = SchemaType<typeof action>;

function lists<Item>(item: string, description: string) {
  const items: Described<Item> = { $ref: `#/$defs/${item}` };
  const some = { minItems: 1 };
  return {
    type: ["object", "array"],
    description: `${description} A list is short for "include".`,
    minItems: 1,
    items,
    additionalProperties: false,
    properties: {
      include: list(items, "Each of these must occur, in any order.", some),
      sequence: list(
        items,
        "These must occur in this order, possibly with others in between.",
        some,
      ),
      exclude: list(items, "None of these may occur.", some),
    },
  } as const;
}
/** Items in any order, in this order, or none of these. */
export type Lists<Item> = SchemaType<ReturnType<typeof lists<Item>>>;

/** For the references above. */
export const definitions = { text: asText, decision, action };

export const expectSchema = object(
  {
    result: { enum: results, description: "How the job must end. Default: succeeded." },
    reason: condition("The reason of the failure or cancellation."),
    works: list(
      work,
      "The steps that ran, and how they ended. The rehearsal fails if a step ran that is not in the list.",
    ),
    path: list(
      means(name, "activity"),
      "The activities of the workflow in the order in which they begin, ID or FILE#ID, including those of called files. Of the last iteration. The job must have one workflow.",
      { minItems: 1 },
    ),
    report: condition("RESULT at the end of the workflow. The job must have one workflow."),
    decisions: lists<string | DecisionFields>("decision", "Decisions of the run."),
    actions: lists<ActionFields>(
      "action",
      "Actions of the action protocol, in the order in which they end.",
    ),
    ...outputs,
  },
  [],
  { description: "The expectations. Default: the job succeeds." },
);
export type ExpectFields = SchemaType<typeof expectSchema>;

export type Report = (path: Path, reason: string, hint?: string) => void;

export interface Listed<Item> {
  readonly list: "include" | "sequence" | "exclude";
  readonly item: Item;
  readonly path: Path;
}

/** All items of `expect.decisions` or `expect.actions`. */
export function itemsOf<Item>(name: string, lists: Lists<Item> = {}): Listed<Item>[] {
  const at = (items: readonly Item[] = [], list: Listed<Item>["list"], ...below: Path) =>
    items.map((item, index) => ({ list, item, path: ["expect", name, ...below, index] }));
  if (!("include" in lists || "sequence" in lists || "exclude" in lists)) {
    return "length" in lists ? at(lists, "include") : [];
  }
  return (["include", "sequence", "exclude"] as const).flatMap((list) =>
    at(lists[list], list, list),
  );
}

export function checkExpectation(
  { result = "succeeded", reason, works = [], actions }: ExpectFields,
  problem: Report,
): void {
  if (reason !== undefined && result === "succeeded") {
    const why = "A job that succeeds has no reason.";
    problem(["expect", "reason"], why, 'say "result: failed"');
  }
  for (const [index, work] of works.entries()) {
    const path = ["expect", "works", index];
    const { outcome, task: _task, name: _name, workId: _id, model: _model, ...counts } = work;
    const [stray] = Object.keys(counts);
    if (outcome === "skipped" && stray !== undefined)
      problem([...path, stray], `A skipped step has no "${stray}".`);
    const { runs = outcome.length } = counts;
    if (typeof outcome !== "string" && runs !== outcome.length) {
      const why = `"outcome" lists ${outcome.length} runs, but "runs" is ${runs}.`;
      problem([...path, "runs"], why, 'leave "runs" out');
    }
  }
  for (const { item, path } of itemsOf("actions", actions)) {
    const { output, status, reason: because } = item;
    if (output !== undefined && status !== undefined && status !== "succeeded")
      problem([...path, "output"], "Only an action that succeeded has an output.", 'use "reason"');
    if (because !== undefined && (status === "succeeded" || output !== undefined))
      problem([...path, "reason"], "An action that succeeded has no reason.", 'use "output"');
  }
}
