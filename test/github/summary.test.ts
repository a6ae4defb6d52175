import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { renderSummary, type SummaryOptions } from "../../src/github/summary.ts";
import * as arbitrary from "../events/samples.ts";
import { WorkView } from "../../src/events/view.ts";
import * as samples from "./samples.ts";
import { harmless } from "../../src/text/harmless-text.ts";
import { hostile } from "./hostile.ts";
import { hidden, outsideOfFences } from "./page.ts";
import { rounds } from "../rig/nightly.ts";
import { viewOf } from "../rig/tell.ts";

const MEBIBYTE = 1024 * 1024;

function render(sample: samples.Sample, changed: Partial<SummaryOptions> = {}): string {
  return renderSummary(samples.viewOf(sample), {
    summary: "full",
    entryFile: ".github/agent-jobs/review.yml",
    chart: sample.chart,
    ...changed,
  });
}

function headings(markdown: string): string[] {
  return outsideOfFences(markdown)
    .split("\n")
    .filter((line) => line.startsWith("#"));
}

test("the summary tells the result and why, what failed, each work, denials, words and decisions", () => {
  const page = render(samples.failure());
  assert.deepEqual(headings(page), [
    "## ✗ Job <code>review</code> failed",
    "### Failures",
    "### Steps",
    "### Chart",
    "### Denied permissions",
    "### Last message of the agent",
    "### Decisions",
  ]);
  assert.match(page, /^\*\*Why:\*\* task "review-docs" crashed: 503 Service Unavailable$/m);
  assert.match(page, /^- <b>#1<\/b> <code>review-correctness<\/code> failed: /m);
  const cells = (line: string): string[] => line.split(" | ").map((cell) => cell.trim());
  const row = page.split("\n").find((line) => line.startsWith("| 3 |"));
  assert.deepEqual(cells(row?.replaceAll("\u00A0", " ") ?? ""), [
    "| 3",
    "<code>review-docs</code>",
    "✗ crashed",
    "<code>gpt-5.4-mini</code>",
    "3",
    "0",
    "0 / 0",
    "1 min 29 s |",
  ]);
  assert.match(page, /<code>npm publish --tag next<\/code> ×2/);
  assert.match(
    page,
    /<summary><b>#3<\/b> <code>review-docs<\/code> ✗ crashed, 6 decisions<\/summary>\n\n```text\n00:23 \[OPERATION\] Session started: /,
  );
  assert.match(page, /^01:19 \[TASK FAILED\] criteria not met: no file was read before/m);
});

test("what the run went on without is listed, once, in the compact summary as well", () => {
  const told = new samples.Telling("nightly", ["review", "fix"]).start(1);
  for (let times = 0; times < 2; times += 1)
    told.decide(1, { kind: "variable-missing", name: "reported-document" });
  told.decide(1, { kind: "tool-server-failed", server: "tracker", reason: "no such program" });
  const { events } = told.end(1, { kind: "succeeded" }).over({ kind: "succeeded" });
  for (const summary of ["full", "compact"] as const) {
    const page = render({ events, chart: () => "" }, { summary });
    const [, list = ""] = /### Warnings\n\n([^]*?)\n\n/.exec(page) ?? [];
    assert.equal(
      list.replaceAll(/&#?\w+;/g, ""),
      "- <b>#1</b> <code>fix</code>: reported-document has no value: the prompt has MISSING in its place\n- <b>#1</b> <code>fix</code>: MCP server tracker: no such program",
    );
  }
});

test("every node of the chart says in words how it ended", () => {
  const page = render(samples.failure());
  const [, chart = ""] = /```mermaid\n([^]*?)```/.exec(page) ?? [];
  const nodes = [...chart.matchAll(/\["([^"]*)<br\/>([^"]*)"\]/g)];
  assert.deepEqual(
    nodes.map(([, name, end]) => `${name}: ${end}`),
    [
      "gather #35;0: ↻ retried, 2 attempts",
      "review-correctness #35;1: ✗ failed, 2 attempts",
      "review-tests #35;2: ✓ succeeded",
      "review-docs #35;3: ✗ crashed, 3 attempts",
      "merge #35;4: – skipped",
    ],
  );
});

test("a chart that GitHub would refuse is omitted", () => {
  const big = render(samples.success(), { chart: () => "a --> b\n".repeat(501) });
  assert.doesNotMatch(big, /mermaid/);
  assert.match(big, /\*\*Omitted or shortened:\*\* the chart\./);
  const long = render(samples.success(), { chart: () => "x".repeat(50_001) });
  assert.doesNotMatch(long, /mermaid/);
});

test("works that failed for the same reason are one line", () => {
  const names = Array.from({ length: 30 }, (_, id) => `task-${id}`);
  const telling = new samples.Telling("many", names);
  for (const id of [7, 3, 9, 5]) {
    telling.start(id).wait(1).end(id, { kind: "failed", reason: "503 from the server" });
  }
  telling.start(1).wait(1).end(1, { kind: "failed", reason: "no *tests*" });
  telling.over({ kind: "failed", reason: 'task "task-7" failed: 503; task "task-3" failed: 503' });
  const page = render({ events: telling.events, chart: () => "" });
  assert.match(
    page,
    /^- <b>#7<\/b> <code>task-7<\/code>, <b>#3<\/b> .*, <b>#5<\/b> \S+ failed: 503 from the server$/m,
  );
  assert.match(page, /^- <b>#1<\/b> <code>task-1<\/code> failed: no /m);
  assert.equal(hidden(page), "");
});

test("the advice stands once, under the reason", () => {
  const advice = "Check the *model* id.";
  const drained = { kind: "attempts-exhausted", purpose: "prompt", attempts: 5, advice } as const;
  const crash = { cause: "session-error", message: "404" } as const;
  const page = (outcome: { reason: string; advice?: string }): string => {
    const telling = new samples.Telling("j", ["t"]).start(0).decide(0, drained);
    telling.end(0, { kind: "crashed", crash }).over({ kind: "failed", ...outcome });
    return render({ events: telling.events, chart: () => "" });
  };
  const text = page({ reason: "404", advice });
  assert.match(text, /^\*\*Why:\*\* 404\n\n\*\*What to do:\*\* Check the &#42;model&#42; id\.\n/m);
  assert.doesNotMatch(page({ reason: `404. ${advice}`, advice }), /What to do/);
});

test("compact is the headline, what failed and the table; off is nothing", () => {
  assert.deepEqual(headings(render(samples.failure(), { summary: "compact" })), [
    "## ✗ Job <code>review</code> failed",
    "### Failures",
    "### Steps",
  ]);
  assert.deepEqual(headings(render(samples.success(), { summary: "compact" })).slice(1), [
    "### Steps",
  ]);
  assert.equal(render(samples.failure(), { summary: "off" }), "");
});

/** For pages of which nobody wants to read a megabyte in the report of a test. */
function says(page: string, pattern: RegExp): void {
  assert.ok(pattern.test(page), String(pattern));
}

test("a run that is too large is cut by importance: decisions of failed works are the last to go", () => {
  const telling = new samples.Telling(
    "big",
    Array.from({ length: 300 }, (_, id) => `task-${id}`),
  );
  for (let id = 0; id < 300; id += 1) {
    telling.start(id).turn(id, "w".repeat(3000));
    for (let step = 0; step < 45; step += 1) {
      telling.decide(id, { kind: "note", text: `${step}-${"&".repeat(400)}` });
    }
    const failed = { kind: "failed", reason: "broken" } as const;
    telling.end(id, id < 3 ? failed : { kind: "succeeded" });
  }
  telling.over({ kind: "failed", reason: "three are broken" });
  const page = render(
    { events: telling.events, chart: () => "flowchart TD" },
    { journal: "j.jsonl" },
  );
  assert.ok(Buffer.byteLength(page) <= MEBIBYTE);
  assert.ok(Buffer.byteLength(page) > 500_000);
  for (const id of [0, 1, 2]) {
    says(page, new RegExp(`<code>task-${id}</code> ✗ failed, 47 decisions`));
  }
  says(page, /\*\*Omitted or shortened:\*\* .*decisions: <b>#\d+<.* and \d+ more\. /);
  says(page, /The journal with every event: <code>j.jsonl<\/code>\./);
  assert.equal(hidden(page), "");
});

test("of many failed works, each keeps its latest decisions", () => {
  const telling = new samples.Telling(
    "bad",
    Array.from({ length: 40 }, (_, id) => `task-${id}`),
  );
  for (let id = 0; id < 40; id += 1) {
    telling.start(id).turn(id, "short");
    for (let step = 0; step < 48; step += 1) {
      telling.decide(id, { kind: "note", text: `${step}-${"&".repeat(490)}` });
    }
    telling.end(id, { kind: "failed", reason: "broken" });
  }
  telling.over({ kind: "failed", reason: "all are broken" });
  const page = render({ events: telling.events, chart: () => "" });
  assert.ok(Buffer.byteLength(page) <= MEBIBYTE);
  says(page, /earlier decisions omitted/);
  assert.equal(page.match(/47-&/g)?.length, 40);
  says(page, /shortened:\*\* decisions: <b>#0/);
  says(page, /Set the input <code>journal<\/code> to keep them\./);
  assert.equal(hidden(page), "");
});

function foreignRun(text: string): samples.Sample {
  const telling = new samples.Telling(text, [text, "b"], text)
    .start(0)
    .deny(0, text, text, text)
    .turn(0, text)
    .decide(0, { kind: "note", text })
    .end(0, { kind: "failed", reason: text })
    .start(1)
    .turn(1, text)
    .decide(null, { kind: "note", text })
    .over({ kind: "failed", reason: text });
  return { events: telling.events, chart: () => text };
}

test("no foreign text leaves its place: it makes no tag, link, image, mention, reference or cell", () => {
  const calm = hidden(render(foreignRun("calm"), { journal: "calm" }), true);
  fc.assert(
    fc.property(hostile, (text) => {
      const page = render(foreignRun(text), { journal: text });
      assert.equal(hidden(page), "");
      // Tables, folds and fences are those around a harmless text, unless they are empty.
      if (/[a-z]/.test(harmless(text))) assert.equal(hidden(page, true), calm);
    }),
    rounds(1000),
  );
});

test("it never exceeds 1 MiB and never throws, whatever the events, their order and their length", () => {
  const longer = fc.constantFrom(1, 1, 50, 8000);
  fc.assert(
    fc.property(
      arbitrary.events,
      longer,
      fc.constantFrom("full", "compact"),
      (events, by, summary) => {
        const view = viewOf(events);
        for (const work of view.works.values()) {
          work.lastMessage = "`é".repeat(by);
          work.reason = "\u{1F600}".repeat(by);
          for (let copy = 0; copy < Math.min(by, 100); copy += 1) {
            view.works.set(
              1000 + copy * 10 + work.workId,
              Object.assign(new WorkView(work), work, { workId: 1000 + copy }),
            );
          }
        }
        const page = renderSummary(view, {
          summary: summary === "full" ? "full" : "compact",
          entryFile: "e".repeat(by),
          chart: () => "c".repeat(by),
          journal: "j".repeat(by),
        });
        assert.ok(Buffer.byteLength(page) <= MEBIBYTE);
        // Reports, findings and verdicts are Markdown, which has tests of its own.
        const handedIn = [...view.given.values()].some((one) => one.verdict ?? one.findings[0]);
        if (!handedIn && !page.includes("\n### Report")) assert.equal(hidden(page), "");
      },
    ),
    rounds(25),
  );
});
