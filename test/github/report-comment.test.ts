import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createRunView } from "../../src/events/view.ts";
import { readMarker } from "../../src/github/markers.ts";
import { reportComment, type ReportComment } from "../../src/github/comments.ts";
import { alive, structure } from "./alive.ts";
import { hostile, hostileText, longTexts } from "./hostile.ts";
import { finding, hostileFinding, origin, ours, publisher } from "./published.ts";
import { rounds } from "../rig/nightly.ts";

const GITHUB_LIMIT = 65_536;

const plain: ReportComment = {
  ...publisher,
  outcome: { kind: "succeeded" },
  findings: [],
  complete: true,
  totals: Object.assign(createRunView().totals, {
    modelCalls: 3,
    inputTokens: 12_345,
    outputTokens: 678,
    cost: 0.99,
  }),
  durationMs: 65_000,
};
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

function hostileComment(text: string): ReportComment {
  return {
    ...plain,
    job: text,
    entry: text,
    outcome: { kind: "failed", reason: text },
    verdict: { verdict: "reject", reason: text },
    report: text,
    findings: [hostileFinding(text)],
  };
}

test("the comment has the verdict, the report, the findings with links to their lines, the cost and the run", () => {
  const body = reportComment({
    ...plain,
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
    "| | and 2 more | | |",
    "<sub>3 model calls · 12.3k tokens in, 678 out · 0.99 premium requests · 1\u00A0min\u00A005\u00A0s · commit `c0ffee00c0ff` · [run](https://github.com/o/r/actions/runs/77/attempts/1)</sub>",
  ]);
  assert.deepEqual(alive(body, ours), []);
});

test("without a verdict the result stands first, and of a job that failed both do", () => {
  const heading = (changed: Partial<ReportComment>): string[] =>
    reportComment({ ...plain, ...changed })
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

test("what is gone since the last run is counted, if the run could have found it again", () => {
  const earlier = ["f1", "f2", "f3", "f4"];
  const resolved = (changed: Partial<ReportComment>): string | undefined =>
    /Resolved .*/.exec(reportComment({ ...plain, findings, earlier, ...changed }))?.[0];
  assert.equal(resolved({}), "Resolved since the last run: 2.");
  assert.equal(resolved({ earlier: ["f2"] }), undefined);
  assert.equal(resolved({ complete: false }), undefined);
  assert.equal(resolved({ outcome: { kind: "failed", reason: "x" } }), undefined);
});

test("a finding is linked only if its lines and its path are in the commit", () => {
  const links = (one: Parameters<typeof finding>[0], isPullRequest?: true): string[] =>
    [
      ...reportComment({
        ...plain,
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
  const body = (from: typeof push): string =>
    reportComment({ ...plain, origin: from, findings: [unmapped] });
  assert.doesNotMatch(body(origin), /\/blob\//);
  assert.match(body(push), /src\/a\.ts#L3\)/);
});

test("no text of an agent is alive in it, and none changes what it is built of", () => {
  const calm = structure(reportComment(hostileComment("calm")));
  assert.deepEqual(alive(reportComment(hostileComment(hostileText)), ours), []);
  fc.assert(
    fc.property(hostile, (text) => {
      const comment = hostileComment(text);
      const body = reportComment(comment);
      assert.deepEqual(alive(body, ours), [], body);
      assert.equal(readMarker(body)?.job, readMarker(reportComment({ ...plain, job: text }))?.job);
      const blank = { ...comment, report: undefined, verdict: undefined };
      const table = reportComment({ ...blank, outcome: { kind: "succeeded" } });
      assert.match(structure(table), /table_close paragraph_open inline paragraph_close$/, table);
    }),
    rounds(500),
  );
  assert.match(calm, /table_close/);
});

test("a body is never longer than GitHub allows; the rest is in the job summary", () => {
  const long = reportComment({
    ...plain,
    report: "word ".repeat(1_000_000),
    findings: Array.from({ length: 1000 }, (_, index) =>
      finding({ fingerprint: `${index}`.padStart(64, "0"), message: "m ".repeat(500) }),
    ),
  });
  assert.ok(long.length <= GITHUB_LIMIT && long.length > 0.9 * GITHUB_LIMIT, String(long.length));
  assert.match(long, /The rest is in the \[job summary\]\(https:[^)]*\/runs\/77\/attempts\/1\)/);
  assert.match(long, /\| and \d+ more \|/);
  assert.deepEqual(alive(long, ours), []);
  for (const text of longTexts(1_000_000).filter((_, index) => index % 8 === 0)) {
    const body = reportComment(hostileComment(text));
    assert.ok(body.length <= GITHUB_LIMIT, text.slice(0, 20));
    assert.deepEqual(alive(body, ours).slice(0, 3), [], text.slice(0, 20));
  }
});
