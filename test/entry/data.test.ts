import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadEntry } from "../../src/entry/load-entry.ts";
import type { Entry, Task, Work } from "../../src/entry/model.ts";
import { problemsOf, task as ref } from "./rig.ts";

const model = { category: "driving" } as const;
const result = { criteria: { result: { properties: {} }, failureAction: { retryTimes: 0 } } };
const entry = (
  tasks: Readonly<Record<string, Partial<Task>>>,
  more: Partial<Entry> = {},
): unknown => ({
  models: { driving: "m" },
  tasks: Object.fromEntries(
    Object.entries(tasks).map(([name, task]) => [name, { model, prompt: "p", ...task }]),
  ),
  jobs: {},
  ...more,
});

describe("variables of tasks and inputs", () => {
  it("must name a task or an input that there is, and a result that is asked for", () => {
    assert.deepEqual(
      problemsOf(
        entry(
          {
            plan: {},
            made_up: {},
            next: {
              prompt: "$report-of-plam $result-of-plan $report-of-made_up $input-b $input-a",
            },
          },
          { inputs: { a: { description: "A." } } },
        ),
      ),
      [
        'entry.tasks["next"].prompt: $report-of-plam: there is no task "plam".',
        'entry.tasks["next"].prompt: $result-of-plan: task "plan" has no criteria.result.',
        'entry.tasks["next"].prompt: $report-of-made: there is no task "made".',
        'entry.tasks["next"].prompt: $input-b: there is no input "b".',
      ],
    );
    assert.deepEqual(problemsOf(entry({ plan: result, next: { prompt: "$result-of-plan" } })), []);
  });

  it("inputs have defaults among their options, and outputs name tasks", () => {
    assert.deepEqual(
      problemsOf(
        entry(
          { plan: {} },
          {
            inputs: {
              a: { description: "A.", options: ["x", "y"], default: "z" },
              b: { description: "B.", required: true, default: "z" },
            },
            outputs: { report: { from: ["plan", "none"] } },
          },
        ),
      ),
      [
        'entry.inputs["a"].default: Must be one of its options: x, y.',
        'entry.inputs["b"].default: A required input has no default.',
        'entry.outputs.report.from[1]: There is no task "none".',
      ],
    );
  });

  it("a task that can't have run before is warned of, one that may have is not", async () => {
    const warnings = async (work: Work): Promise<readonly string[]> => {
      const tasks = { plan: {}, next: { prompt: "$report-of-plan" } };
      const text = JSON.stringify(entry(tasks, { jobs: { j: { work } } }));
      const loaded = loadEntry(text, "entry.json");
      assert.ok(loaded.kind === "loaded", JSON.stringify(loaded));
      return loaded.warnings
        .map(({ reason }) => reason)
        .filter((reason) => reason.includes("report-of"));
    };
    const told = ['$report-of-plan has no value here: task "plan" can\'t have run before.'];
    assert.deepEqual(await warnings({ kind: "Seq", works: [ref("next"), ref("plan")] }), told);
    assert.deepEqual(
      await warnings({ kind: "Alt", condition: ref("next"), trueWork: ref("plan") }),
      told,
    );
    assert.deepEqual(await warnings({ kind: "Seq", works: [ref("plan"), ref("next")] }), []);
    assert.deepEqual(await warnings({ kind: "Par", works: [ref("next"), ref("plan")] }), []);
    assert.deepEqual(
      await warnings({
        kind: "Loop",
        body: { kind: "Seq", works: [ref("next"), ref("plan")] },
        atMost: 2,
      }),
      [],
    );
  });

  it("what has no value where a work runs is warned of", () => {
    const reasons = (work: Work, prompt: string): readonly string[] => {
      const text = JSON.stringify(entry({ a: { prompt } }, { jobs: { j: { work } } }));
      const loaded = loadEntry(text, "entry.json");
      assert.ok(loaded.kind === "loaded", JSON.stringify(loaded));
      return loaded.warnings.map(({ reason }) => reason);
    };
    const each = (work: Work): Work => ({ kind: "Each", items: { values: [1] }, work });
    const flow: Work = { kind: "Flow", file: "a.wf.md", params: { A: "$reported-document" } };
    const no = (name: string, why: string): string[] => [`$${name} has no value here: ${why}.`];
    assert.deepEqual(reasons(each(ref("a")), "$item"), []);
    assert.deepEqual(
      reasons({ kind: "Seq", works: [ref("a")] }, "$item"),
      no("item", "no Each is around this work"),
    );
    const twice: Work = { kind: "Seq", works: [ref("a"), ref("a")] };
    const unknown = no("previous-result", "nothing runs before it");
    assert.deepEqual(reasons(twice, "$previous-result"), unknown);
    assert.deepEqual(
      reasons({ kind: "Seq", works: [ref("a"), flow] }, "p"),
      no("reported-document", "only the prompts of a task can use it"),
    );
  });
});
