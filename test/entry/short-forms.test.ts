/** A task's id in place of a `Ref`, a list in place of a `Seq`, and criteria without a failure action. */
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import type { Entry } from "../../src/entry/model.ts";
import { validateEntry } from "../../src/entry/prepare.ts";
import { entryWithTask, entryWithWork, linesOf, plainly, task } from "./rig.ts";

const workOf = (work: unknown): unknown =>
  plainly(validateEntry(entryWithWork(work), "").jobs["j"]?.work);

describe("the short form of a step", () => {
  const run = { kind: "Run", run: "make" };
  const cases: readonly (readonly [what: string, short: unknown, long: unknown])[] = [
    ["a task", "a", task("a")],
    ["a list", ["a", run], { kind: "Seq", works: [task("a"), run] }],
    [
      "lists in lists",
      ["a", ["a", ["a"]]],
      { kind: "Seq", works: [task("a"), task("a"), task("a")] },
    ],
    [
      "a list in Par",
      { kind: "Par", works: ["a", ["a", run]] },
      { kind: "Par", works: [task("a"), { kind: "Seq", works: [task("a"), run] }] },
    ],
    [
      "conditions and bodies",
      { kind: "Loop", preCondition: [true, "a"], body: ["a"], postCondition: [false, "a"] },
      {
        kind: "Loop",
        preCondition: [true, task("a")],
        body: { kind: "Seq", works: [task("a")] },
        postCondition: [false, task("a")],
      },
    ],
    [
      "branches",
      { kind: "Alt", condition: "a", trueWork: "a", falseWork: ["a"] },
      {
        kind: "Alt",
        condition: task("a"),
        trueWork: task("a"),
        falseWork: { kind: "Seq", works: [task("a")] },
      },
    ],
    [
      "each item",
      { kind: "Each", items: { values: [1] }, work: "a" },
      { kind: "Each", items: { values: [1] }, work: task("a") },
    ],
  ];
  for (const [what, short, long] of cases)
    it(`means the same: ${what}`, () => assert.deepEqual(workOf(short), workOf(long)));

  it("is in the type of an entry, and stays as it was written", () => {
    const entry: Entry = {
      models: { driving: "m" },
      tasks: { a: { prompt: "x", model: { id: "m" } } },
      jobs: { j: { work: ["a", { kind: "Par", works: ["a", ["a"]] }] } },
    };
    const before = JSON.stringify(entry);
    validateEntry(entry, "");
    assert.equal(JSON.stringify(entry), before);
  });
});

describe("a mistake in a short form", () => {
  const jobs = (work: string): readonly string[] =>
    linesOf(
      `models: { driving: m }\ntasks:\n  plan: { prompt: x, model: { category: driving } }\n  ask: { prompt: $user-input, requireUserInput: true }\njobs:\n  j:\n    requireUserInput: false\n    work: ${work}\n`,
    );
  for (const [what, work, problem] of [
    [
      "an unknown task",
      "[plan, paln]",
      'e.yml:8:18: entry.jobs["j"].work[1]: There is no task "paln". (did you mean "plan"?)',
    ],
    [
      "a workflow",
      "flow.wf.md",
      'e.yml:8:11: entry.jobs["j"].work: There is no task "flow.wf.md". (write { kind: Flow, file: flow.wf.md })',
    ],
    [
      "nothing in a list",
      "[]",
      'e.yml:8:11: entry.jobs["j"].work: Must have at least one element.',
    ],
    [
      "a number",
      "[plan, 1]",
      'e.yml:8:18: entry.jobs["j"].work[1]: Must be text, a list or an object, not 1.',
    ],
  ] as const)
    test(`is reported where it is: ${what}`, () => assert.deepEqual(jobs(work), [problem]));

  test("is reported where it is: a task without a model, which needs user input", () => {
    const found = jobs("[plan, ask]").join("\n");
    assert.match(found, /e\.yml:8:18: .*work\[1\].*required, because task "ask" has no model/);
    assert.match(found, /e\.yml:7:\d+: .*Must be true, because task "ask" requires user input/);
  });
});

test("criteria without a failure action allow no retry", () => {
  const entry = entryWithTask({ criteria: { toolExecuted: ["job_report"] } });
  const { criteria } = validateEntry(entry, "").tasks["a"] ?? assert.fail();
  assert.deepEqual(criteria?.failureAction, { retryTimes: 0 });
});
