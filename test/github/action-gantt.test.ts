/** Mermaid itself is the judge of what is a Gantt chart, and of what it means. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { ActionEvent } from "../../src/events/action.ts";
import { ActionsView, applyAction } from "../../src/events/view-actions.ts";
import { actionGantt } from "../../src/github/work-sections.ts";
import { anyCharacter } from "../rig/any-character.ts";
import { releaseStory } from "../rig/action-events.ts";
import { holds } from "../rig/fuzz.ts";
import { ganttByMermaid } from "../workflow/read/mermaid-rig.ts";

interface Action {
  readonly id?: string;
  readonly group?: string;
  readonly label?: string;
  readonly task?: string;
  readonly iteration?: number;
  readonly status?: Extract<ActionEvent, { type: "action.ended" }>["status"];
  readonly start?: number;
  readonly end?: number;
}

function viewOf(all: readonly Action[]): ActionsView {
  const view = new ActionsView();
  for (const { id = "a", iteration = 1, group, label, task, ...more } of all) {
    const { status = "succeeded", start = 1000, end = 2500 } = more;
    const one = { id, iteration, group };
    const display = label === undefined ? undefined : ({ kind: "progress_bar", label } as const);
    const head = { action: "t", kind: "tool", execution: "SYNC", display } as const;
    applyAction(view, { type: "action.waiting", ...one, ...head }, task, start);
    if (status !== "skipped") applyAction(view, { type: "action.started", ...one }, task, start);
    const milliseconds = end - start;
    applyAction(view, { type: "action.ended", ...one, status, milliseconds }, task, end);
  }
  return view;
}

test("Mermaid draws a bar for each action, to the millisecond, in a section for each document", async () => {
  const told = await (await releaseStory()).finish();
  const bars = await ganttByMermaid(actionGantt(told.actions) ?? "");
  const start = told.events[0]?.at ?? 0;
  assert.deepEqual(
    bars.map(({ section, task, start: from, end: to, tags }) => [
      section,
      task,
      from - start,
      to - start,
      tags.join(),
    ]),
    [
      ["Document 1", "✓ look", 0, 1000, "done"],
      ["Document 1", "✓ Building the app", 1000, 21_000, "done"],
      ["Document 1", "✓ lint", 1000, 3000, "done"],
      ["Document 2", "✗ tests", 21_000, 27_000, "crit"],
      ["Document 2", "✓ unit", 21_000, 25_000, "done"],
      ["Document 2", "✗ e2e", 21_000, 27_000, "crit"],
      ["Document 2", "– early", 27_000, 27_000, "milestone"],
      ["Document 2", "✗ slow", 3000, 63_000, "crit"],
      ["Document 2", "✓ write", 3000, 3001, "done"],
      ["Document 3", "✓ Deploying to staging", 63_000, 71_000, "done"],
    ],
  );
});

test("documents of a task that an action ran have sections of their own", async () => {
  const view = viewOf([{ id: "a" }, { id: "b", task: "docs: x" }, { id: "c" }]);
  const bars = await ganttByMermaid(actionGantt(view) ?? "");
  assert.deepEqual(
    bars.map(({ section, task }) => `${section} | ${task}`),
    ["Document 1 | ✓ a", "Document 1 | ✓ c", "docs: x: Document 1 | ✓ b"],
  );
});

const labels = [
  "a: b :done, 1, 2",
  "x; y",
  "#1; #quot; #",
  "section end",
  "gantt",
  "%% remark %%{init: {}}%%",
  "style x:#1;",
  'click a href "javascript:alert(1)"',
  "<script>alert(1)</script>",
  "`\"'\\",
  "2026-01-01",
  "title: x",
  "ﬂ°°58¶ß",
  "构建 🚀 é \u0301 مرحبا",
  "}{][)(|",
  "accTitle: a",
];

test("labels are shown as they are, whatever they mean to Mermaid", async () => {
  const view = viewOf(labels.map((label, index) => ({ id: `a${index}`, label })));
  const bars = await ganttByMermaid(actionGantt(view) ?? "");
  assert.deepEqual(
    bars.map(({ task }) => task),
    labels.map((label) => `✓ ${label.replace(/\s+/g, " ")}`),
  );
});

test("any texts and times make a chart that Mermaid reads, with the same bars", async (t) => {
  const text = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.string({ unit: anyCharacter, maxLength: 40 }),
    fc.constantFrom(...labels),
  );
  const action = fc.record(
    {
      id: text,
      group: text,
      label: text,
      task: text,
      iteration: fc.integer({ min: 1, max: 4 }),
      status: fc.constantFrom(
        "succeeded" as const,
        "failed" as const,
        "timed_out" as const,
        "cancelled" as const,
        "skipped" as const,
      ),
      start: fc.nat({ max: 5000 }),
      end: fc.integer({ min: 5000, max: 9000 }),
    },
    { requiredKeys: ["start", "end"] },
  );
  await holds(
    t,
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 8 }), async (all) => {
      const gantt = actionGantt(viewOf(all));
      const bars = await ganttByMermaid(gantt ?? "");
      assert.equal(bars.length, all.length);
      const drawn = bars.map(({ start, end }) => `${start} ${end}`);
      const expected = all.map(({ start, end, status }) =>
        status === "skipped" ? `${end} ${end}` : `${start} ${Math.max(end, start + 1)}`,
      );
      assert.deepEqual(drawn.toSorted(), expected.toSorted());
    }),
    60,
  );
});

test("a chart of many actions has those that failed and the latest, and there is none that GitHub would not draw", async () => {
  const many = (label: string) =>
    viewOf(
      Array.from({ length: 300 }, (_, id): Action => ({ id: `a${id}`, label, iteration: id + 1 })),
    );
  const gantt = actionGantt(many("build"));
  assert.equal((await ganttByMermaid(gantt ?? "")).length, 100);
  assert.match(gantt ?? "", /section Document 300\n/);
  const failed = viewOf(
    Array.from({ length: 300 }, (_, id): Action => ({
      id: `a${id}`,
      status: id === 7 ? "failed" : "succeeded",
    })),
  );
  const bars = await ganttByMermaid(actionGantt(failed) ?? "");
  assert.deepEqual([bars.length, bars[0]?.task, bars.at(-1)?.task], [100, "✗ a7", "✓ a299"]);
  assert.equal(actionGantt(many("⸻".repeat(100))), undefined);
  assert.equal(actionGantt(new ActionsView()), undefined);
});
