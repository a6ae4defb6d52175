import { proposalKinds, severities, verdicts } from "../../entry/outputs.ts";
import {
  type SchemaType,
  type Described,
  isOptional,
  wordsOf,
  type Optional,
} from "../../document/describe.ts";
import { isList, isRecord } from "../../text/guards.ts";
import { suggestion } from "../../document/diagnostic.ts";
import { decisionFields } from "../../events/decision.ts";

export const text = (description: string) => ({ type: "string", description }) as const;

export const whole = (minimum: number, description: string) =>
  ({ type: "integer", minimum, description }) as const;

export const flag = (description: string) =>
  ({ type: "boolean", const: true, description }) as const;

export const list = <const Item>(description: string, items: Item) =>
  ({ type: "array", description, items }) as const;

export const filled = <const Item>(description: string, items: Item) =>
  ({ type: "array", description, minItems: 1, items }) as const;

export const map = <const Value>(description: string, additionalProperties: Value) =>
  ({ type: "object", description, additionalProperties }) as const;

export const string = { type: "string" } as const;
export const nonEmpty = { type: "string", minLength: 1 } as const;

export type ConditionField = SchemaType<ReturnType<typeof condition>>;

export const condition = (description: string) =>
  ({
    type: ["string", "object"],
    description: `${description} A plain string is short for "contains".`,
    minLength: 1,
    minProperties: 1,
    additionalProperties: false,
    properties: {
      contains: strings("What the text must contain: one string or several."),
      excludes: strings("What the text must not contain: one string or several."),
      equals: text("The whole text, apart from white space at its end."),
      matches: text("A JavaScript regular expression that must match somewhere in the text."),
    },
  }) as const;

/** Needs a schema that has `condition` as `$defs.text`. */
export const conditionRef = (description: string): Described<ConditionField> => ({
  $ref: "#/$defs/text",
  description,
});

const strings = (description: string) =>
  ({
    type: ["string", "array"],
    description,
    minLength: 1,
    minItems: 1,
    items: { type: "string", minLength: 1 },
  }) as const;

export const results = ["succeeded", "failed", "canceled", "skipped"] as const;
export const outcomes = ["succeeded", "failed", "crashed", "canceled"] as const;
export type RunResult = (typeof results)[number];
export type WorkResult = (typeof outcomes)[number];

const finding = {
  type: "object",
  description: "A finding. All fields that are given must match.",
  additionalProperties: false,
  minProperties: 1,
  properties: {
    path: text("Its file."),
    line: whole(1, "Its first line."),
    endLine: whole(1, "Its last line."),
    severity: { enum: severities, description: "How bad it is." },
    rule: text("Its rule."),
    sameAs: text("The id of the earlier finding that it repeats."),
    task: text("The task that reported it."),
    title: conditionRef("Its title."),
    message: conditionRef("Its message."),
    suggestion: conditionRef("The replacement for the lines."),
  },
} as const;

const id = text("The id of an earlier finding.");

const resolved = {
  type: "object",
  additionalProperties: false,
  required: ["finding"],
  properties: { finding: id, reason: conditionRef("Why it is resolved.") },
} as const;

const givenReply = {
  type: "object",
  additionalProperties: false,
  required: ["finding"],
  properties: { finding: id, message: conditionRef("What it says.") },
} as const;

const proposal = {
  type: "object",
  description: "A proposal. All fields that are given must match.",
  additionalProperties: false,
  required: ["kind"],
  properties: {
    kind: { enum: proposalKinds, description: "What is proposed." },
    task: text("The task that proposes it."),
    labels: list("All of its labels.", string),
    reviewers: list("All of its reviewers.", string),
    files: list("The paths of all files that its pull request or commit changes.", string),
    branch: text("The end of the name of its branch."),
    title: conditionRef("Its title."),
    body: conditionRef("Its body."),
    reason: conditionRef("Its reason."),
  },
} as const;

export const outputFields = {
  verdict: {
    enum: [...verdicts, "none"],
    description: "The verdict of the job. none: no task gave one.",
  },
  findings: list(
    "The findings of the job, in any order. A further one fails the rehearsal.",
    finding,
  ),
  dismissed: list(
    "The findings that were reported again although a person had closed their thread. A further one fails the rehearsal.",
    finding,
  ),
  resolved: list(
    "The earlier findings that the job has resolved. A further one fails the rehearsal.",
    resolved,
  ),
  replies: list(
    "The answers of the job to replies. A further one fails the rehearsal.",
    givenReply,
  ),
  proposals: list(
    "The proposals of the job, in any order. A further one fails the rehearsal.",
    proposal,
  ),
  reports: map(
    "By task: its last report. In an Each, those of all items, one after another.",
    condition("The report."),
  ),
  results: map(
    "By task: its result, which must be the same. In an Each, a list of { item, result }.",
    {},
  ),
} as const;

const schema = { type: "object", properties: outputFields } as const;
export type OutputFields = SchemaType<typeof schema>;

export type ExpectedFinding = SchemaType<typeof finding>;
export type ExpectedResolved = SchemaType<typeof resolved>;
export type ExpectedReply = SchemaType<typeof givenReply>;
export type ExpectedProposal = SchemaType<typeof proposal>;

/* A document of the action protocol as a reply. It is not checked: a rehearsal can play a model that writes wrong ones. */

const field = (description: string) => ({ description });

export interface DocumentFields {
  readonly status?: unknown;
  readonly thoughts?: unknown;
  readonly actions?: unknown;
  readonly stop?: unknown;
  readonly response?: unknown;
  readonly [field: string]: unknown;
}

export const documentSchema: Described<DocumentFields> = {
  type: "object",
  description:
    'The answer as a document of the action protocol, which is sent as JSON. Fields that are left out get the values of an ordinary document. Nothing else is checked: a wrong document is sent as it is. Use "text" for an answer that is not one JSON object.',
  properties: {
    status: field(
      'SUCCESS, EXECUTING, ERROR or TASK_STARTED. Default: "SUCCESS" if the document stops without actions, else "EXECUTING".',
    ),
    context: field("`knowledge_relics` and `variables`. Default: none."),
    thoughts: field("A list of `{ type, content }`, possibly with `actions`. Default: none."),
    actions: field("A list of actions, or null. Default: null."),
    stop: field("Whether the run ends. Default: true if the document has no actions."),
    response: field("The answer for people, or null. Default: null."),
  },
};

export function completeDocument(fields: DocumentFields): DocumentFields {
  const idle = !hasActions(fields) && ![fields.thoughts].flat().some(hasActions);
  const { stop = idle } = fields;
  const status = idle && stop === true ? "SUCCESS" : "EXECUTING";
  return { status, thoughts: [], actions: null, stop, response: null, ...fields };
}

export function shortDocument(document: DocumentFields): DocumentFields {
  let short = document;
  // The default of the status depends on stop, so it goes first.
  for (const name of ["status", "thoughts", "actions", "stop", "response"]) {
    const { [name]: value, ...rest } = short;
    const same = JSON.stringify(completeDocument(rest)[name]) === JSON.stringify(value);
    if (same && value !== undefined) short = rest;
  }
  return short;
}

function hasActions(value: unknown): boolean {
  return isRecord(value) && isList(value["actions"]) && value["actions"].length > 0;
}

/* The state of the pull request or the workflow run, which a rehearsal doesn't read from GitHub. */

const findingId = { ...nonEmpty, description: "F1 is the first one of `findings`." } as const;

export const github = {
  type: "object",
  description: "The state of the pull request or the workflow run on GitHub.",
  additionalProperties: false,
  minProperties: 1,
  properties: {
    failedChecks: list("The failed checks of $failed-checks. An empty list: none has failed.", {
      type: "object",
      additionalProperties: false,
      required: ["name"],
      properties: {
        name: { ...nonEmpty, description: "The workflow, the job and the step." },
        log: text("The end of its log."),
      },
    }),
    findings: list(
      "$previous-findings: the findings of earlier runs, oldest first. Their ids are F1, F2, …",
      {
        type: "object",
        additionalProperties: false,
        required: ["path", "rule", "text"],
        properties: {
          path: text("Its file."),
          line: whole(1, "Its line now. Absent: the line is no longer in the diff."),
          code: text(
            "The text of its line. A finding with the same rule at such a line is the same finding.",
          ),
          rule: text("Its rule."),
          severity: { enum: severities, description: "Default: warning." },
          text: text("What it says."),
          key: text("Its fingerprint, in a recording. Default: made of rule, path and code."),
        },
      },
    ),
    threads: list("The threads of findings. Default: open.", {
      type: "object",
      additionalProperties: false,
      required: ["finding"],
      properties: {
        finding: findingId,
        resolved: flag("A run of the job, or an unknown user, has resolved it."),
        resolvedBy: text("The login of a person with write access who has resolved it."),
        outdated: flag("GitHub marks the thread as outdated."),
        gone: flag("The text of its line is no longer in the file."),
      },
    }),
    replies: list("The replies in threads, oldest first.", {
      type: "object",
      additionalProperties: false,
      required: ["finding", "text"],
      properties: {
        finding: findingId,
        author: text("A login with write access. Absent: an earlier run of the job."),
        text: text("What it says."),
      },
    }),
  },
} as const;

export type GithubFields = SchemaType<typeof github>;

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
  readonly [field: string]: ConditionField | readonly string[] | number | undefined;
}

const ofWork = ["task", "workId", "iteration"];
const ofText = ["contains", "excludes", "equals", "matches"];

/** The properties of an item of `expect.decisions`, next to those of a condition on its text. */
export function decisionProperties(condition: (description: string) => object): object {
  const names = new Set(Object.values(decisionFields).flatMap((fields) => Object.keys(fields)));
  const fields = [...names].map((name) => {
    const having = Object.entries(decisionFields).flatMap(([kind, fields]) => {
      const field = fields[name];
      return field === undefined ? [] : [{ kind, field }];
    });
    const description = `Of ${having.map(({ kind }) => kind).join(", ")}.`;
    const words = having.flatMap(({ field }) => wordsOf(field));
    if (words.length > 0) return [name, { type: "string", enum: [...new Set(words)], description }];
    const isNumber = having[0] !== undefined && isNumeric(having[0].field);
    return [name, isNumber ? { type: "number", description } : condition(description)];
  });
  return {
    kind: {
      type: "string",
      enum: Object.keys(decisionFields),
      description: "The kind of the decision. Further fields are those of this kind.",
    },
    task: text("The task that it is about."),
    workId: whole(0, "The work that it is about."),
    iteration: whole(1, "The iteration of that step, in a loop."),
    ...Object.fromEntries(fields),
  };
}

export interface FieldProblem {
  readonly name: string;
  readonly reason: string;
  readonly hint?: string;
}

export function fieldProblems(fields: DecisionFields): FieldProblem[] {
  const { kind } = fields;
  const names = Object.keys(fields).filter((name) => name !== "kind");
  if (kind === undefined) {
    const [name] = names.filter((one) => !ofText.includes(one));
    if (name === undefined) return [];
    const reason = `"${name}" needs a "kind".`;
    return [{ name, reason, hint: "name the kind of the decision" }];
  }
  const known = decisionFields[kind] ?? {};
  const possible = [...Object.keys(known), ...ofWork];
  return names.flatMap((name): FieldProblem[] => {
    if (ofText.includes(name)) {
      const reason = `A decision is matched by its kind and fields or by its text ("${name}"), not both.`;
      return [{ name, reason }];
    }
    if (!possible.includes(name)) {
      const reason = `A decision of the kind "${kind}" has no field "${name}".`;
      const { hint = `it has ${possible.join(", ")}` } = suggestion(name, possible);
      return [{ name, reason, hint }];
    }
    const field = known[name];
    const words = field === undefined ? [] : wordsOf(field);
    const value = fields[name];
    if (words.length === 0 || words.some((word) => word === value)) return [];
    const reason = `With the kind "${kind}", "${name}" must be ${words.join(" or ")}.`;
    return [{ name, reason, ...(typeof value === "string" ? suggestion(value, words) : {}) }];
  });
}

export function isTextOfDecision(kind: string, name: string): boolean {
  const field = decisionFields[kind]?.[name];
  return field !== undefined && !isNumeric(field) && wordsOf(field).length === 0;
}

function isNumeric(field: Described<unknown> | Optional<unknown>): boolean {
  const { type } = isOptional(field) ? field.optional : field;
  return type === "number" || type === "integer";
}
