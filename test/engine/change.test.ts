import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Task, Work } from "../../src/entry/model.ts";
import type { ChangedFile } from "../../src/events/plan.ts";
import type { RunChange } from "../../src/engine/plan.ts";
import { play, ref, type Played } from "../rig/engine.ts";

function changeOf(...files: readonly (string | ChangedFile)[]): RunChange {
  const changed = files.map((file): ChangedFile =>
    typeof file === "string"
      ? { path: file, status: "modified", additions: 1, deletions: 0 }
      : file,
  );
  const planned = { base: "b", head: "h", diffFile: "/d/change.diff", count: 0, files: [] };
  return { planned, files: changed, folder: "/d" };
}

const task = (change?: true | readonly string[]): Task => ({
  model: { category: "work" },
  prompt: "do it",
  ...(change === undefined ? {} : { availability: { change } }),
});
/** The change of these tests is one file in lib, so only `docs` and `more` have nothing. */
const tasks = { run: task(), src: task(["lib/**"]), docs: task(["docs/**"]), more: task(["m/*"]) };

const of = async (work: Work, ...failing: readonly string[]): Promise<readonly string[]> => {
  const played = await play({
    tasks: {
      ...tasks,
      no: { ...task(), criteria: { toolExecuted: ["x"], failureAction: { retryTimes: 0 } } },
    },
    work,
    change: changeOf("lib/a.ts"),
    play: ({ label }) => ({ tools: failing.includes(label.taskId) ? [] : ["x"] }),
    entry: { tools: { x: { description: "x", parameters: {}, command: ["x"] } } },
  });
  return summary(played);
};

function summary({ ended, outcome }: Played): string[] {
  const reason = outcome.kind === "succeeded" ? "" : `: ${outcome.reason}`;
  return [ended.join(" "), `${outcome.kind}${reason}`];
}

const seq = (...works: readonly Work[]): Work => ({ kind: "Seq", works });
const par = (...works: readonly Work[]): Work => ({ kind: "Par", works });
const [run, src, docs, more, no] = [ref("run"), ref("src"), ref("docs"), ref("more"), ref("no")];
const docsReason = 'nothing ran: no changed file matches "docs/**"';

describe("a task that the change has nothing for", () => {
  it("is skipped, and so is a job in which nothing ran", async () => {
    assert.deepEqual(await of(docs), ["docs:skipped", `skipped: ${docsReason}`]);
    const both = [
      "docs:skipped more:skipped",
      `skipped: ${docsReason}; no changed file matches "m/*"`,
    ];
    assert.deepEqual(await of(seq(docs, more)), both);
    assert.deepEqual(await of(par(docs, more)), both);
    assert.deepEqual(await of(seq(docs, par(docs, docs))), [
      "docs:skipped docs:skipped docs:skipped",
      `skipped: ${docsReason}`,
    ]);
  });

  it("is neutral to Seq and Par, and is not the task that finished last", async () => {
    assert.deepEqual(await of(seq(docs, src)), ["docs:skipped src:succeeded", "succeeded"]);
    assert.deepEqual(await of(par(docs, src)), ["docs:skipped src:succeeded", "succeeded"]);
    assert.match((await of(par(docs, no), "no"))[1] ?? "", /^failed: task "no" failed/);
    const after = { ...task(), availability: { previousTasks: ["run"] } };
    const played = await play({
      tasks: { ...tasks, after },
      work: seq(run, docs, ref("after")),
      change: changeOf("lib/a.ts"),
      play: () => ({}),
    });
    assert.deepEqual(played.outcome, { kind: "succeeded" });
  });

  it('answers "no" as a condition', async () => {
    const alt: Work = { kind: "Alt", condition: docs, trueWork: run, falseWork: src };
    assert.deepEqual(await of(alt), ["docs:skipped src:succeeded", "succeeded"]);
    const { falseWork: _, ...without } = alt;
    assert.deepEqual(await of(without), ["docs:skipped", `skipped: ${docsReason}`]);
    assert.deepEqual(await of({ kind: "Alt", condition: run, trueWork: docs }), [
      "run:succeeded docs:skipped",
      "succeeded",
    ]);
    const loop = (wanted: boolean): Work => ({
      kind: "Loop",
      preCondition: [wanted, docs],
      body: run,
    });
    assert.deepEqual(await of(loop(true)), ["docs:skipped", `skipped: ${docsReason}`]);
    assert.deepEqual(await of(loop(false)), ["docs:skipped run:succeeded", "succeeded"]);
  });

  it("ends a loop whose body it is", async () => {
    assert.deepEqual(await of({ kind: "Loop", body: docs, postCondition: [true, run] }), [
      "docs:skipped",
      `skipped: ${docsReason}`,
    ]);
    assert.deepEqual(await of({ kind: "Loop", preCondition: [true, run], body: docs, atMost: 9 }), [
      "run:succeeded docs:skipped",
      "succeeded",
    ]);
  });

  it("is found by globs over new and former paths, and true means any file", async () => {
    const renamed: ChangedFile = {
      path: "new/a.ts",
      status: "renamed",
      additions: 0,
      deletions: 0,
      previousPath: "lib/a.ts",
    };
    const cases: readonly (readonly [true | readonly string[], RunChange, string])[] = [
      [true, changeOf(), "skipped"],
      [true, changeOf("a\nb.ts"), "succeeded"],
      [["lib/**"], changeOf(renamed), "succeeded"],
      [["**/*.ts", "!lib/**"], changeOf("lib/a.ts"), "skipped"],
      [["**/*.ts", "!lib/**"], changeOf("lib/a.ts", "b.ts"), "succeeded"],
      [["!lib/**"], changeOf("README.md"), "succeeded"],
      [["*.md"], changeOf("docs/a.md"), "skipped"],
    ];
    for (const [wanted, change, expected] of cases) {
      const { outcome } = await play({ tasks: { t: task(wanted) }, change, play: () => ({}) });
      assert.equal(outcome.kind, expected, JSON.stringify([wanted, change.files]));
    }
  });

  it("does not ask its condition, and the sessions of others may read the diff", async () => {
    const asked: Task = {
      ...task(true),
      availability: { change: true, condition: "job_boolean_true?" },
    };
    const { events, sessions } = await play({
      tasks: { t: asked },
      change: changeOf(),
      play: () => assert.fail("nothing may be asked"),
    });
    assert.equal(sessions.turns.length, 0);
    assert.deepEqual(
      events.flatMap((event) => (event.type === "decision" ? [event.decision] : [])),
      [{ kind: "task-skipped", reason: "the change is empty" }],
    );
    const readable: unknown[] = [];
    await play({
      tasks: { t: task(true) },
      change: changeOf("a"),
      play: () => ({}),
      refuse: (request) => void readable.push(request.readable),
    });
    assert.deepEqual(readable, [["/d"]]);
  });
});
