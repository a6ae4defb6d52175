/** What agents hand in for people: findings, a verdict, proposals. */
import { severities, verdicts, type Outputs } from "../entry/outputs.ts";
import {
  flag,
  list,
  natural,
  nullable,
  optional,
  record,
  tagged,
  text,
  words,
  yes,
  type Shape,
  type TypeOf,
} from "./shape.ts";

/** What an agent reports at a line of a file. */
export const finding = record({
  /** With slashes, relative to the root of the repository. */
  path: text,
  /** From 1, in the tree that the agent saw. */
  line: natural,
  /** The last line, if there is more than one. */
  endLine: optional(natural),
  /** Where `line` is in the head of the change; as many lines follow. Absent: it isn't there, or there is no change. */
  headLine: optional(natural),
  severity: words(...severities),
  rule: text,
  title: optional(text),
  message: text,
  /** Replaces the lines; an empty one deletes them. */
  suggestion: optional(text),
  task: text,
  /** Of the path, the text of the line and the message: the same when the line moves. */
  fingerprint: text,
});
export type Finding = TypeOf<typeof finding>;

/** What a job thinks of the change, apart from whether its agents worked. */
export const verdict = record({ verdict: words(...verdicts), reason: text });
export type Verdict = TypeOf<typeof verdict>;

const target = {
  /** Of an issue or a pull request. Absent: that of the event. */
  number: optional(natural),
  /** Why, for people. */
  reason: optional(text),
};
const proposedFile = record({
  /** With slashes, relative to the root of the repository. */
  path: text,
  mode: words("100644", "100755"),
  /** The whole file; null if it is deleted. */
  content: nullable(text),
  /** Of `content`: `base64` where it isn't text. */
  encoding: words("utf-8", "base64"),
});
export type ProposedFile = TypeOf<typeof proposedFile>;

/** What an agent would like done on GitHub. */
export const proposal = tagged("kind", {
  comment: { ...target, body: text },
  label: { ...target, labels: list(text) },
  reviewers: { ...target, reviewers: list(text) },
  issue: { title: text, body: text, labels: optional(list(text)), reason: optional(text) },
  pull_request: {
    title: text,
    body: text,
    /** Without the prefix. */
    branch: text,
    reason: optional(text),
    /** The commit that the files are changed in. */
    base: text,
    files: list(proposedFile),
  },
  close: target,
});
export type Proposal = TypeOf<typeof proposal>;

/** Where on GitHub a run belongs. */
export const origin = record({
  /** `owner/name` */
  repository: text,
  /** `https://github.com` */
  server: text,
  /** Of the workflow run; a further attempt has the same. */
  workflowRun: text,
  attempt: natural,
  /** The name of the event. */
  event: text,
  /** The commit that the run is about: the head of a pull request. */
  head: text,
  /** Of the pull request or issue. */
  number: optional(natural),
  isPullRequest: optional(yes),
});
export type Origin = TypeOf<typeof origin>;

const from = optional(list(text));
const max = optional(natural);
export const outputs: Shape<Outputs> = record({
  report: optional(
    record({
      from,
      comment: optional(words("sticky")),
      when: optional(words("success", "always")),
    }),
  ),
  findings: optional(
    record({
      from,
      max,
      review: optional(words("comment")),
      failOn: optional(words(...severities, "never")),
      minSeverity: optional(words(...severities)),
    }),
  ),
  verdict: optional(record({ from, failOn: optional(words("needs-work", "reject", "never")) })),
  proposals: optional(
    record({
      from,
      comment: optional(record({ max })),
      label: optional(record({ max, allowed: list(text) })),
      reviewers: optional(record({ max, allowed: optional(list(text)) })),
      issue: optional(record({ max, titlePrefix: optional(text) })),
      pull_request: optional(
        record({
          max,
          branchPrefix: optional(text),
          draft: optional(flag),
          paths: optional(list(text)),
        }),
      ),
      close: optional(record({ max })),
    }),
  ),
});
