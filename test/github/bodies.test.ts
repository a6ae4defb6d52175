/** The bodies of comments, reviews and proposals on GitHub. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Proposal } from "../../src/events/output-shapes.ts";
import { createRunView } from "../../src/events/view.ts";
import {
  closedBody,
  replyBody,
  reportComment,
  reviewOf,
  type ReportComment,
  type Review,
} from "../../src/github/comments.ts";
import { proposalBody } from "../../src/github/deliver-proposal.ts";
import { readMarker } from "../../src/github/markers.ts";
import { safeTitle } from "../../src/text/harmless-text.ts";
import { nightly, rounds } from "../rig/nightly.ts";
import { alive, structure } from "./alive.ts";
import { hostile, hostileText, longTexts } from "./hostile.ts";
import { finding, hostileFinding, origin, ours, publisher } from "./published.ts";

const GITHUB_LIMIT = 65_536;
type WithText = Exclude<Proposal, { kind: "label" | "reviewers" | "push" }>;

function proposals(text: string): readonly WithText[] {
  const pull = { title: text, branch: text, base: origin.head, files: [] };
  return [
    { kind: "comment", body: text, reason: text },
    { kind: "issue", title: text, body: text, labels: [text] },
    { kind: "pull_request", body: text, ...pull },
    { kind: "close", reason: text },
  ];
}

test("the text of a proposal says who proposes it, and has a marker by which a re-run finds it", () => {
  const body = proposalBody(
    { kind: "issue", title: "t", body: "The nightly run **fails**.", reason: "It should not." },
    { ...publisher, task: "triage", key: "k1" },
  );
  const [marker = "", ...rest] = body.split("\n\n");
  assert.deepEqual(readMarker(marker), {
    kind: "issue",
    job: "review",
    entry: publisher.entry,
    head: origin.head,
    key: "k1",
  });
  assert.deepEqual(rest, [
    "The nightly run **fails**.",
    "**Why:** It should not.",
    "<sub>Proposed by job `review`, task `triage` · [run](https://github.com/o/r/actions/runs/77/attempts/1)</sub>",
  ]);
});

test("a title is one line without references, which a squashed commit would follow, and a label is one line", () => {
  assert.equal(safeTitle(" Fix\nthe \u001B[31mloop\t\u202E "), "Fix the loop \uFFFD");
  assert.equal(
    safeTitle("fixes #1, GH-2, o/r#3 @everyone https://x.example"),
    "fixes #\u20601, GH-\u20602, o/r#\u20603 @\u2060everyone https:\u2060//x.example",
  );
  fc.assert(
    fc.property(hostile, (text) => {
      assert.doesNotMatch(safeTitle(text.repeat(50)), /[\p{Cc}\p{Cs}\u2028-\u202E]/u);
      assert.doesNotMatch(safeTitle(text), /@\w|#\d|GH-\d|:\/\//i);
    }),
  );
  assert.equal(safeTitle("x".repeat(5_000_000)).length, 256);
});

type InDiff = Parameters<typeof reviewOf>[0]["isInDiff"];
const everything: InDiff = () => true;
/** Our own block, whose text a button applies. */
const applied = { ...ours, fences: /^suggestion$/ };

function review(
  findings: Parameters<typeof reviewOf>[0]["findings"],
  isInDiff = everything,
): Review {
  return reviewOf({ ...publisher, findings, isInDiff });
}

function withoutMarker(body = ""): string {
  return body.slice(body.indexOf("\n") + 2);
}

test("a finding in the diff is a comment at its lines in the head, with a suggestion that replaces them", () => {
  const { body, comments } = review([
    finding({ line: 7, endLine: 9, headLine: 17, title: "Lost", suggestion: "a();\n\tb();" }),
    finding({ fingerprint: "f1", suggestion: "" }),
  ]);
  const [first, second] = comments;
  assert.deepEqual(
    { ...first, body: withoutMarker(first?.body) },
    {
      key: "f0",
      path: "src/a.ts",
      startLine: 17,
      line: 19,
      body: [
        "**⚠ warning**: Lost",
        "The error is swallowed.",
        "```suggestion\na();\n\tb();\n```",
        "<sub>`review` · [run](https://github.com/o/r/actions/runs/77/attempts/1)</sub>",
      ].join("\n\n"),
    },
  );
  assert.deepEqual(readMarker(first?.body ?? "")?.key, "f0");
  assert.equal(second?.line, 3);
  assert.equal(second.startLine, undefined);
  // It deletes the line.
  assert.match(second.body, /\n```suggestion\n```\n/);
  assert.equal(body, "");
});

test("a finding that the diff doesn't show stands in the body, and one that it shows in part has no button", () => {
  const { headLine: _, ...unmapped } = finding({ fingerprint: "f2", message: "Elsewhere." });
  const { body, comments } = review(
    [
      finding({ headLine: 5, endLine: 9, suggestion: "x" }),
      finding({ fingerprint: "f1", headLine: 50, message: "Far away." }),
      unmapped,
    ],
    (_path, from, to) => from === 5 && to === 5,
  );
  assert.deepEqual(
    comments.map(({ line, startLine }) => [line, startLine]),
    [[5, undefined]],
  );
  assert.doesNotMatch(comments[0]?.body ?? "", /```suggestion/);
  assert.equal(readMarker(body)?.kind, "review");
  assert.match(body, /^Job `review` found 2 warnings outside of the lines of the diff\.$/m);
  assert.match(body, /Far away\./);
  assert.match(body, /Elsewhere\./);
  assert.deepEqual(alive(body, ours), []);
});

test("what a suggestion holds can't end it, and one that doesn't show all that it holds is not applied", () => {
  const fence = review([finding({ suggestion: "```\n````\n@everyone" })]).comments[0]?.body ?? "";
  assert.match(fence, /\n`````suggestion\n```\n````\n@everyone\n`````\n/);
  assert.deepEqual(alive(fence, applied), []);
  for (const suggestion of ["a\u202Eb", "a\0", "\u001B[31ma"]) {
    const [comment] = review([finding({ suggestion })]).comments;
    assert.doesNotMatch(comment?.body ?? "", /suggestion/, JSON.stringify(suggestion));
  }
});

test("a thousand findings outside of the diff fit into a body", () => {
  const findings = Array.from({ length: 1000 }, (_, index) =>
    finding({ message: "m ".repeat(500), fingerprint: String(index).padStart(32, "0") }),
  );
  const { body } = review(findings, () => false);
  assert.ok(body.length <= GITHUB_LIMIT);
  assert.match(body, /and \d+ more/);
});

const totals = Object.assign(createRunView().totals, {
  modelCalls: 3,
  inputTokens: 12_345,
  outputTokens: 678,
  cost: 0.99,
});

type Changed = Partial<ReportComment & ReportComment["collected"]>;

function reported({ findings = [], omitted = 0, verdict, ...changed }: Changed = {}): string {
  return reportComment({
    ...publisher,
    view: { totals, startedAt: 0, endedAt: 65_000 },
    outcome: { kind: "succeeded" },
    collected: { findings, omitted, verdict },
    fingerprints: ["f1", "f2"],
    ...changed,
  });
}

const findings = [
  finding({
    severity: "error",
    line: 7,
    endLine: 9,
    headLine: 17,
    fingerprint: "f1",
    title: "Lost",
  }),
  finding({ path: "docs/a b.md", rule: "docs", message: "`x | y` is gone", fingerprint: "f2" }),
];

function hostileComment(text: string): Changed {
  return {
    job: text,
    entry: text,
    outcome: { kind: "failed", reason: text },
    verdict: { verdict: "reject", reason: text },
    report: text,
    findings: [hostileFinding(text)],
  };
}

test("the comment has the verdict, the report, the findings with links to their lines, the cost and the run", () => {
  const body = reported({
    verdict: { verdict: "needs-work", reason: "The error of `parse` is lost." },
    report: "Read **2** files.\n\n- one",
    findings,
    omitted: 2,
  });
  const [marker = "", ...lines] = body.split("\n").filter((line) => line !== "");
  assert.deepEqual(readMarker(marker), {
    kind: "report",
    job: "review",
    entry: ".github/agent-jobs/review.yml",
    key: `${origin.workflowRun}/${origin.attempt}`,
    head: origin.head,
    fingerprints: ["f1", "f2"],
  });
  const blob = `https://github.com/o/r/blob/${origin.head}`;
  assert.deepEqual(lines, [
    "### ⚠ Needs work · `review`",
    "The error of `parse` is lost.",
    "Read **2** files.",
    "- one",
    "#### Findings: 1 error, 1 warning",
    "| Severity | Place | Rule | Finding |",
    "| --- | --- | --- | --- |",
    `| ✗\u00A0error | [\`src/a.ts:7-9\`](${blob}/src/a.ts#L17-L19) | \`review\` | **Lost** The error is swallowed. |`,
    `| ⚠\u00A0warning | [\`docs/a b.md:3\`](${blob}/docs/a%20b.md?plain=1#L3) | \`docs\` | \`x \\| y\` is gone |`,
    "|  | and 2 more |  |  |",
    "<sub>3 model calls · 12.3k tokens in, 678 out · 0.99 credits (0.0099 USD) · 1\u00A0min\u00A005\u00A0s · commit `c0ffee00c0ff` · [run](https://github.com/o/r/actions/runs/77/attempts/1)</sub>",
  ]);
  assert.deepEqual(alive(body, ours), []);
});

test("without a verdict the result stands first, and of a job that failed both do", () => {
  const heading = (changed: Changed): string[] =>
    reported(changed)
      .split("\n")
      .filter((line) => line.startsWith("#"));
  const verdict = { verdict: "pass", reason: "" } as const;
  assert.deepEqual(heading({}), ["### ✓ Job `review` succeeded"]);
  assert.deepEqual(heading({ verdict }), ["### ✓ Pass · `review`"]);
  assert.deepEqual(heading({ verdict, outcome: { kind: "failed", reason: "x" } }), [
    "### ✗ Job `review` failed",
    "#### ✓ Pass · `review`",
  ]);
});

test("the comment counts all findings, and lists those that stand nowhere else", () => {
  const linesOf = (changed: Changed): string[] =>
    reported(changed)
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("<"))
      .slice(1);
  assert.deepEqual(linesOf({ counts: "2 fixed" }), ["#### Findings: none", "2 fixed"]);
  const [heading, counts, why, ...table] = linesOf({
    findings,
    listed: findings.slice(1),
    counts: "1 new, 1 still open",
  });
  assert.deepEqual(
    [heading, counts, why],
    ["#### Findings: 1 error, 1 warning", "1 new, 1 still open", "Not in the lines of the diff:"],
  );
  assert.deepEqual([table.length, /docs\/a b\.md/.test(table[2] ?? "")], [3, true]);
});

test("the comment of a closed thread ends with the reason, which replaces an earlier one", () => {
  const [comment] = review([finding({ suggestion: "a();" })]).comments;
  const before = comment?.body ?? "";
  const first = closedBody(before, "It **is** fixed.\n\n- @everyone", publisher);
  assert.equal(readMarker(first)?.closed, origin.head);
  assert.match(
    first,
    /^\*\*✓ Resolved\*\* at `c0ffee00c0ff`: It \*\*is\*\* fixed\. - `@everyone`$/m,
  );
  const second = closedBody(first, "Really.", publisher);
  assert.deepEqual(second.split("\n").slice(0, -1), first.split("\n").slice(0, -1));
  assert.match(second, /: Really\.$/);
});

test("a finding is linked only if its lines and its path are in the commit", () => {
  const links = (one: Parameters<typeof finding>[0], isPullRequest?: true): string[] =>
    [
      ...reported({
        origin: { ...origin, ...(isPullRequest === undefined ? {} : { isPullRequest }) },
        findings: [finding(one)],
      }).matchAll(/\((https:[^)]*\/blob\/[^)]*)\)/g),
    ].map(([, url = ""]) => url);
  const { headLine: _, ...unmapped } = finding();
  const { isPullRequest: __, ...push } = origin;
  assert.deepEqual(links({ path: "../../evil" }), []);
  assert.deepEqual(links({ path: "a//b" }), []);
  assert.deepEqual(links({ path: "a/%2e%2e/b?c#d" }), [
    `https://github.com/o/r/blob/${origin.head}/a/%252e%252e/b%3Fc%23d#L3`,
  ]);
  const body = (from: typeof push): string => reported({ origin: from, findings: [unmapped] });
  assert.doesNotMatch(body(origin), /\/blob\//);
  assert.match(body(push), /src\/a\.ts#L3\)/);
});

test("a body is never longer than GitHub allows; the rest is in the job summary", () => {
  const long = reported({
    report: "word ".repeat(1_000_000),
    findings: Array.from({ length: 1000 }, (_, index) =>
      finding({ fingerprint: `${index}`.padStart(64, "0"), message: "m ".repeat(500) }),
    ),
  });
  assert.ok(long.length <= GITHUB_LIMIT && long.length > 0.9 * GITHUB_LIMIT, String(long.length));
  assert.match(long, /The rest is in the \[job summary\]\(https:[^)]*\/runs\/77\/attempts\/1\)/);
  assert.match(long, /\| and \d+ more \|/);
  assert.deepEqual(alive(long, ours), []);
});

function bodiesWith(text: string): readonly string[] {
  const reviews = [everything, () => false].map((isIn) => review([hostileFinding(text)], isIn));
  const texts = reviews.flatMap(({ body, comments }) =>
    comments.length > 0 ? comments.map((one) => one.body) : [body],
  );
  return [
    reported(hostileComment(text)),
    ...texts,
    ...texts.map((body) => closedBody(body, text, publisher)),
    replyBody(text, "f0", publisher),
    ...proposals(text).map((one) =>
      proposalBody(one, { ...publisher, job: text, task: text, key: text }),
    ),
  ];
}

test("no text of an agent is alive in a body, none ends its last line, and none is longer than GitHub allows", () => {
  const check = (text: string): void => {
    for (const body of bodiesWith(text)) {
      assert.deepEqual(alive(body, applied).slice(0, 3), [], body.slice(0, 1000));
      assert.ok(body.length <= GITHUB_LIMIT);
      assert.match(structure(body), /paragraph_open inline paragraph_close$/);
    }
  };
  check(hostileText);
  fc.assert(fc.property(hostile, check), rounds(500));
  const long = longTexts(1_000_000).filter((_, index) => nightly || index % 8 === 1);
  for (const text of [...long, "`".repeat(5_000_000)]) check(text);
});

test("no text of an agent changes the marker of a report, or leaves the table of findings", () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const comment = hostileComment(text);
      const plainly = reported({ job: text });
      assert.equal(readMarker(reported(comment))?.job, readMarker(plainly)?.job);
      const blank = { ...comment, report: undefined, verdict: undefined };
      const table = reported({ ...blank, outcome: { kind: "succeeded" } });
      assert.match(structure(table), /table_close paragraph_open inline paragraph_close$/, table);
    }),
    rounds(200),
  );
});
