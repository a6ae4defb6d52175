/** What agents hand in, as a rehearsal expects it: the schema, and the same with its texts as conditions. */
import { proposalKinds, severities, verdicts } from "../../entry/outputs.ts";
import type { SchemaType } from "../../document/schema-type.ts";
import type { Path } from "../../document/problem.ts";
import { condition, text, whole, type ConditionField } from "./schema-parts.ts";
import type { ExpectedNamed, ExpectedOutput, ExpectedOutputs, Place } from "./script.ts";
import type { TextCondition } from "./text-condition.ts";

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
    task: text("The task that reported it."),
    title: condition("Its title."),
    message: condition("Its message."),
    suggestion: condition("What it would put in place of the lines."),
  },
} as const;

const proposal = {
  type: "object",
  description: "A proposal. All fields that are given must match.",
  additionalProperties: false,
  required: ["kind"],
  properties: {
    kind: { enum: proposalKinds, description: "What is proposed." },
    task: text("The task that proposes it."),
    labels: { type: "array", items: { type: "string" }, description: "All of its labels." },
    reviewers: { type: "array", items: { type: "string" }, description: "All of its reviewers." },
    files: {
      type: "array",
      items: { type: "string" },
      description: "The paths of all files that its pull request changes.",
    },
    branch: text("The end of the name of its branch."),
    title: condition("Its title."),
    body: condition("Its body."),
    reason: condition("Its reason."),
  },
} as const;

/** Fields of `expect`. */
export const outputFields = {
  verdict: {
    enum: [...verdicts, "none"],
    description: "The verdict of the job. none: no task gave one.",
  },
  findings: {
    type: "array",
    description: "The findings of the job, in any order. A further one fails the rehearsal.",
    items: finding,
  },
  proposals: {
    type: "array",
    description: "The proposals of the job, in any order. A further one fails the rehearsal.",
    items: proposal,
  },
  reports: {
    type: "object",
    description: "By task: its last report. In an Each, those of all items, one after another.",
    additionalProperties: condition("The report."),
  },
  results: {
    type: "object",
    description:
      "By task: its result, which must be the same. In an Each, a list of { item, result }.",
    additionalProperties: {},
  },
} as const;

const schema = { type: "object", properties: outputFields } as const;
export type OutputFields = SchemaType<typeof schema>;

export type ExpectedFinding = SchemaType<typeof finding>;
export type ExpectedProposal = SchemaType<typeof proposal>;

const texts = ["title", "message", "suggestion", "body", "reason"] as const;

interface Reading {
  readonly placeOf: (path: Path) => Place;
  readonly condition: (field: ConditionField, path: Path) => TextCondition;
  /** A task that an expectation names. */
  readonly names: (task: string, path: Path) => void;
}

export function toOutputs(fields: OutputFields, reading: Reading): ExpectedOutputs {
  const { placeOf, condition: conditionOf, names } = reading;
  const { verdict, findings, proposals, reports = {}, results = {} } = fields;
  const item = (field: object, path: Path): ExpectedOutput => {
    const given = Object.entries(field);
    const task: unknown = Reflect.get(field, "task");
    if (typeof task === "string") names(task, [...path, "task"]);
    return {
      place: placeOf(path),
      equal: Object.fromEntries(given.filter(([name]) => !isText(name))),
      texts: given
        .filter(([name]) => isText(name))
        .map(([name, value]) => ({ name, condition: conditionOf(value, [...path, name]) })),
    };
  };
  const list = (name: "findings" | "proposals", all: readonly object[]) => ({
    place: placeOf(["expect", name]),
    items: all.map((one, index) => item(one, ["expect", name, index])),
  });
  const named = <From, Value>(
    name: "reports" | "results",
    all: Readonly<Record<string, From>>,
    valueOf: (from: From, path: Path) => Value,
  ): ExpectedNamed<Value>[] =>
    Object.entries(all).map(([task, from]) => {
      const path = ["expect", name, task];
      names(task, path);
      return { place: placeOf(path), task, value: valueOf(from, path) };
    });
  return {
    ...(verdict !== undefined && {
      verdict: { place: placeOf(["expect", "verdict"]), value: verdict },
    }),
    ...(findings !== undefined && { findings: list("findings", findings) }),
    ...(proposals !== undefined && { proposals: list("proposals", proposals) }),
    reports: named("reports", reports, conditionOf),
    results: named("results", results, (value) => value),
  };
}

function isText(name: string): boolean {
  return texts.some((one) => one === name);
}
