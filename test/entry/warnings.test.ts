/** What is no fault and yet surely not meant: warnings, beside an entry that is valid. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { loadEntry } from "../../src/run/entry-files.ts";
import { diagnosticLine } from "../../src/document/diagnostic.ts";
import { prepareEntry } from "../../src/entry/prepare.ts";
import { unusedUserInput } from "../../src/entry/warnings.ts";
import { taskWorks } from "../../src/entry/work.ts";
import { commands, names, tasks as everyTask } from "../rig/commands.ts";
import { play } from "../rig/engine.ts";
import { cpuTime } from "../rig/growth.ts";
import { rounds } from "../rig/nightly.ts";
import { acts, dice, works } from "../rig/random-works.ts";

const model = { category: "driving" };
const ref = (taskId: string): object => ({ kind: "Ref", taskId });
const seq = (...works: object[]): object => ({ kind: "Seq", works });
const par = (...works: object[]): object => ({ kind: "Par", works });

function entryOf(work: object, more: object = {}, tasks: object = {}): object {
  return {
    models: { driving: "m" },
    tasks: { a: { prompt: "a", model }, b: { prompt: "b", model }, ...tasks },
    jobs: { j: { work } },
    ...more,
  };
}

function warningsOf(entry: object): string[] {
  const loaded = loadEntry(JSON.stringify(entry), "e.json");
  assert.equal(loaded.kind, "loaded", JSON.stringify(loaded));
  return loaded.kind === "loaded" ? loaded.warnings.map(diagnosticLine) : [];
}

const both = seq(ref("a"), ref("b"));

describe("a pattern of commands", () => {
  for (const pattern of [
    "npm test && npm run lint",
    "git log | head",
    "git log; ls",
    "git diff > x",
    "echo $(ls)",
    "git commit -m 'a b'",
    'git log "--oneline"',
    "npm test # all",
    "(ls)",
    "   ",
  ]) {
    it(`that no command can match is one: ${pattern}`, () => {
      const of = (shell: string): string[] =>
        warningsOf(entryOf(both, { permissions: { shell: [shell] } }));
      assert.match(
        of(pattern).join(),
        /^e\.json:1:\d+: warning: entry\.permissions\.shell\[0\]: No command can match this pattern: /,
      );
      assert.match(of(`!${pattern}`).join(), /No command can match this pattern/);
    });
  }
  it("of a task as well", () => {
    const tasks = { a: { prompt: "a", model, permissions: { shell: ["ls", "ls | wc"] } } };
    assert.match(
      warningsOf(entryOf(both, {}, tasks)).join(),
      /entry\.tasks\["a"\]\.permissions\.shell\[1\]: No command can match/,
    );
  });
  it("that a command can match is none", () => {
    const shell =
      "git log *|git * --output*|npm run test:*|ls|*|eslint **|node scripts/**.js|git diff HEAD~1|!rm *|!git push|tool --x=*|ls a?b|*/x y";
    assert.deepEqual(warningsOf(entryOf(both, { permissions: { shell: shell.split("|") } })), []);
    assert.deepEqual(warningsOf(entryOf(both, { permissions: { shell: true } })), []);
    assert.deepEqual(warningsOf(entryOf(both, { permissions: "workspace" })), []);
  });
});

describe("what nothing uses", () => {
  it("is a task", () => {
    assert.match(
      warningsOf(entryOf(ref("a"))).join(),
      /^e\.json:1:\d+: warning: entry\.tasks\["b"\]: No job uses this task\.$/,
    );
    assert.deepEqual(warningsOf({ ...entryOf(both), jobs: {} }), [], "an entry for startTask");
    const delegating = {
      a: { prompt: "a", model, protocol: "actions" },
      b: { prompt: "b", model },
    };
    assert.deepEqual(warningsOf(entryOf(ref("a"), {}, delegating)), [], "it may be delegated to");
  });
  it("is a variable, also one that only such a variable uses", () => {
    const promptVariables = { used: "$deep", deep: "x", lone: "$deeper", deeper: "y", lit: "z" };
    const tasks = {
      a: { prompt: "$used $$lit", model },
      b: { prompt: "b", model, availability: { condition: "job_boolean_true" } },
    };
    assert.deepEqual(
      warningsOf(entryOf(both, { promptVariables }, tasks)).map((line) =>
        line.replace(/^.*?warning: /, ""),
      ),
      ["lone", "deeper", "lit"].map(
        (name) => `entry.promptVariables["${name}"]: No prompt uses this variable.`,
      ),
    );
  });
  it("is the user input that a job is given", () => {
    const user = { u: { prompt: "Say $user-input", model, requireUserInput: true } };
    const condition = {
      c: {
        prompt: "c",
        model,
        criteria: { condition: "$user-input? job_boolean_true", failureAction: { retryTimes: 0 } },
      },
    };
    const tasks = { ...user, ...condition };
    const jobs = { j: { work: both }, u: { work: ref("u") }, c: { work: seq(ref("a"), ref("c")) } };
    const prepared = prepareEntry({ ...entryOf(both, {}, tasks), jobs });
    assert.equal(prepared.kind, "prepared");
    if (prepared.kind !== "prepared") return;
    const of = (job: string, input: string | undefined): string | undefined =>
      unusedUserInput(prepared.entry, job, input);
    assert.match(
      of("j", "x") ?? "",
      /^The user input is not used: no prompt of the job "j" contains \$user-input\.$/,
    );
    assert.equal(of("j", ""), undefined);
    assert.equal(of("j", undefined), undefined);
    assert.equal(of("u", "x"), undefined);
    assert.equal(of("c", "x"), undefined);
  });
});

describe("a loop that never repeats", () => {
  it("is one without postCondition", () => {
    const loop = { kind: "Loop", preCondition: [true, ref("a")], body: ref("b") };
    assert.match(
      warningsOf(entryOf(seq(ref("a"), loop))).join(),
      /warning: entry\.jobs\["j"\]\.work\.works\[1\]: This loop never repeats\. \(.*atMost.*\)$/,
    );
    assert.match(
      warningsOf(entryOf(seq(ref("a"), { kind: "Loop", body: ref("b") }))).join(),
      /never repeats/,
    );
    assert.deepEqual(
      warningsOf(entryOf({ kind: "Loop", body: ref("b"), postCondition: [false, ref("a")] })),
      [],
    );
  });
  it("is one whose atMost is 1, unless its preCondition decides on the only pass", () => {
    const loop = (more: object): string =>
      warningsOf(
        entryOf(seq(ref("a"), { kind: "Loop", body: ref("b"), atMost: 1, ...more })),
      ).join();
    assert.match(loop({}), /This loop never repeats\./);
    assert.match(loop({ postCondition: [true, ref("a")] }), /This loop never repeats\./);
    assert.equal(loop({ preCondition: [true, ref("a")] }), "");
    assert.equal(loop({ atMost: 2 }), "");
  });
});

describe("previousTasks that can never hold", () => {
  const after = (...previousTasks: string[]): object => ({
    t: { prompt: "t", model, availability: { previousTasks } },
  });
  const never: Readonly<Record<string, readonly [object, ...string[]]>> = {
    "at the start of a job": [seq(ref("t"), both), "a"],
    "of one that comes later": [seq(ref("a"), ref("t"), ref("b")), "b"],
    "of one that is not the last": [seq(ref("a"), ref("b"), ref("t")), "a"],
    "of one beside it": [par(ref("a"), ref("t"), ref("b")), "a", "b"],
    "of one before a Par that the other branch runs": [seq(ref("b"), par(ref("a"), ref("t"))), "a"],
    "of the condition of an Alt whose branch it follows": [
      seq({ kind: "Alt", condition: ref("a"), trueWork: ref("b"), falseWork: ref("b") }, ref("t")),
      "a",
    ],
    "in one job, though not in the other": [seq(ref("t"), both), "a"],
  };
  for (const [name, [work, ...previous]] of Object.entries(never)) {
    it(`are one: ${name}`, () => {
      assert.match(
        warningsOf(entryOf(work, {}, after(...previous))).join(),
        /warning: entry\.jobs\["j"\]\.work.*: Task "t" is never available here: its previousTasks .*/,
      );
    });
  }
  it("are never reported for a task that a run starts", async () => {
    const previous = fc.dictionary(
      fc.constantFrom(...names),
      fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 }),
    );
    await fc.assert(
      fc.asyncProperty(works, previous, fc.integer(), async (work, after, seed) => {
        const tasks = Object.fromEntries(
          Object.entries(everyTask).map(([name, task]) => {
            const previousTasks = after[name];
            return [name, previousTasks ? { ...task, availability: { previousTasks } } : task];
          }),
        );
        const warnings = warningsOf({
          models: { driving: "m", work: "m" },
          tasks,
          jobs: { j: { work } },
        });
        const places = taskWorks(work).map(({ taskId }) => taskId);
        const single = names.filter((name) => places.indexOf(name) === places.lastIndexOf(name));
        const never = single.filter((name) =>
          warnings.join("\n").includes(`Task "${name}" is never available here`),
        );
        const started = new Set<string>();
        let turns = 0;
        await play({
          tasks,
          work,
          limits: { loopIterations: 3 },
          play: ({ prompt }) => {
            started.add(prompt.charAt(0));
            return acts[dice(seed, prompt, (turns += 1))];
          },
          workspace: commands(() => (dice(seed, "command", (turns += 1)) === "succeeds" ? 0 : 1)),
        });
        assert.deepEqual(
          never.filter((name) => started.has(name)),
          [],
        );
      }),
      rounds(1500),
    );
  });

  it("say that no task runs before the first", () => {
    assert.match(
      warningsOf(entryOf(seq(ref("t"), both), {}, after("a"))).join(),
      /contains a, but no task runs before it\.$/,
    );
  });
  const sometimes: Readonly<Record<string, readonly [object, ...string[]]>> = {
    "of the one before": [seq(both, ref("t")), "b"],
    "of either branch of a Par": [seq(par(ref("a"), ref("b")), ref("t")), "a"],
    "of the one before a Par": [seq(ref("b"), ref("a"), par(ref("t"), ref("b"))), "a"],
    "of the condition of an Alt without that branch": [
      seq(ref("b"), { kind: "Alt", condition: ref("a"), trueWork: ref("b") }, ref("t")),
      "a",
    ],
    "in the branch of an Alt": [
      seq(ref("b"), { kind: "Alt", condition: ref("a"), falseWork: ref("t") }),
      "a",
    ],
    "of a later one in a loop": [
      seq(ref("b"), { kind: "Loop", body: seq(ref("t"), ref("a")), atMost: 2 }),
      "a",
    ],
    "of the preCondition of a loop, which may end it": [
      seq({ kind: "Loop", preCondition: [true, ref("a")], body: ref("b"), atMost: 2 }, ref("t")),
      "a",
    ],
    "of itself in a loop": [seq(both, { kind: "Loop", body: ref("t"), atMost: 2 }), "t"],
  };
  for (const [name, [work, ...previous]] of Object.entries(sometimes)) {
    it(`are none: ${name}`, () => {
      assert.deepEqual(warningsOf(entryOf(work, {}, after(...previous))), []);
    });
  }
});

describe("warnings", () => {
  it("come beside an entry that was not in a file as well, without a place", () => {
    const prepared = prepareEntry(entryOf(ref("a")), { codePath: "my." });
    assert.ok(prepared.kind === "prepared");
    assert.deepEqual(prepared.warnings, [
      { severity: "warning", codePath: 'my.entry.tasks["b"]', reason: "No job uses this task." },
    ]);
  });
  it("are quickly found in large entries", () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `t${index}`);
    const tasks = Object.fromEntries(
      names.map((name) => [
        name,
        { prompt: "x", model, availability: { previousTasks: names.slice(0, 20) } },
      ]),
    );
    const large = entryOf(seq(par(...names.map(ref)), ...names.map(ref), both), {}, tasks);
    const took = cpuTime(() => warningsOf(large));
    assert.ok(took < 4_000, `${took} ms`);
  });
});
