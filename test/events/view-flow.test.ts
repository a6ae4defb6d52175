import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { applyEvent, createRunView, KEPT_STEPS, KEPT_VISITS } from "../../src/events/view.ts";
import { truncateMiddle } from "../../src/text/truncate.ts";
import { KEPT_STEP_TEXT } from "../../src/events/view-flow.ts";
import { anyCharacter } from "../rig/any-character.ts";
import { buildStory, chart, flowTree, FlowTelling } from "../rig/flow-events.ts";
import { holds } from "../rig/fuzz.ts";

function flowIn(told: FlowTelling) {
  const work = told.view.works.get(0);
  assert.ok(work?.flow !== undefined);
  return { work, flow: work.flow };
}

test("a workflow is folded into its path: order, hits, status, ways and RESULT", () => {
  const { work, flow } = flowIn(buildStory().finish());
  assert.equal(work.report, "built and published");
  assert.equal(flow.stepCount, 11);
  assert.equal(flow.steps.at(-1)?.activity, "SUCCESS");
  assert.deepEqual(flow.open, []);
  assert.deepEqual(flow.activities.get("flow.wf.md")?.get("EXECUTE_BUILD"), {
    hits: 2,
    visits: [3, 5],
    status: "succeeded",
    reason: undefined,
    taken: { next: 1, other: 1 },
  });
  assert.deepEqual(flow.activities.get("publish.wf.md")?.get("ASK_SURE")?.visits, [9]);
  const failed = flow.steps.find(({ step }) => step === 3);
  assert.equal(failed?.status, "failed");
  assert.equal(failed.reason, "EXECUTE_BUILD ended with exit code 1.");
  assert.equal((failed.endedAt ?? 0) - failed.startedAt, 2000);
});

test("what runs is the innermost step, and nothing runs after the end", () => {
  const told = new FlowTelling()
    .begin({ activity: "CALL_PUBLISH" })
    .begin({ activity: "ASK_SURE", file: "publish.wf.md", depth: 1 });
  const running = flowIn(told).flow;
  assert.deepEqual(
    running.open.map(({ activity }) => activity),
    ["CALL_PUBLISH", "ASK_SURE"],
  );
  const { flow } = flowIn(told.finish({ kind: "canceled", reason: "stopped" }));
  assert.deepEqual(flow.open, []);
  assert.deepEqual(
    flow.steps.map(({ status }) => status),
    ["canceled", "canceled"],
  );
  assert.equal(flow.activities.get("publish.wf.md")?.get("ASK_SURE")?.status, "canceled");
});

test("the output of a running script is kept until its step ends", () => {
  const work = { workId: 0, taskId: "flow.wf.md", iteration: 1 };
  const told = new FlowTelling()
    .begin({ activity: "EXECUTE_BUILD", input: { kind: "execute", scripts: [] } })
    .say({ type: "step.output", work, step: 1, script: 0, text: "one\n" })
    .say({ type: "step.output", work, step: 1, script: 0, text: "x".repeat(KEPT_STEP_TEXT - 4) });
  const { printed } = flowIn(told).flow.open[0] ?? {};
  assert.equal(printed, `one\n${"x".repeat(KEPT_STEP_TEXT - 4)}`);
  told.say({ type: "step.output", work, step: 1, script: 0, text: "y" });
  assert.equal(flowIn(told).flow.open[0]?.printed.length, KEPT_STEP_TEXT);
  assert.equal(flowIn(told.end()).flow.steps.at(-1)?.printed, "");
});

test("a workflow that starts again in a loop has a path of its own", () => {
  const told = buildStory().finish();
  const again = { workId: 0, taskId: "flow.wf.md", iteration: 2 };
  told.say({ type: "work.started", work: again, modelId: "m" });
  const { flow } = flowIn(told);
  assert.equal(flow.stepCount, 0);
  assert.equal(flow.chart?.main, chart.main);
});

test("a thousand steps take no more memory than the latest ones", () => {
  const view = createRunView();
  const told = new FlowTelling(flowTree());
  for (let round = 0; round < 500; round += 1) {
    told.prompt("PROMPT_PLAN", "p".repeat(20_000), "a".repeat(20_000), { to: "EXECUTE_BUILD" });
    told.execute("EXECUTE_BUILD", "c", { exitCode: 1, output: "o".repeat(20_000) });
    for (const event of told.events.splice(0)) applyEvent(view, event);
  }
  const flow = view.works.get(0)?.flow;
  assert.equal(flow?.stepCount, 1_000);
  assert.equal(flow.steps.length, KEPT_STEPS);
  const visited = flow.activities.get("flow.wf.md")?.get("PROMPT_PLAN");
  assert.equal(visited?.hits, 500);
  assert.equal(visited.visits.length, KEPT_VISITS);
  const size = JSON.stringify(flow, (_key, value: unknown) =>
    value instanceof Map ? [...value] : value,
  ).length;
  // Three texts at most for each step.
  assert.ok(size < KEPT_STEPS * 4 * KEPT_STEP_TEXT, String(size));
});

test("decisions of a workflow know the file of their activity", () => {
  const work = { workId: 0, taskId: "flow.wf.md", iteration: 1 };
  const told = new FlowTelling()
    .begin({ activity: "CALL_PUBLISH" })
    .begin({ activity: "ASK_SURE", file: "publish.wf.md" })
    .say({
      type: "decision",
      work,
      decision: { kind: "name-missing", activity: "ASK_SURE", name: "X" },
    });
  const [entry] = flowIn(told).work.decisions;
  assert.deepEqual(entry?.place, { file: "publish.wf.md", activity: "ASK_SURE" });
  assert.equal(entry.text, "ASK_SURE: {{X}} has no value and stays as it is");
});

test("both ends of a text stay, and say how much is missing", async (t) => {
  await holds(
    t,
    fc.property(
      fc.string({ unit: anyCharacter, maxLength: 60 }),
      fc.nat({ max: 40 }),
      (text, most) => {
        const kept = truncateMiddle(text, most);
        if (text.length <= most) return assert.equal(kept, text);
        const [, head = "", left, tail = ""] =
          /^(.*)\n\[(\d+) characters left out\]\n(.*)$/su.exec(kept) ?? [];
        assert.ok(text.startsWith(head) && text.endsWith(tail));
        assert.equal(head.length + Number(left) + tail.length, text.length);
        assert.doesNotMatch(head + tail, /\p{Surrogate}/u);
      },
    ),
    500,
  );
});

test("a text that is cut twice says how much is missing of the first one", () => {
  const twice = truncateMiddle(truncateMiddle("x".repeat(1_000_000), 10_000), 1_000);
  assert.match(twice, /^x{500}\n\[999000 characters left out\]\nx{500}$/);
});
