import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { resolveLimits, setBy } from "../../src/engine/limits.ts";
import { type FlowSpec, planOf, type JobSpec } from "../../src/engine/plan.ts";
import { workflowLimits, type Work } from "../../src/entry/model.ts";
import { validateEntry } from "../../src/entry/prepare.ts";
import { plannedWorks, type RunPlan } from "../../src/events/plan.ts";
import { identity } from "../rig/plan.ts";

const entry = validateEntry(
  {
    models: { driving: "driver", small: "little" },
    tasks: {
      a: { prompt: "A", model: { category: "small" } },
      b: { prompt: "B", model: { category: "driving" } },
      unused: { prompt: "C", model: { id: "other" } },
    },
    jobs: {
      j: {
        work: {
          kind: "Seq",
          works: [
            { kind: "Ref", taskId: "a" },
            {
              kind: "Alt",
              condition: { kind: "Ref", taskId: "b", modelOverride: { id: "big" } },
              trueWork: { kind: "Loop", body: { kind: "Ref", taskId: "a" }, atMost: 2 },
            },
          ],
        },
      },
    },
    limits: { idleMinutes: 3 },
  },
  "",
);

const spec = {
  ...identity,
  jobName: "j",
  entry,
  userInput: "the input",
  workingDirectory: "/w",
  limits: resolveLimits(
    entry.limits,
    { modelCalls: 9, setBy: setBy({ modelCalls: 9 }, "a.rehearsal.yml") },
    { jobMinutes: 5, setBy: { jobMinutes: "--timeout-minutes" } },
  ),
  permissionsOf: (taskId: string) => ({ preset: "read-only", url: [taskId] }) as const,
};
const { work } = entry.jobs["j"] ?? assert.fail();

const plain = (plan: RunPlan): RunPlan => {
  const parsed: RunPlan = JSON.parse(JSON.stringify(plan));
  return parsed;
};

describe("the plan of a run", () => {
  it("names limits that only concern workflows if they are set, or if the job has a workflow", () => {
    const namesOf = (spec: JobSpec, work: Work<number>): string[] =>
      workflowLimits.filter((name) => planOf(spec, work).limits[name] !== undefined);
    assert.deepEqual(namesOf(spec, work), []);
    assert.deepEqual(planOf(spec, work).limits.cost, { value: 1000, source: "default" });
    const hits = { ...spec, limits: resolveLimits({ activityHits: 5 }) };
    assert.deepEqual(namesOf(hits, work), ["activityHits"]);
    const flow: FlowSpec = {
      modelId: "m",
      permissions: "read-only",
      chart: { main: "", files: {} },
      run: () => Promise.reject(new Error("It is only planned.")),
    };
    const leaf = { kind: "Flow", file: "f.wf.md", workIdInJob: 9 } as const;
    assert.deepEqual(
      namesOf({ ...spec, flows: { "f.wf.md": flow } }, { kind: "Seq", works: [work, leaf] }),
      workflowLimits,
    );
  });

  it("is the job's tree, in which every task has its id, its number and its model", () => {
    const plan = plain(planOf(spec, work));
    const json = JSON.stringify(plan.work);
    assert.match(json, /^\{"kind":"Seq".*"kind":"Alt","condition".*"trueWork".*"atMost":2/);
    assert.match(json, /"modelOverride":\{"id":"big"\}/);
    assert.deepEqual(
      plannedWorks(plan.work).map(({ workId, taskId, modelId, condition }) => [
        workId,
        taskId,
        modelId,
        condition,
      ]),
      [
        [0, "a", "little", false],
        [1, "b", "big", true],
        [2, "a", "little", false],
      ],
    );
    assert.equal(JSON.stringify(work).includes("little"), false, "the entry is not changed");
  });

  it("says what each limit is and where it comes from", () => {
    const { limits } = plain(planOf(spec, work));
    assert.deepEqual(limits.jobMinutes, { value: 5, source: "--timeout-minutes" });
    assert.deepEqual(limits.modelCalls, {
      value: 9,
      source: "limits.modelCalls of a.rehearsal.yml",
    });
    assert.deepEqual(limits.idleMinutes, { value: 3, source: "limits.idleMinutes of the entry" });
    assert.deepEqual(limits.parallel, { value: 8, source: "default" });
    assert.deepEqual(limits.tokens, { value: 20_000_000, source: "default" });
    assert.deepEqual(JSON.parse(JSON.stringify(limits)), limits, "JSON has no infinity");
  });

  it("has the models as used, the permissions of the tasks of the job, and the user input", () => {
    const { models, permissions, userInput, version, entryFingerprint } = plain(planOf(spec, work));
    assert.deepEqual(models, { driving: "driver", small: "little" });
    assert.deepEqual(Object.keys(permissions), ["a", "b"]);
    assert.deepEqual(permissions["a"], { preset: "read-only", url: ["a"] });
    assert.deepEqual(
      { userInput, version, entryFingerprint },
      { userInput: "the input", ...identity },
    );
  });

  it("of a task in a borrowed session leaves its permissions to the lender", () => {
    const { jobName: _, ...ofRun } = spec;
    const one = { ...ofRun, taskName: "a", ignorePrerequisiteCheck: false };
    const alone: Work<number> = { kind: "Ref", workIdInJob: 0, taskId: "a" };
    assert.deepEqual(planOf(one, alone).permissions, { a: { preset: "read-only", url: ["a"] } });
    const unused = () => assert.fail("A plan runs nothing.");
    const borrowed = { id: "s", modelId: "m", runTurn: unused, close: unused };
    const plan = planOf({ ...one, borrowed }, alone);
    assert.deepEqual(plan.permissions, {});
    assert.deepEqual(plannedWorks(plan.work), [
      { workId: 0, taskId: "a", modelId: "m", condition: false },
    ]);
  });
});
