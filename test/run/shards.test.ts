/** A job that several machines share ends as on one, whatever becomes of its shards and in whatever order they come. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import * as fc from "fast-check";
import { resolveLimits } from "../../src/engine/limits.ts";
import { fanOf } from "../../src/engine/fan-out.ts";
import type { Work } from "../../src/entry/model.ts";
import { assignWorkId, simplifyWork } from "../../src/entry/work.ts";
import type { FanOut } from "../../src/engine/fan-out.ts";
import type { PastRun } from "../../src/engine/past.ts";
import { readEarlierJob } from "../../src/run/past-run.ts";
import { UsageError } from "../../src/run/options.ts";
import { inOrder, mergeJournals } from "../../src/run/merge.ts";
import { shardOf } from "../../src/run/shards.ts";
import { ref } from "../rig/engine.ts";
import { itemsIn, keyOf, works } from "../rig/random-works.ts";
import type { RunEventBody } from "../../src/events/event.ts";
import { defined } from "../../src/text/guards.ts";
import { done, run, type Options, type Run } from "../rig/runs.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { rounds } from "../rig/nightly.ts";

const planOnly: FanOut = { kind: "part", part: { kind: "plan" }, members: new Set() };

interface Shared {
  readonly whole: Run;
  /** The names of the files, the plan first. */
  readonly files: readonly string[];
  readonly merge: (
    files: readonly string[],
    onMissing?: "fail" | "continue",
    changed?: Pick<Options, "limits"> & { readonly spent?: Partial<PastRun> },
  ) => Promise<Run>;
}

/** Runs a job on one machine, and its plan and shards; undefined: its plan fails. */
async function share(
  workspace: Workspace,
  given: Work,
  seed: number,
  shards: number,
  sides = 50,
): Promise<Shared | undefined> {
  const work = assignWorkId(simplifyWork(given));
  const whole = await run(given, seed, { sides });
  const plan = await run(given, seed, { fanOut: planOnly, id: "plan", sides });
  await workspace.write("plan.jsonl", plan.journal);
  if (plan.outcome.kind !== "succeeded") return undefined;
  const files = ["plan.jsonl"];
  const path = (name: string): string => `${workspace.path}/${name}`;
  for (let shard = 1; shard <= shards; shard += 1) {
    const earlier = await readEarlierJob(path("plan.jsonl"));
    const refuse = (reason: string): Error => new Error(reason);
    const { fanOut } = shardOf(
      work,
      earlier,
      { index: shard, count: shards },
      { refuse, whole: resolveLimits() },
    );
    const leg = await run(given, seed, { past: earlier.past, fanOut, id: `leg-${shard}`, sides });
    await workspace.write(`leg-${shard}.jsonl`, leg.journal);
    files.push(`leg-${shard}.jsonl`);
  }
  return {
    whole,
    files,
    async merge(names, onMissing = "fail", { limits, spent } = {}) {
      const merged = await mergeJournals(names.map(path), { onMissing, rehearses: false });
      const past = { ...inOrder(work, merged.past), ...spent };
      const fanOut = merged.fanOut(work);
      return run(given, seed, { past, fanOut, id: "merged", sides, ...defined({ limits }) });
    },
  };
}

/** Like `share`, with a plan and works that always succeed. */
async function shareAll(
  t: TestContext,
  work: Work,
  shards: number,
): Promise<Shared & { readonly workspace: Workspace }> {
  const workspace = await makeWorkspace(t);
  const shared = await share(workspace, work, 1, shards, 1e9);
  return { ...(shared ?? assert.fail("the plan failed")), workspace };
}

/** By step and items: how often it ran, and its sessions, turns, tool calls, model calls and tokens. */
function counts(events: readonly RunEventBody[]): object {
  const all = new Map<string, number>();
  for (const event of events) {
    if (event.type === "run.started" || !("work" in event) || event.work === null) continue;
    const used = event.type === "activity" && event.activity.kind === "model.used";
    const what = event.type === "activity" ? event.activity.kind : event.type;
    const key = `${keyOf(event.work.workId, itemsIn(event.work))} ${what}`;
    all.set(key, (all.get(key) ?? 0) + 1);
    if (!used) continue;
    const tokens = event.activity.inputTokens + event.activity.outputTokens;
    all.set("tokens", (all.get("tokens") ?? 0) + tokens);
  }
  return Object.fromEntries([...all].toSorted(([a], [b]) => a.localeCompare(b)));
}

const byItems = (parallel: boolean, ...after: Work[]): Work => ({
  kind: "Seq",
  works: [
    ref("a"),
    { kind: "Each", items: { values: ["x", "y", "z", "v", "w"] }, parallel, work: ref("b") },
    ...after,
  ],
});

describe("a job that is shared by several machines", () => {
  it("ends as on one machine, from journals in any order, and with one of them twice", async (t) => {
    const workspace = await makeWorkspace(t);
    await fc.assert(
      fc.asyncProperty(
        fc.array(works, { maxLength: 1 }),
        fc.constantFrom("Each", "Par"),
        fc.array(works, { minLength: 1, maxLength: 4 }),
        fc.array(works, { maxLength: 2 }),
        fc.integer(),
        fc.integer({ min: 1, max: 4 }),
        async (before, kind, inside, after, seed, shards) => {
          const fan: Work =
            kind === "Par"
              ? { kind, works: inside }
              : {
                  kind: "Each",
                  items: { values: ["x", "y", "z"] },
                  work: { kind: "Seq", works: inside },
                };
          const work: Work = { kind: "Seq", works: [...before, fan, ...after] };
          if (fanOf(assignWorkId(simplifyWork(work))) === undefined) return;
          const shared = await share(workspace, work, seed, shards, 100);
          if (shared === undefined) return;
          const { whole, files, merge } = shared;
          const order = fc.sample(fc.shuffledSubarray([...files], { minLength: files.length }), {
            numRuns: 1,
            seed,
          });
          const merged = await merge([...(order[0] ?? []), files.at(-1) ?? ""]);
          assert.equal(merged.outcome.kind, whole.outcome.kind);
          if (whole.outcome.kind !== "succeeded") return;
          assert.deepEqual(done(merged.events).toSorted(), done(whole.events).toSorted());
          const [begun] = merged.events;
          const past = merged.events.filter((one) => one.past === true);
          const ended = past.filter(({ type }) => type === "work.ended");
          const { resumed } = begun?.type === "run.started" ? begun : {};
          assert.deepEqual([resumed?.events, resumed?.works], [past.length, ended.length]);
          assert.deepEqual(counts(merged.events), counts(whole.events), "the cost of one machine");
          const ofFan = fanOf(assignWorkId(simplifyWork(work)))?.workIds;
          for (const one of merged.events)
            if (one.type === "work.started" && ofFan?.has(one.work.workId) === true)
              assert.equal(one.past, true, "nothing of the fan-out runs again");
        },
      ),
      rounds(300, 12),
    );
  });

  it("gives what runs after it the reports of all shards, in the order of the items", async (t) => {
    const { whole, files, merge } = await shareAll(t, byItems(false, ref("c")), 2);
    const merged = await merge(files);
    assert.deepEqual([...merged.prompts.keys()], ["[2,[]] 1"]);
    assert.equal(merged.prompts.get("[2,[]] 1"), whole.prompts.get("[2,[]] 1"));
  });

  it("fails by name without a shard, or goes on without it", async (t) => {
    const { files, merge, workspace } = await shareAll(t, byItems(true, ref("c")), 3);
    const some = files.filter((name) => name !== "leg-2.jsonl");
    const failed = await merge(some);
    assert.equal(
      failed.outcome.kind === "failed" && failed.outcome.reason,
      '2 of 5 items failed: "y": shard 2/3 is missing; "w": shard 2/3 is missing',
    );
    assert.equal(failed.prompts.size, 0);
    const went = await merge(some, "continue");
    assert.equal(went.outcome.kind, "succeeded");
    assert.doesNotMatch([...went.prompts.values()].join(""), /"y"|Item y/);
    // One that was killed has left what it had done.
    const leg = await workspace.read("leg-2.jsonl");
    await workspace.write("leg-2.jsonl", leg.slice(0, leg.lastIndexOf('"type":"work.started"')));
    const killed = await merge(files);
    assert.match(
      killed.outcome.kind === "failed" ? killed.outcome.reason : "",
      /shard 2\/3 did not finish/,
    );
    assert.equal((await merge(files, "continue")).outcome.kind, "succeeded");
  });

  it("takes what a shard did when it was resumed, not what was interrupted or failed before", async (t) => {
    const given = byItems(false, ref("c"));
    const { files, merge, workspace, whole } = await shareAll(t, given, 2);
    const work = assignWorkId(simplifyWork(given));
    const leg = await workspace.read("leg-2.jsonl");
    const begun = leg.slice(0, leg.lastIndexOf('"type":"work.ended"'));
    const cut = begun.slice(0, begun.lastIndexOf("\n") + 1);
    const failed = leg
      .replaceAll(
        /("type":"work\.ended","work":\{"workId":1,.*"outcome":)\{"kind":"succeeded"\}/g,
        '$1{"kind":"failed","reason":"it did"}',
      )
      .replace(
        /("type":"run\.ended","outcome":)\{"kind":"succeeded"\}/,
        '$1{"kind":"failed","reason":"it did"}',
      );
    for (const before of [cut, failed]) {
      await workspace.write("leg-2.jsonl", before);
      assert.equal((await merge(files)).outcome.kind, "failed");
      const earlier = await readEarlierJob(`${workspace.path}/leg-2.jsonl`);
      const refuse = (reason: string): Error => new Error(reason);
      const of = { index: 2, count: 2 };
      const { fanOut } = shardOf(work, earlier, of, { refuse, whole: resolveLimits() });
      const again = await run(given, 1, { past: earlier.past, fanOut, id: "again", sides: 1e9 });
      await workspace.write("leg-2.jsonl", again.journal);
      const merged = await merge(files, "continue");
      assert.equal(merged.outcome.kind, "succeeded", JSON.stringify(merged.outcome));
      assert.equal(merged.prompts.get("[2,[]] 1"), whole.prompts.get("[2,[]] 1"));
    }
  });

  it("is not bounded by the default limits of each of its machines, only by limits that are set", async (t) => {
    const { files, merge } = await shareAll(t, byItems(false, ref("c")), 2);
    const spent = { tokens: 30_000_000, cost: 2_000 };
    assert.equal((await merge(files, "fail", { spent })).outcome.kind, "succeeded");
    for (const limits of [{ tokens: 25_000_000 }, { cost: 1_500 }]) {
      const { outcome } = await merge(files, "fail", { spent, limits });
      assert.match(outcome.kind === "failed" ? outcome.reason : "", /^exceeded limits\./);
    }
  });

  it("lists no items of what a missing shard should have done", async (t) => {
    const inner: Work = { kind: "Each", items: { lines: "v\nw" }, work: ref("b") };
    const fan: Work = { kind: "Each", items: { values: ["x", "y"] }, work: inner };
    const { merge } = await shareAll(t, fan, 2);
    const { events } = await merge(["plan.jsonl", "leg-1.jsonl"]);
    assert.equal(events.filter(({ type }) => type === "items.listed").length, 2);
  });

  it("counts the latest journal of a plan or shard that several attempts have left", async (t) => {
    const { files, workspace } = await shareAll(t, byItems(false, ref("c")), 2);
    let count = 0;
    const later = async (file: string, change: (started: object) => object): Promise<string> => {
      const [header, started = "", ...rest] = (await workspace.read(file)).split("\n");
      const begun: { [field: string]: unknown } = JSON.parse(started);
      const runId = `later-${(count += 1)}`;
      const changed = JSON.stringify(change({ ...begun, runId }));
      const own = rest.map((line) => line.replace(/"runId":"[^"]*"/, `"runId":"${runId}"`));
      await workspace.write(`later-${file}`, [header, changed, ...own].join("\n"));
      return `later-${file}`;
    };
    const warningsOf = async (names: readonly string[]): Promise<readonly string[]> => {
      const paths = names.map((name) => `${workspace.path}/${name}`);
      return (await mergeJournals(paths, { onMissing: "fail", rehearses: false })).warnings;
    };
    const resumes = await later("leg-1.jsonl", (started) => ({
      ...started,
      resumed: { runId: "leg-1", works: 1, tokens: 0, cost: 0, milliseconds: 0, events: 0 },
    }));
    for (const names of [
      [...files, resumes],
      [resumes, ...files],
    ])
      assert.deepEqual(await warningsOf(names), []);
    const at = (attempt: number) => ({
      repository: "octo/shop",
      server: "https://github.com",
      workflowRun: "7",
      attempt,
      event: "push",
      head: "",
    });
    const first = await later("leg-2.jsonl", (started) => ({ ...started, origin: at(1) }));
    await workspace.write("leg-2.jsonl", await workspace.read(first));
    const second = await later("leg-2.jsonl", (started) => ({ ...started, origin: at(2) }));
    assert.deepEqual(await warningsOf([second, ...files]), []);
    // download-artifact puts each in a folder of its own.
    await workspace.write("a/leg-2.jsonl", await workspace.read("leg-2.jsonl"));
    const [copy = ""] = await warningsOf([...files, "a/leg-2.jsonl"]);
    assert.match(
      copy,
      /\/a\/leg-2\.jsonl is the same journal as \S+\/leg-2\.jsonl, and counts once/,
    );
    // It stands beside the others when a merge is tried again.
    const merge = await later("leg-1.jsonl", (started) => ({
      ...started,
      part: { kind: "merge", shards: 2, planEvents: 0, legs: [], earlier: [] },
      resumed: { runId: "older", works: 1, tokens: 0, cost: 0, milliseconds: 0, events: 0 },
    }));
    assert.deepEqual(await warningsOf([...files, merge]), [
      "later-leg-1.jsonl is ignored: it belongs to another plan.",
    ]);
  });

  it("is refused with journals that don't belong together, each by its name", async (t) => {
    const { files, merge, workspace } = await shareAll(t, byItems(false), 2);
    const refusal = async (names: readonly string[]): Promise<string> =>
      merge(names).then(
        ({ outcome }) => outcome.kind,
        (error: unknown) => {
          assert.ok(error instanceof UsageError, String(error));
          return error.message;
        },
      );
    const other = await workspace.read("leg-1.jsonl");
    await workspace.write("again.jsonl", other.replaceAll('"leg-1"', '"leg-9"'));
    await workspace.write("stale.jsonl", other.replaceAll('"plan":"plan"', '"plan":"older"'));
    await workspace.write(
      "plan-2.jsonl",
      (await workspace.read("plan.jsonl"))
        .replaceAll('"plan"', '"plan2"')
        .replaceAll('"kind":"plan2"', '"kind":"plan"'),
    );
    assert.equal(await refusal(files), "succeeded");
    for (const [names, reason] of [
      [files.slice(1), /none of the journals belongs to a plan, or to a merge/],
      [["plan.jsonl"], /no journal of a shard/],
      [
        [...files, "again.jsonl"],
        /leg-1\.jsonl and again\.jsonl are different runs of shard 1\/2\. Give one/,
      ],
      [[...files, "plan-2.jsonl"], /plan\.jsonl and plan-2\.jsonl are different plans/],
    ] as const)
      assert.match(await refusal(names), reason);
    assert.equal(await refusal([...files, "stale.jsonl"]), "succeeded");
    assert.equal(await refusal(["plan.jsonl", "stale.jsonl", "leg-2.jsonl"]), "failed");
  });
});

describe("an earlier merge among the journals", () => {
  /** The journal of a merge that goes on without some of them. */
  async function keepMerge(
    { merge, workspace }: Shared & { readonly workspace: Workspace },
    files: readonly string[],
    id: string,
  ): Promise<string> {
    const { journal } = await merge(files, "continue");
    await workspace.write(`${id}.jsonl`, journal.replaceAll('"runId":"merged"', `"runId":"${id}"`));
    return `${id}.jsonl`;
  }

  it("stands for the plan and for the shards that have no journals of their own", async (t) => {
    const workspace = await makeWorkspace(t);
    await fc.assert(
      fc.asyncProperty(
        fc.array(works, { maxLength: 1 }),
        fc.array(works, { minLength: 1, maxLength: 3 }),
        fc.array(works, { maxLength: 2 }),
        fc.integer(),
        fc.integer({ min: 1, max: 3 }),
        async (before, inside, after, seed, late) => {
          const fan: Work = {
            kind: "Each",
            items: { values: ["x", "y", "z", "v"] },
            work: { kind: "Seq", works: inside },
          };
          const work: Work = { kind: "Seq", works: [...before, fan, ...after] };
          if (fanOf(assignWorkId(simplifyWork(work))) === undefined) return;
          const shared = await share(workspace, work, seed, 3, 100);
          if (shared === undefined) return;
          const { files, merge } = shared;
          const others = files.filter((name) => name !== `leg-${late}.jsonl`);
          const merged = await keepMerge({ ...shared, workspace }, others, "m");
          const alone = await merge([`leg-${late}.jsonl`, merged]);
          const all = await merge([...files, merged]);
          assert.deepEqual(alone.outcome, all.outcome);
          assert.deepEqual(counts(alone.events), counts(all.events));
          assert.deepEqual([...alone.prompts], [...all.prompts]);
          const [one, other] = [alone, all].map(({ events: [begun] }) =>
            begun?.type === "run.started" ? { ...begun.resumed, ...begun.part } : {},
          );
          assert.deepEqual(one, other);
        },
      ),
      rounds(100, 8),
    );
  });

  it("says again what a shard has not finished, and is left out if it has not read its journals", async (t) => {
    const shared = await shareAll(t, byItems(true, ref("c")), 3);
    const { merge, workspace } = shared;
    const leg = await workspace.read("leg-2.jsonl");
    await workspace.write("leg-2.jsonl", leg.slice(0, leg.lastIndexOf('"type":"work.started"')));
    const merged = await keepMerge(shared, ["plan.jsonl", "leg-2.jsonl", "leg-3.jsonl"], "m");
    const { outcome } = await merge(["leg-1.jsonl", merged]);
    assert.equal(
      outcome.kind === "failed" && outcome.reason,
      '2 of 5 items failed: "y": shard 2/3 did not finish; "w": shard 2/3 did not finish',
    );
    const lines = (await workspace.read(merged)).split("\n");
    const past = lines.findLastIndex((line) => line.includes('"past":true'));
    await workspace.write(merged, lines.slice(0, past - 1).join("\n"));
    const paths = ["plan.jsonl", "leg-1.jsonl", merged].map((name) => `${workspace.path}/${name}`);
    const { warnings } = await mergeJournals(paths, { onMissing: "fail", rehearses: false });
    assert.deepEqual(warnings, [
      "m.jsonl is ignored: its merge ended before it had copied its journals.",
    ]);
    await assert.rejects(merge(["leg-1.jsonl", merged]), /belongs to a plan, or to a merge/);
  });

  it("is replaced by the one that continued it, and refused beside another", async (t) => {
    const shared = await shareAll(t, byItems(true, ref("c")), 3);
    const { merge } = shared;
    const first = await keepMerge(shared, ["plan.jsonl", "leg-1.jsonl"], "first");
    const second = await keepMerge(shared, [first, "leg-2.jsonl"], "second");
    const third = await keepMerge(shared, [second, "leg-3.jsonl"], "third");
    const merged = await merge([first, third, second]);
    assert.deepEqual(merged.outcome, { kind: "succeeded" });
    assert.equal(merged.prompts.size, 0, "nothing is paid again");
    const other = await keepMerge(shared, ["plan.jsonl", "leg-2.jsonl"], "other");
    await assert.rejects(
      merge([first, other]),
      /first\.jsonl and other\.jsonl are different merges of this plan\. Give one of them\./,
    );
  });
});
