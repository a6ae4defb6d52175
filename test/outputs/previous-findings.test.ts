/** What a run says about the findings of earlier runs, where it is collected and where it is shown. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PreviousFinding, Finding } from "../../src/events/output-shapes.ts";
import type { RunEventBody } from "../../src/events/event.ts";
import { applyEvent, createRunView, type RunView } from "../../src/events/view.ts";
import { renderSummary } from "../../src/github/summary.ts";
import { collectOutputs } from "../../src/outputs/collect.ts";
import { judgementOf } from "../../src/outputs/verdict.ts";
import { resultLines } from "../../src/reports/result-lines.ts";
import { runJson } from "../../src/reports/run-json.ts";
import { alive } from "../github/alive.ts";
import { hostileText } from "../github/hostile.ts";
import { finding } from "../github/published.ts";
import { previousFinding } from "../rig/conversation.ts";
import { plannedTasks } from "../rig/plan.ts";

const work = { workId: 0, taskId: "review", iteration: 1 };
const reported = (one: Finding): RunEventBody => ({ type: "finding.reported", work, finding: one });
const resolved = (key: string, reason = "It is fixed."): RunEventBody => ({
  type: "finding.resolved",
  work,
  finding: key,
  reason,
});
const replied = (key: string, message: string): RunEventBody => ({
  type: "reply.given",
  work,
  finding: key,
  message,
});
const closed = { thread: "resolved", resolvedBy: "mona", byPerson: true } as const;
const asked = { replies: [{ author: "mona", text: "Why?" }] };

function viewOf(previous: readonly PreviousFinding[], ...events: readonly RunEventBody[]): RunView {
  const view = createRunView();
  const conversation = { findings: previous, round: 1 };
  const outputs = { findings: { failOn: "warning" } } as const;
  const plan = { ...plannedTasks([["review", "m"]]), conversation, outputs };
  const all: readonly RunEventBody[] = [
    { type: "run.started", ...plan, jobName: "review", workingDirectory: "/w" },
    ...events,
    { type: "run.ended", outcome: { kind: "succeeded" } },
  ];
  for (const event of all) applyEvent(view, { at: 0, runId: "r", ...event });
  return view;
}

const collected = (...given: Parameters<typeof viewOf>) => {
  const { findings, dismissed, resolved: done, replies } = collectOutputs(viewOf(...given));
  const keys = (all: readonly Finding[]): string[] => all.map((one) => one.fingerprint);
  return [keys(findings), keys(dismissed), done.map(({ key }) => key), replies];
};

test("what a person has closed is dismissed, and fails nothing; what the job has closed is not", () => {
  const ours = { thread: "resolved", resolvedBy: "github-actions" } as const;
  const previous = [previousFinding("F1", closed), previousFinding("F2", ours)];
  const again = previous.map(({ key }) => reported(finding({ fingerprint: key })));
  assert.deepEqual(collected(previous, ...again), [["key-of-F2"], ["key-of-F1"], [], []]);
  assert.deepEqual(judgementOf(viewOf(previous, ...again.slice(0, 1))), { kind: "passed" });
  assert.equal(judgementOf(viewOf(previous, ...again)).kind, "failed");
});

test("a finding that is reported again, or that a person has replied to, is not resolved", () => {
  const previous = [previousFinding("F1"), previousFinding("F2", asked), previousFinding("F3")];
  const events = [
    ...previous.map(({ key }) => resolved(key)),
    reported(finding({ fingerprint: "key-of-F1" })),
  ];
  assert.deepEqual(collected(previous, ...events).slice(2), [["key-of-F3"], []]);
});

test("the last answer to a finding counts", () => {
  const events = [replied("key-of-F1", "One."), replied("key-of-F1", "Two.")];
  assert.deepEqual(collected([previousFinding("F1", asked)], ...events).at(-1), [
    { key: "key-of-F1", message: "Two." },
  ]);
});

const all = [
  previousFinding("F1"),
  previousFinding("F2", { ...asked, line: undefined }),
  previousFinding("F3", closed),
];
const told = (text: string): RunView =>
  viewOf(
    all,
    resolved("key-of-F1", text),
    replied("key-of-F2", text),
    reported(finding({ fingerprint: "key-of-F3", message: text, path: text })),
  );

test("run.json, the log and the summary list them", () => {
  const view = told("It is so.");
  assert.deepEqual(
    Object(runJson(view)).previousFindings,
    [
      ["F1", "resolved", 2],
      ["F2", "answered", null],
      ["F3", "dismissed", 2],
    ].map(([id, outcome, line]) => ({
      finding: id,
      outcome,
      path: "src/a.ts",
      line,
      text: "It is so.",
      fingerprint: `key-of-${id}`,
    })),
  );
  assert.deepEqual(
    resultLines(view).map(({ text }) => text),
    [
      "resolved F1 at src/a.ts:2: It is so.",
      "answered F2 at src/a.ts: It is so.",
      "dismissed F3 at src/a.ts:2: It is so.",
    ],
  );
  const summary = renderSummary(view, { summary: "compact", entryFile: "e.yml" });
  assert.match(
    summary,
    /### Earlier findings: 1 resolved, 1 answered, 1 dismissed\n\n- resolved F1 at src\/a\.ts:2: It is so\.\n/,
  );
});

test("nothing in them is alive in the log and the summary", () => {
  const view = told(`${hostileText}\n::error::x`);
  const html = /^(?:<\/?(?:details|summary|code|b|sub)>|[^<>])*$/;
  const summary = renderSummary(view, { summary: "compact", entryFile: "e.yml" });
  assert.deepEqual(alive(summary, { html, fences: /^text$/ }), []);
  for (const { text } of resultLines(view)) assert.doesNotMatch(text, /\p{Cc}|^::/u);
});
