import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Entry, Task } from "../../src/entry/model.ts";
import { problemsOf } from "./rig.ts";

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
});
