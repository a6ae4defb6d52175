import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { DiagnosticsError } from "../../src/document/diagnostic.ts";
import { prepareEntry, validateEntry } from "../../src/entry/prepare.ts";
import {
  entryWith,
  entryWithTask,
  entryWithWork,
  plainly,
  prepared,
  problemsOf,
  task,
} from "./rig.ts";
import { rounds } from "../rig/nightly.ts";

const boolean = "Call job_boolean_true or job_boolean_false.";

describe("validateEntry", () => {
  it("takes what is undefined for absent, also in lists; in the grid it is an empty cell", () => {
    const entry = validateEntry(
      entryWith({
        tasks: { a: { prompt: ["a", undefined, "b"], model: { id: "m" } }, b: undefined },
        jobs: { j: { work: { kind: "Seq", works: [undefined, task("a")] } } },
        grid: [{ keyword: "k", jobs: [undefined, { name: "n", jobName: "j" }] }],
      }),
      "",
    );
    const { tasks, jobs, grid } = entry;
    assert.deepEqual(plainly([Object.keys(tasks), tasks["a"]?.prompt, jobs["j"]?.work, grid]), [
      ["a"],
      ["a\nb"],
      { kind: "Seq", works: [{ kind: "Ref", taskId: "a", workIdInJob: 0 }] },
      [{ keyword: "k", jobs: [null, { name: "n", jobName: "j" }] }],
    ]);
  });

  it("returns the entry prepared", () => {
    const entry = validateEntry(
      entryWith({
        promptVariables: { name: ["a", "b"], check: boolean },
        tasks: {
          a: {
            model: { id: "m" },
            prompt: ["$name", "$user-input $$"],
            requireUserInput: true,
            availability: { previousTasks: ["a"], condition: "$check" },
            criteria: {
              toolExecuted: ["job_prepare_document"],
              condition: ["$check"],
              runConditionInSameSession: false,
              failureAction: { retryTimes: 0, additionalPrompt: ["again", "$name"] },
            },
          },
        },
        jobs: {
          j: {
            work: {
              kind: "Seq",
              works: [
                { kind: "Seq", works: [task("a")] },
                { kind: "Ref", taskId: "a" },
              ],
            },
          },
        },
        limits: { jobMinutes: 0.5, parallel: 1 },
        permissions: "workspace",
      }),
      "",
    );
    assert.deepEqual(plainly(entry), {
      models: { driving: "small", fast: "quick" },
      promptVariables: { name: ["a", "b"], check: boolean },
      tasks: {
        a: {
          model: { id: "m" },
          prompt: ["a\nb\n$user-input $$"],
          requireUserInput: true,
          availability: { previousTasks: ["a"], condition: [boolean] },
          criteria: {
            toolExecuted: ["job_prepare_document"],
            condition: [boolean],
            runConditionInSameSession: false,
            failureAction: { retryTimes: 0, additionalPrompt: ["again\na\nb"] },
          },
        },
      },
      jobs: {
        j: {
          requireUserInput: true,
          work: {
            kind: "Seq",
            works: [
              { kind: "Ref", taskId: "a", workIdInJob: 0 },
              { kind: "Ref", taskId: "a", workIdInJob: 1 },
            ],
          },
        },
      },
      limits: { jobMinutes: 0.5, parallel: 1 },
      permissions: "workspace",
    });
  });

  it("fills requireUserInput of tasks and jobs with false where nothing needs it", () => {
    const entry = prepared(entryWith());
    assert.equal(entry.tasks["a"]?.requireUserInput, false);
    assert.equal(entry.jobs["j"]?.requireUserInput, false);
  });

  it("throws the first problem as its message, after the code path, and carries all", () => {
    const entry = entryWithTask({ model: { category: "slow" }, prompt: "$nope" });
    assert.throws(
      () => validateEntry(entry, "in tests: "),
      (error) => {
        assert.ok(error instanceof DiagnosticsError);
        assert.equal(
          error.message,
          'in tests: entry.tasks["a"].model.category: There is no model category "slow".',
        );
        assert.deepEqual(
          error.diagnostics.map(({ codePath, reason }) => [codePath, reason]),
          [
            ['in tests: entry.tasks["a"].model.category', 'There is no model category "slow".'],
            ['in tests: entry.tasks["a"].prompt', "Cannot find prompt variable: $nope."],
          ],
        );
        return true;
      },
    );
  });

  it("changes nothing in its input, and accepts a frozen one", () => {
    const entry = entryWithWork({ kind: "Seq", works: [{ kind: "Seq", works: [task("a")] }] });
    const text = JSON.stringify(entry);
    const freeze = (value: unknown): void => {
      if (typeof value === "object" && value !== null)
        Object.values(Object.freeze(value)).forEach(freeze);
    };
    freeze(entry);
    validateEntry(entry, "");
    assert.equal(JSON.stringify(entry), text);
    assert.notEqual(problemsOf({ ...entry, models: {} }).length, 0);
    assert.equal(JSON.stringify(entry), text);
  });

  it("accepts what it has prepared, and leaves it as it is", () => {
    const entry = prepared(
      entryWithTask({ prompt: "$v $$v $5 $task-model" }, { promptVariables: { v: "cost $" } }),
    );
    assert.deepEqual(plainly(validateEntry(entry, "")), plainly(entry));
  });

  it("keeps names that objects are touchy about", () => {
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty"];
    const each = (value: unknown): string =>
      `{${names.map((name) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`).join(",")}}`;
    const works = names.map(task);
    const text = `{"models": {"driving": "d", ${each("m").slice(1)},
      "promptVariables": ${each("V")},
      "tasks": ${each({ model: { category: "constructor" }, prompt: "$constructor $toString" })},
      "jobs": ${each({ work: { kind: "Seq", works } })}}`;
    const entry = prepared(JSON.parse(text));
    assert.deepEqual(Object.keys(entry.tasks), names);
    assert.deepEqual(Object.keys(entry.jobs), names);
    assert.deepEqual(entry.tasks["__proto__"]?.prompt, ["V V"]);
    assert.equal(entry.tasks["valueOf"], undefined);
    assert.equal(entry.jobs["valueOf"], undefined);
  });

  it("does not find names that objects inherit", () => {
    const entry = entryWith({
      tasks: {
        a: {
          model: { category: "constructor" },
          prompt: "$toString",
          availability: { previousTasks: ["__proto__"] },
        },
      },
      jobs: { j: { work: task("hasOwnProperty") } },
      grid: [{ keyword: "k", jobs: [{ name: "n", jobName: "valueOf" }] }],
    });
    assert.deepEqual(problemsOf(entry), [
      'entry.tasks["a"].model.category: There is no model category "constructor".',
      'entry.tasks["a"].prompt: Cannot find prompt variable: $toString.',
      'entry.tasks["a"].availability.previousTasks[0]: There is no task "__proto__".',
      'entry.jobs["j"].work.taskId: There is no task "hasOwnProperty".',
      'entry.grid[0].jobs[0].jobName: There is no job "valueOf".',
    ]);
  });

  it("answers any value with an entry or with diagnostics", () => {
    const words =
      "models tasks jobs driving a prompt model work kind works Ref Seq Par Loop Alt taskId category " +
      "criteria condition body __proto__ permissions limits grid promptVariables $user-input $a";
    const near = fc.constantFrom(...words.split(" "));
    const value = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 6 },
        fc.oneof(
          near,
          fc.anything({ maxDepth: 1, withBigInt: true, withDate: true, withMap: true }),
        ),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(near, tie("value"), { maxKeys: 6 }),
      ),
    })).value;
    fc.assert(
      fc.property(value, (entry) => {
        const result = prepareEntry(entry);
        if (result.kind === "prepared") return;
        assert.ok(result.diagnostics.length > 0);
        for (const { codePath, reason } of result.diagnostics) {
          assert.match(codePath, /^entry/);
          assert.match(reason, /[.]$/);
        }
      }),
      rounds(1000),
    );
  });
});
