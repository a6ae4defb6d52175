/** Warnings about valid entries. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadEntry } from "../../src/run/entry-files.ts";
import { diagnosticLine } from "../../src/document/diagnostic.ts";
import { prepareEntry } from "../../src/entry/prepare.ts";
import { unusedUserInput } from "../../src/entry/warnings.ts";
import { cpuTime } from "../rig/growth.ts";

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
  it("is no variable in the lines of an Each or in the params of a workflow", () => {
    const promptVariables = { one: "1", two: "2" };
    const items = { lines: "$one\n$item" };
    const flow = { kind: "Flow", file: "a.wf.md", params: { A: "$two" } };
    const each = { kind: "Each", items, work: seq(ref("a"), ref("b")) };
    assert.deepEqual(warningsOf(entryOf(seq(each, flow), { promptVariables })), []);
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
    const each = { kind: "Each", items: { lines: "$user-input" }, work: ref("a") } as const;
    const c = { work: seq(ref("a"), ref("c")) };
    const jobs = { j: { work: both }, u: { work: ref("u") }, c, e: { work: each } };
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
    assert.equal(of("e", "x"), undefined);
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
