import { outputsSchema, severities, verdicts, type Outputs } from "../entry/outputs.ts";
import * as is from "../document/describe.ts";
import type { TypeOf } from "../document/describe.ts";

export const finding = is.record({
  /** With slashes, relative to the root of the repository. */
  path: is.text,
  /** From 1, in the tree that the agent saw. */
  line: is.natural,
  /** The last line, if there is more than one. */
  endLine: is.optional(is.natural),
  /** Where `line` is in the head of the change; as many lines follow. Absent: it isn't there, or there is no change. */
  headLine: is.optional(is.natural),
  severity: is.words(...severities),
  rule: is.text,
  title: is.optional(is.text),
  message: is.text,
  /** Replaces the lines; an empty one deletes them. */
  suggestion: is.optional(is.text),
  task: is.text,
  /** The identity of the finding: a hash of its rule, its path, the text of its line and its place among equal lines, or the fingerprint of the earlier finding that it is. */
  fingerprint: is.text,
  /** A digest of the text of its first line, which tells later runs whether the line is still there. */
  lineDigest: is.optional(is.text),
});
export type Finding = TypeOf<typeof finding>;

export interface ResolvedFinding {
  /** The key of an earlier finding. */
  readonly key: string;
  readonly reason: string;
}

export interface GivenReply {
  /** The key of an earlier finding. */
  readonly key: string;
  readonly message: string;
}

/** The opinion of a job about the change, apart from whether its agents worked. */
export const verdict = is.record({ verdict: is.words(...verdicts), reason: is.text });
export type Verdict = TypeOf<typeof verdict>;

/** A finding or a verdict, as far as the call has named it in words that it may use. */
export const refused = is.record({
  kind: is.words("finding", "verdict"),
  severity: is.optional(is.words(...severities)),
  path: is.optional(is.text),
  message: is.optional(is.text),
  verdict: is.optional(is.words(...verdicts)),
  reason: is.text,
});
export type RefusedOutput = TypeOf<typeof refused>;

const target = {
  number: is.optional(is.natural),
  reason: is.optional(is.text),
};
const proposedFile = is.record({
  /** With slashes, relative to the root of the repository. */
  path: is.text,
  mode: is.words("100644", "100755"),
  /** The whole file; null if it is deleted. */
  content: is.nullable(is.text),
  /** The encoding of `content`: `base64` where it isn't text. */
  encoding: is.words("utf-8", "base64"),
});
export type ProposedFile = TypeOf<typeof proposedFile>;

export const proposal = is.tagged("kind", {
  comment: { ...target, body: is.text },
  label: { ...target, labels: is.list(is.text) },
  reviewers: { ...target, reviewers: is.list(is.text) },
  issue: {
    title: is.text,
    body: is.text,
    labels: is.optional(is.list(is.text)),
    reason: is.optional(is.text),
  },
  pull_request: {
    title: is.text,
    body: is.text,
    /** The prefix is not included. */
    branch: is.text,
    reason: is.optional(is.text),
    /** The commit that the files are changed in. */
    base: is.text,
    files: is.list(proposedFile),
  },
  push: {
    title: is.text,
    body: is.optional(is.text),
    reason: is.optional(is.text),
    /** The commit that the files are changed in: the head of the pull request. */
    base: is.text,
    files: is.list(proposedFile),
  },
  close: target,
});
export type Proposal = TypeOf<typeof proposal>;

export const origin = is.record({
  /** `owner/name` */
  repository: is.text,
  /** `https://github.com` */
  server: is.text,
  /** The id of the workflow run. All its attempts have the same. */
  workflowRun: is.text,
  attempt: is.natural,
  /** The leg of a matrix, or the only one: the same in every attempt. */
  leg: is.optional(is.text),
  /** Its display name: the values of the matrix. Absent: there is only one leg. */
  legName: is.optional(is.text),
  event: is.text,
  /** The commit that the run is about: the head of a pull request. */
  head: is.text,
  number: is.optional(is.natural),
  isPullRequest: is.optional(is.yes),
});
export type Origin = TypeOf<typeof origin>;

export const outputs = is.open<Outputs>(outputsSchema);

/* The findings of earlier runs of a job on a pull request, and how people reacted. Read once, before the job. */

/** The conversation can't be read here; the message says why. */
export class ConversationUnknown extends Error {}

const conversationReply = is.record({
  author: is.text,
  text: is.text,
  /** An earlier run of the job wrote it. Otherwise, a user with write access did. */
  own: is.optional(is.yes),
});

const previousFinding = is.record({
  /** `F1` is the oldest one. Prompts and tools name findings by it. */
  id: is.text,
  /** The fingerprint in the marker of its comment. */
  key: is.text,
  severity: is.words(...severities),
  rule: is.text,
  path: is.text,
  /** The line of its thread in the head now. Absent: GitHub no longer has such a line. */
  line: is.optional(is.natural),
  text: is.text,
  thread: is.words("open", "resolved"),
  /** A login. */
  resolvedBy: is.optional(is.text),
  /** A person with write access resolved it, so it is dismissed: not this job, another bot, or a user who can only read. */
  byPerson: is.optional(is.yes),
  /** The diff has changed at its line since. */
  outdated: is.optional(is.yes),
  /** The text of its line is no longer in the file. */
  gone: is.optional(is.yes),
  /** The oldest first. */
  replies: is.list(conversationReply),
});
export type PreviousFinding = TypeOf<typeof previousFinding>;

export const conversation = is.record({
  findings: is.list(previousFinding),
  /** The head of the last review. */
  lastReviewedHead: is.optional(is.text),
  /** The number of heads that were reviewed before. */
  round: is.count,
  /** Sentences that say what is left out. */
  notes: is.optional(is.list(is.text)),
});
export type Conversation = TypeOf<typeof conversation>;

export function previousFindingOf(
  findings: readonly PreviousFinding[],
  id: unknown,
): { readonly found: PreviousFinding } | { readonly refusal: string } {
  const found = findings.find((one) => one.id === id);
  if (found !== undefined) return { found };
  const ids = findings.map((one) => one.id).join(", ");
  return {
    refusal: `${JSON.stringify(id)} is not the id of an earlier finding. Use one of: ${ids}.`,
  };
}

/** Whether a finding that is reported again stays closed, because a person closed it. */
export function isDismissed({ thread, byPerson }: PreviousFinding): boolean {
  return thread === "resolved" && byPerson === true;
}

/** Whether a person has written in its thread, which is then theirs to close. */
export function hasReply({ replies }: PreviousFinding): boolean {
  return replies.some(({ own }) => own !== true);
}
