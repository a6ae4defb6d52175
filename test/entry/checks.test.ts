import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { availableTools } from "../../src/entry/model.ts";
import { prepareEntry } from "../../src/entry/prepare.ts";
import { entryWith, entryWithTask, entryWithWork, prepared, problemsOf, task } from "./rig.ts";

const boolean = "Call job_boolean_true or job_boolean_false.";
const retry = { failureAction: { retryTimes: 1 } };

/** An entry, and everything that is wrong with it. */
type Cases = Readonly<Record<string, readonly [entry: unknown, ...problems: string[]]>>;

function table(name: string, cases: Cases): void {
  describe(name, () => {
    for (const [what, [entry, ...problems]] of Object.entries(cases)) {
      it(what, () => assert.deepEqual(problemsOf(entry), problems));
    }
  });
}

const mustBeTrue =
  'entry.tasks["a"].requireUserInput: Must be true, because the prompt uses $user-input.';
const mustNotBeTrue =
  'entry.tasks["a"].requireUserInput: Must not be true, because the prompt doesn\'t use $user-input.';

table("models", {
  "must have a driving model": [
    entryWith({ models: { fast: "quick" } }),
    "entry.models.driving: This field is required.",
  ],
  "are ids": [
    entryWith({ models: { driving: "", fast: 3 } }),
    "entry.models.driving: Must not be empty.",
    'entry.models["fast"]: Must be text or an object, not 3.',
  ],
  "are found by the category of a task": [
    entryWithTask({ model: { category: "slow" } }),
    'entry.tasks["a"].model.category: There is no model category "slow".',
  ],
  "may be the driving model": [entryWithTask({ model: { category: "driving" } })],
  "may be given by id, which is not looked up": [entryWithTask({ model: { id: "anything" } })],
  "are given by category or id, not both": [
    entryWithTask({ model: { category: "fast", id: "x" } }),
    'entry.tasks["a"].model: Must have exactly one of the fields "category" or "id".',
  ],
});

table("the grid", {
  "may have empty cells": [
    entryWith({ grid: [{ keyword: "k", jobs: [null, { name: "n", jobName: "j" }] }] }),
  ],
  "names jobs": [
    entryWith({ grid: [{ keyword: "k", jobs: [null, { name: "n", jobName: "x" }] }] }),
    'entry.grid[0].jobs[1].jobName: There is no job "x".',
  ],
});

table("requireUserInput of a task", {
  "goes with $user-input": [entryWithTask({ prompt: "$user-input", requireUserInput: true })],
  "may be false": [entryWithTask({ requireUserInput: false })],
  "must not be true without it": [entryWithTask({ requireUserInput: true }), mustNotBeTrue],
  "must be true with it": [entryWithTask({ prompt: "$user-input" }), mustBeTrue],
  "must not be false with it": [
    entryWithTask({ prompt: "$user-input", requireUserInput: false }),
    mustBeTrue,
  ],
  "is about the evaluated prompt": [
    entryWithTask({ prompt: "$v" }, { promptVariables: { v: "$w", w: "$user-input" } }),
    mustBeTrue,
  ],
  "is not about $$user-input, nor about longer names": [
    entryWithTask(
      { prompt: "$$user-input, $v", requireUserInput: true },
      { promptVariables: { v: "$$user-input" } },
    ),
    mustNotBeTrue,
  ],
  "is not about conditions and additional prompts": [
    entryWithTask({
      availability: { condition: `$user-input ${boolean}` },
      criteria: {
        condition: `$user-input ${boolean}`,
        failureAction: { retryTimes: 1, additionalPrompt: "$user-input" },
      },
    }),
  ],
});

table("availability and criteria", {
  "name tasks": [
    entryWithTask({ availability: { previousTasks: ["a", "b"] } }),
    'entry.tasks["a"].availability.previousTasks[1]: There is no task "b".',
  ],
  "name tools": [entryWithTask({ criteria: { toolExecuted: [...availableTools], ...retry } })],
  "name no other tools": [
    entryWithTask({ criteria: { toolExecuted: ["job_boolean_true", "bash"], ...retry } }),
    'entry.tasks["a"].criteria.toolExecuted[1]: There is no tool "bash".',
  ],
  "ask for a boolean tool in their conditions": [
    entryWithTask({ availability: { condition: "?" }, criteria: { condition: ["?"], ...retry } }),
    'entry.tasks["a"].availability.condition: The prompt must mention job_boolean_true or job_boolean_false.',
    'entry.tasks["a"].criteria.condition: The prompt must mention job_boolean_true or job_boolean_false.',
  ],
  "ask for none in the prompt and the additional prompt": [
    entryWithTask({ criteria: { failureAction: { retryTimes: 1, additionalPrompt: "x" } } }),
  ],
  "need no failure action": [entryWithTask({ criteria: { condition: boolean } }, { jobs: {} })],
  "count retries in whole numbers from 0": [
    entryWith({
      tasks: {
        a: { prompt: "x", criteria: { failureAction: { retryTimes: -1 } } },
        b: { prompt: "x", criteria: { failureAction: { retryTimes: 1.5 } } },
        c: { prompt: "x", criteria: { failureAction: { retryTimes: 0 } } },
      },
      jobs: {},
    }),
    'entry.tasks["a"].criteria.failureAction.retryTimes: Must be at least 0, not -1.',
    'entry.tasks["b"].criteria.failureAction.retryTimes: Must be a whole number, not 1.5.',
  ],
});

table("prompts", {
  ...Object.fromEntries(
    Object.entries({
      prompt: { prompt: "$x" },
      "availability.condition": { availability: { condition: `$x ${boolean}` } },
      "criteria.condition": { criteria: { condition: ["$x", boolean], ...retry } },
      "criteria.failureAction.additionalPrompt": {
        criteria: { failureAction: { retryTimes: 1, additionalPrompt: "$x" } },
      },
    }).map(([field, fields]) => [
      `find their variables, or say so: ${field}`,
      [
        entryWithTask(fields),
        `entry.tasks["a"].${field}: Cannot find prompt variable: $x.`,
      ] as const,
    ]),
  ),
  "show the way through variables": [
    entryWithTask({ prompt: "$v" }, { promptVariables: { v: "$w", w: "$x" } }),
    'entry.tasks["a"].prompt/$v/$w: Cannot find prompt variable: $x.',
  ],
  "report a fault in a variable once, however often it is used": [
    entryWith({
      promptVariables: { v: "$x" },
      tasks: { a: { prompt: "$v $v" }, b: { prompt: "$v" } },
      jobs: {},
    }),
    'entry.tasks["a"].prompt/$v: Cannot find prompt variable: $x.',
  ],
  "say nothing of variables that nobody uses": [
    entryWith({ promptVariables: { v: "$x", w: "$w" } }),
  ],
  "must not be empty": [
    entryWithTask({ prompt: [] }),
    'entry.tasks["a"].prompt: Must have at least one element.',
  ],
  "must not be blank": [
    entryWithTask({ prompt: [" ", ""] }),
    'entry.tasks["a"].prompt: The prompt is empty.',
  ],
});

table("works", {
  "name tasks": [
    entryWithWork({
      kind: "Alt",
      condition: task("x"),
      falseWork: { kind: "Loop", body: task("y"), postCondition: [true, task("z")] },
    }),
    'entry.jobs["j"].work.condition.taskId: There is no task "x".',
    'entry.jobs["j"].work.falseWork.body.taskId: There is no task "y".',
    'entry.jobs["j"].work.falseWork.postCondition[1].taskId: There is no task "z".',
  ],
  "override models by categories that exist": [
    entryWithWork({ kind: "Ref", taskId: "a", modelOverride: { category: "slow" } }),
    'entry.jobs["j"].work.modelOverride.category: There is no model category "slow".',
  ],
  "must override the model of a task that has none": [
    entryWith({
      tasks: { a: { prompt: "x" } },
      jobs: {
        j: {
          work: {
            kind: "Par",
            works: [task("a"), { kind: "Ref", taskId: "a", modelOverride: { id: "m" } }],
          },
        },
      },
    }),
    'entry.jobs["j"].work.works[0].modelOverride: This field is required, because task "a" has no model.',
  ],
  "have at least one part": [
    entryWithWork({
      kind: "Seq",
      works: [
        { kind: "Par", works: [] },
        { kind: "Seq", works: [] },
      ],
    }),
    'entry.jobs["j"].work.works[0].works: Must have at least one element.',
    'entry.jobs["j"].work.works[1].works: Must have at least one element.',
  ],
});

describe("requireUserInput of a job", () => {
  const tasks = {
    a: { model: { id: "m" }, prompt: "x" },
    u: { model: { id: "m" }, prompt: "$user-input", requireUserInput: true },
  };
  const job = (requireUserInput: boolean, work: unknown): object =>
    entryWith({ tasks, jobs: { j: { requireUserInput, work } } });
  const a = task("a");
  const u = task("u");
  const places = [
    u,
    { kind: "Seq", works: [a, u] },
    { kind: "Par", works: [a, { kind: "Seq", works: [u] }] },
    { kind: "Loop", body: u },
    { kind: "Loop", body: a, preCondition: [true, u] },
    { kind: "Loop", body: a, postCondition: [true, u] },
    { kind: "Alt", condition: u },
    { kind: "Alt", condition: a, trueWork: u },
    { kind: "Alt", condition: a, falseWork: u },
  ];

  it("must be true where any task requires it, and is filled in as such", () => {
    for (const work of places) {
      assert.deepEqual(problemsOf(job(true, work)), []);
      assert.deepEqual(problemsOf(job(false, work)), [
        'entry.jobs["j"].requireUserInput: Must be true, because task "u" requires user input.',
      ]);
      assert.equal(
        prepared(entryWith({ tasks, jobs: { j: { work } } })).jobs["j"]?.requireUserInput,
        true,
      );
    }
  });

  it("must not be true where none does", () => {
    assert.deepEqual(problemsOf(job(false, a)), []);
    assert.deepEqual(problemsOf(job(true, { kind: "Seq", works: [a, a] })), [
      'entry.jobs["j"].requireUserInput: Must not be true, because no task of the job requires user input.',
    ]);
  });
});

const loop = (more: object): object => ({ kind: "Loop", body: task("a"), ...more });
const inLoop = (index: number): string => `entry.jobs["j"].work.works[${index}]`;

table("loops", {
  "are bounded by a whole number of passes, and atMostReached requires it": [
    entryWithWork({
      kind: "Seq",
      works: [
        loop({ atMost: 0 }),
        loop({ atMost: 1.5, atMostReached: "fail" }),
        loop({ atMost: "5" }),
        loop({ atMost: 2, atMostReached: "stop" }),
        loop({ atMostReached: "succeed" }),
        loop({ atmost: 2 }),
      ],
    }),
    `${inLoop(0)}.atMost: Must be at least 1, not 0.`,
    `${inLoop(1)}.atMost: Must be a whole number, not 1.5.`,
    `${inLoop(2)}.atMost: Must be a whole number, not the text "5".`,
    `${inLoop(3)}.atMostReached: Must be "fail" or "succeed", not the text "stop".`,
    `${inLoop(4)}.atMostReached: Requires atMost.`,
    `${inLoop(5)}.atmost: Unknown field "atmost".`,
  ],
});

const result = { criteria: { result: { properties: {} }, ...retry } };
const withPrompt = (prompt: string, more: object = {}): object => ({
  model: { id: "m" },
  prompt,
  ...more,
});

table("variables of tasks and inputs", {
  "name a task or an input that there is, and a result that is asked for": [
    entryWith({
      tasks: {
        plan: withPrompt("p"),
        made_up: withPrompt("p"),
        next: withPrompt("$report-of-plam $result-of-plan $report-of-made_up $input-b $input-a"),
      },
      inputs: { a: { description: "A." } },
      jobs: {},
    }),
    'entry.tasks["next"].prompt: $report-of-plam: there is no task "plam".',
    'entry.tasks["next"].prompt: $result-of-plan: task "plan" has no criteria.result.',
    'entry.tasks["next"].prompt: $report-of-made: there is no task "made".',
    'entry.tasks["next"].prompt: $input-b: there is no input "b".',
  ],
  "may insert a result": [
    entryWith({
      tasks: { plan: withPrompt("p", result), next: withPrompt("$result-of-plan") },
      jobs: {},
    }),
  ],
  "have defaults among their options, and outputs name tasks": [
    entryWith({
      inputs: {
        a: { description: "A.", options: ["x", "y"], default: "z" },
        b: { description: "B.", required: true, default: "z" },
      },
      outputs: { report: { from: ["a", "none"] } },
    }),
    'entry.inputs["a"].default: Must be one of its options: x, y.',
    'entry.inputs["b"].default: A required input has no default.',
    'entry.outputs.report.from[1]: There is no task "none".',
  ],
});

table("drivingSessionRetries", {
  "begin with the driving model": [
    entryWith({
      drivingSessionRetries: [
        { modelId: "small", retries: 0 },
        { modelId: "x", retries: 2 },
      ],
    }),
  ],
  "begin with no other": [
    entryWith({ drivingSessionRetries: [{ modelId: "x", retries: 1 }] }),
    'entry.drivingSessionRetries[0].modelId: Must equal entry.models.driving, which is "small".',
  ],
  "are not empty": [
    entryWith({ drivingSessionRetries: [] }),
    "entry.drivingSessionRetries: Must have at least one element.",
  ],
});

describe("problems", () => {
  it("of the schema and of the checks are reported together", () => {
    const entry = entryWith({
      tasks: {
        a: { model: { category: "slow" }, prompt: "$nope", color: 1 },
        b: { prompt: 3, availability: { previousTasks: ["x", 4] } },
      },
      jobs: { j: { work: { kind: "Seq", works: [{ kind: "Reff" }, task("c")] } } },
      grid: [{ keyword: 1, jobs: [{ name: "n", jobName: "k" }] }],
    });
    assert.deepEqual(problemsOf(entry).sort(), [
      'entry.grid[0].jobs[0].jobName: There is no job "k".',
      "entry.grid[0].keyword: Must be text, not 1.",
      'entry.jobs["j"].work.works[0].kind: Must be "Ref", "Flow", "Run", "Seq", "Par", "Loop", "Alt" or "Each", not the text "Reff".',
      'entry.jobs["j"].work.works[1].taskId: There is no task "c".',
      'entry.tasks["a"].color: Unknown field "color".',
      'entry.tasks["a"].model.category: There is no model category "slow".',
      'entry.tasks["a"].prompt: Cannot find prompt variable: $nope.',
      'entry.tasks["b"].availability.previousTasks[0]: There is no task "x".',
      'entry.tasks["b"].availability.previousTasks[1]: Must be text, not 4.',
      'entry.tasks["b"].prompt: Must be text, a list or an object, not 3.',
    ]);
  });

  it("come with a guess at what was meant", () => {
    const result = prepareEntry(
      entryWith({
        promptVariables: { guideline: "x" },
        tasks: { review: { model: { category: "fats" }, prompt: "$guidelines", modle: 1 } },
        jobs: { j: { work: task("reveiw") } },
      }),
    );
    assert.deepEqual(
      result.kind === "rejected" && result.diagnostics.map(({ hint }) => hint),
      ["model", "fast", "guideline", "review"].map(
        (name) => `did you mean ${JSON.stringify(name)}?`,
      ),
    );
  });

  const u = { model: { id: "m" }, prompt: "$user-input", requireUserInput: true };
  const quiet: Cases = {
    "a misspelled tasks field": [
      { ...entryWith(), tasks: undefined, taks: { a: {} } },
      'entry.taks: Unknown field "taks".',
    ],
    "missing models": [entryWith({ models: undefined }), "entry.models: This field is required."],
    "models of a wrong type": [
      entryWith({ models: [] }),
      "entry.models: Must be an object, not a list.",
    ],
    "a broken model": [
      entryWith({ models: { driving: "d", fast: 1 } }),
      'entry.models["fast"]: Must be text or an object, not 1.',
    ],
    "a misspelled model of a task": [
      entryWith({ tasks: { a: { prompt: "x", modle: { id: "m" } } } }),
      'entry.tasks["a"].modle: Unknown field "modle".',
    ],
    "a misspelled modelOverride": [
      entryWith({
        tasks: { a: { prompt: "x" } },
        jobs: { j: { work: { ...task("a"), modelOveride: { id: "m" } } } },
      }),
      'entry.jobs["j"].work.modelOveride: Unknown field "modelOveride".',
    ],
    "a misspelled requireUserInput": [
      entryWith({
        tasks: { a: { model: { id: "m" }, prompt: "$user-input", requiresUserInput: true } },
        jobs: { j: { requireUserInput: true, work: task("a") } },
      }),
      'entry.tasks["a"].requiresUserInput: Unknown field "requiresUserInput".',
    ],
    "a requireUserInput of a wrong type": [
      entryWithTask({ prompt: "$user-input", requireUserInput: "yes" }),
      'entry.tasks["a"].requireUserInput: Must be true or false, not the text "yes".',
    ],
    "a task that forgot requireUserInput, in a job that did not": [
      entryWithTask(
        { prompt: "$user-input" },
        { jobs: { j: { requireUserInput: true, work: task("a") } } },
      ),
      mustBeTrue,
    ],
    "a broken variable": [
      entryWithTask({ prompt: "$v", requireUserInput: true }, { promptVariables: { v: ["x", 1] } }),
      'entry.promptVariables["v"][1]: Must be text or an object, not 1.',
    ],
    "misspelled promptVariables": [
      entryWithTask({ prompt: "$v" }, { promptVariable: { v: "x" } }),
      'entry.promptVariable: Unknown field "promptVariable".',
    ],
    "a variable that is not found, in a condition and for user input": [
      entryWithTask({ prompt: "$v", requireUserInput: true, availability: { condition: "$v" } }),
      'entry.tasks["a"].prompt: Cannot find prompt variable: $v.',
      'entry.tasks["a"].availability.condition: Cannot find prompt variable: $v.',
    ],
    "a work that is not understood, for the job's user input": [
      entryWith({
        jobs: {
          j: { requireUserInput: true, work: { kind: "Seq", works: [{ kind: "X" }, task("a")] } },
        },
      }),
      'entry.jobs["j"].work.works[0].kind: Must be "Ref", "Flow", "Run", "Seq", "Par", "Loop", "Alt" or "Each", not the text "X".',
    ],
    "a work that is not understood, in a job that requires none": [
      entryWith({
        jobs: { j: { requireUserInput: false, work: { kind: "Seq", works: [{ kind: "X" }] } } },
      }),
      'entry.jobs["j"].work.works[0].kind: Must be "Ref", "Flow", "Run", "Seq", "Par", "Loop", "Alt" or "Each", not the text "X".',
    ],
    "works that are missing, for the job's user input": [
      entryWith({ jobs: { j: { requireUserInput: true, work: { kind: "Par" } } } }),
      'entry.jobs["j"].work.works: This field is required.',
    ],
    "a task of a wrong type, for the job's user input": [
      entryWith({ tasks: { a: 3 }, jobs: { j: { requireUserInput: true, work: task("a") } } }),
      'entry.tasks["a"]: Must be an object, not 3.',
    ],
    "a condition that is not understood, for the job's user input": [
      entryWith({
        jobs: {
          j: { requireUserInput: true, work: { kind: "Loop", body: task("a"), preCondition: 1 } },
        },
      }),
      'entry.jobs["j"].work.preCondition: Must be a list, not 1.',
    ],
    "a branch that is not understood, for the job's user input": [
      entryWith({
        jobs: {
          j: { requireUserInput: true, work: { kind: "Alt", condition: task("a"), trueWork: 1 } },
        },
      }),
      'entry.jobs["j"].work.trueWork: Must be text, a list or an object, not 1.',
    ],
    "a task that does not exist, for the job's user input": [
      entryWith({ tasks: { u }, jobs: { j: { requireUserInput: true, work: task("v") } } }),
      'entry.jobs["j"].work.taskId: There is no task "v".',
    ],
    "jobs of a wrong type": [
      entryWith({ jobs: 1, grid: [{ keyword: "k", jobs: [{ name: "n", jobName: "j" }] }] }),
      "entry.jobs: Must be an object, not 1.",
    ],
  };
  it("beyond a number of them are left alone, with what they may have broken", () => {
    const prompt = Array.from({ length: 30_000 }, () => 1);
    const problems = problemsOf(entryWith({ tasks: { a: { prompt }, b: { prompt: 3 } } }));
    assert.ok(problems.length <= 20_000);
    assert.ok(problems.every((problem) => problem.endsWith(": Must be text or an object, not 1.")));
  });

  for (const [what, [entry, ...problems]] of Object.entries(quiet)) {
    it(`do not follow from one another: ${what}`, () => {
      assert.deepEqual(problemsOf(entry), problems);
    });
  }
});
