/** The schema of what agents hand in, as a rehearsal expects it. */
import { proposalKinds, severities, verdicts } from "../../entry/outputs.ts";
import type { SchemaType } from "../../document/schema-type.ts";
import { condition, text, whole } from "./schema-parts.ts";

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
