import type { FlowChart } from "../../src/events/flow.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { chartOf, flowPathChart, isDrawable, printFlow } from "../../src/reports/flow-chart.ts";
import { anyCharacter } from "../rig/any-character.ts";
import { buildStory, chart, flowTree, FlowTelling, node } from "../rig/flow-events.ts";
import { planned, ref } from "../rig/plan.ts";
import { holds } from "../rig/fuzz.ts";

function pathOf(told: FlowTelling): string {
  const flow = told.view.works.get(0)?.flow;
  assert.ok(flow !== undefined);
  return flowPathChart(flow) ?? "";
}

/** The names of nodes by their first line, and the classes of each. */
function parts(text: string) {
  const names = new Map(
    Array.from(
      text.matchAll(/^ +(n\d+)[[({/]+"(.*?)(?:#58;|<br\/>|")/gm),
      ([, name = "", label = ""]) => [label, name],
    ),
  );
  const classes = new Map<string, string[]>();
  for (const [, of = "", style = ""] of text.matchAll(/^ +class (\S+) (\S+)$/gm))
    for (const name of of.split(",")) classes.set(name, [...(classes.get(name) ?? []), style]);
  return {
    arrow: (from: string, to: string): string =>
      new RegExp(`^ +${names.get(from)} (\\S+?)(\\|".*"\\|)? ${names.get(to)}$`, "m")
        .exec(text)
        ?.slice(1)
        .join("") ?? "none",
    classes: (label: string) => classes.get(names.get(label) ?? "") ?? [],
  };
}

test("the path shows the order and hits of activities, and which arrows were taken how often", () => {
  const text = pathOf(buildStory());
  assert.match(text, /"PROMPT_PLAN#58; User Plan<br\/>✓ 2, 4"/);
  assert.match(
    text,
    /subgraph f0\["docs\/flow.wf.md"\][\s\S]*subgraph f1\["docs\/publish.wf.md"\]/,
  );
  assert.match(text, /"SUCCESS<br\/>✓ 11 · last"/);
  const { arrow, classes } = parts(text);
  assert.equal(arrow("PROMPT_PLAN", "EXECUTE_BUILD"), '==>|"×2"|');
  assert.equal(arrow("EXECUTE_BUILD", "PROMPT_PLAN"), '==>|"FAILED"|');
  assert.equal(arrow("CHECK_OK", "PROMPT_PLAN"), '-.->|"FALSE"|');
  assert.equal(arrow("CALL_PUBLISH", "FAILED"), '-.->|"FAILED"|');
  assert.deepEqual(classes("EXECUTE_BUILD"), ["succeeded"]);
  assert.deepEqual(classes("ASK_NEVER"), ["pending"]);
});

test("a failed activity, a check that does not hold, and the current one are marked", () => {
  const failed = new FlowTelling()
    .step({ activity: "CHECK_OK", succeeded: false, to: "PROMPT_PLAN", reason: "no" })
    .execute("EXECUTE_BUILD", "x", { exitCode: 2 });
  assert.deepEqual(parts(pathOf(failed)).classes("EXECUTE_BUILD"), ["failed", "last"]);
  assert.deepEqual(parts(pathOf(failed)).classes("CHECK_OK"), ["answered"]);
  assert.match(pathOf(failed), /EXECUTE_BUILD#58; npm run build<br\/>✗ 2 · last/);
  const running = new FlowTelling().begin({ activity: "PROMPT_PLAN" });
  assert.deepEqual(parts(pathOf(running)).classes("PROMPT_PLAN"), ["running", "last"]);
  assert.match(pathOf(running), /PROMPT_PLAN#58; User Plan<br\/>… 1 · now/);
  assert.doesNotMatch(pathOf(running), /subgraph/);
});

test("many visits are counted, and the first ones named", () => {
  const told = new FlowTelling();
  for (let hit = 1; hit <= 40; hit += 1) told.step({ activity: "PROMPT_PLAN", hit });
  assert.match(pathOf(told), /✓ 1, 2, 3, 4, 5, … \(40 times\) · last/);
});

test("the chart of a run is that of its only workflow, else that of the job", () => {
  const told = buildStory();
  assert.equal(chartOf(told.view), pathOf(told));
  const view = new FlowTelling({ kind: "Seq", works: [flowTree(), ref(1, "review")] }).view;
  assert.match(chartOf(view), /"flow.wf.md #35;0"[\s\S]*"review #35;1"/);
  view.plan = planned(ref(1, "review"));
  assert.match(chartOf(view), /"review #35;1"/);
});

function largeChart(count: number, label: string): FlowChart {
  const nodes = Array.from({ length: count }, (_, index) =>
    node(`SET_${index}`, label, { next: `SET_${index + 1}` }),
  );
  const main = {
    ...chart.files["flow.wf.md"],
    file: "flow.wf.md",
    parameters: [],
    activities: nodes,
  };
  return { main: "flow.wf.md", files: { ...chart.files, "flow.wf.md": main } };
}

test("a chart that GitHub would refuse is not drawn; of many files then the first one", () => {
  const of = (large: FlowChart): FlowTelling =>
    new FlowTelling(flowTree(large)).step({ activity: "SET_0", to: "SET_1" });
  assert.notEqual(pathOf(of(largeChart(499, "x"))), "");
  assert.equal(pathOf(of(largeChart(502, "x"))), "");
  assert.equal(pathOf(of(largeChart(490, "<".repeat(100)))), "");
  const called = of(largeChart(500, "x")).step({ activity: "START", file: "publish.wf.md" });
  assert.ok(!pathOf(called).includes("subgraph"));
  assert.ok(isDrawable(pathOf(called)));
});

test("nothing of a label or a file name is syntax", async (t) => {
  const hostile = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 30 }),
    fc.constantFrom(
      '"]\nclick n0 "https://evil.example"',
      "%%{init: {}}%%",
      "end",
      "```",
      "|x|",
      "<b>",
    ),
  );
  await holds(
    t,
    fc.property(hostile, hostile, hostile, (id, label, file) => {
      const activities = [
        { ...node("PROMPT_A", label, { next: id }), id: "PROMPT_A" },
        { ...node("PROMPT_B", label), id },
      ];
      const main = { file, parameters: [], activities };
      const told = new FlowTelling(
        flowTree({ main: "m", files: { m: main, o: { ...main, activities: [] } } }),
      );
      told.step({ activity: id, file: "m" }).step({ activity: "PROMPT_A", file: "o" });
      for (const line of pathOf(told).trimEnd().split("\n"))
        assert.match(
          line,
          /^flowchart TD$|^ {2}(?:subgraph f\d\["[^"\n]*"\]|end|n\d+\["[^"\n]*"\]|n\d (?:==>|-\.->) n\d|classDef \w+ [\w:#,. -]+|class [n\d,]+ \w+)$/,
        );
    }),
    300,
  );
});

test("the plain chart has no marks", () => {
  assert.match(printFlow(chart), /^ {2}n2 -->\|"FAILED"\| n1$/m);
  assert.doesNotMatch(printFlow(chart), /class/);
});
