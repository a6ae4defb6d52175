import { proposalKinds, severities, verdicts } from "../../entry/outputs.ts";
import type { SchemaType } from "../../document/describe.ts";
import { condition, conditionRef, list, map, string, text, whole } from "./schema-parts.ts";

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
