/** `runJob` with plan, shard, merge and resume: the same parts of a job as on the command line, over any store. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { Entry } from "../../src/entry/model.ts";
import type { JobHostOptions } from "../../src/host/host-options.ts";
import { JobHost } from "../../src/host/job-host.ts";
import type { JobResult, RunJobOptions } from "../../src/host/job-callbacks.ts";
import { parseJournal } from "../../src/journal/read.ts";
import type { JournalStore } from "../../src/journal/store.ts";
import { runJson } from "../../src/reports/run-json.ts";
import { executeRun } from "../../src/run/execute.ts";
import { prepareRun, type RunOptions } from "../../src/run/prepare.ts";
import { ref } from "../rig/engine.ts";
import { modelServer, type Reply } from "../rig/model-server.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { jobLog } from "../run/host-rig.ts";

const task = { model: { category: "driving" } } as const;
const items = ["red", "green", "blue"];
const entry: Entry = {
  models: { driving: "m" },
  tasks: {
    survey: { ...task, requireUserInput: true, prompt: "Survey $user-input. Call job_report." },
    look: { ...task, prompt: "Look at $item. Call job_report." },
    sum: { ...task, prompt: "Sum up:\n$report-of-look" },
  },
  jobs: {
    survey: {
      work: {
        kind: "Seq",
        works: [
          ref("survey"),
          { kind: "Each", items: { values: items }, work: ref("look") },
          ref("sum"),
        ],
      },
    },
    alone: { work: ref("survey") },
  },
};

interface Rig {
  readonly workspace: Workspace;
  readonly prompts: string[];
  readonly baseUrl: string;
  /** On a host of its own, as on a machine of its own. */
  readonly run: (options: RunJobOptions, more?: JobHostOptions) => Promise<JobResult>;
}

async function makeRig(
  t: TestContext,
  { answer = () => undefined }: { readonly answer?: (prompt: string) => Reply | undefined } = {},
): Promise<Rig> {
  const workspace = await makeWorkspace(t);
  const prompts: string[] = [];
  const server = await modelServer(t, ({ prompt, toolResults }) => {
    if (toolResults.length === 0) prompts.push(prompt);
    const given = answer(prompt);
    if (given !== undefined) return given;
    const usage = { input: 90, output: 10 };
    if (toolResults.length > 0 || prompt.startsWith("Sum up")) return { text: "Done.", usage };
    const markdown = `About ${prompt.split(" ").at(-3)}`;
    return { toolCalls: [{ name: "job_report", arguments: { markdown } }], usage };
  });
  return {
    workspace,
    prompts,
    baseUrl: server.baseUrl,
    async run(options, more) {
      await using host = new JobHost({ provider: { baseUrl: server.baseUrl }, ...more });
      await host.installJobsEntry(entry);
      return await host.runJob("survey", { workingDirectory: workspace.path, ...options });
    },
  };
}

class MemoryStore implements JournalStore {
  readonly journals = new Map<string, string>();
  appends = 0;

  async append(name: string, text: string): Promise<void> {
    this.appends += 1;
    this.journals.set(name, (this.journals.get(name) ?? "") + text);
  }

  async *read(name: string): AsyncIterable<string> {
    const text = this.journals.get(name);
    if (text !== undefined) yield text;
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** Without what differs from run to run. */
function resultOf(view: JobResult["view"]): Fields {
  const text = JSON.stringify(runJson(view), (key, value: unknown) =>
    ["runId", "startedAt", "endedAt", "seconds", "entry"].includes(key) ? undefined : value,
  );
  const result: Fields = JSON.parse(text);
  return result;
}

/** All parts on one store, each on its own host. */
async function inParts({ run }: Rig, shards: number, more?: JobHostOptions): Promise<JobResult> {
  const planned = await run({ plan: { shards }, journal: "plan", userInput: "colors" }, more);
  const legs = planned.shards ?? [];
  for (const shard of legs) await run({ shard, resume: "plan", journal: shard }, more);
  return run({ merge: [...legs, "plan"], journal: "merged" }, more);
}

describe("a job in parts, through the library", () => {
  it("has the result of the command line's parts, and asks the model what one machine asks", async (t) => {
    const rig = await makeRig(t);
    const { workspace, prompts, baseUrl } = rig;
    const merged = await inParts(rig, 2, { journalStore: new MemoryStore() });
    assert.deepEqual(merged.outcome, { kind: "succeeded" });
    const asked = prompts.splice(0);
    assert.ok(items.every((item) => asked.at(-1)?.includes(`About ${item}`)));
    const whole = await rig.run({ userInput: "colors" });
    assert.deepEqual(asked.toSorted(), prompts.splice(0).toSorted());
    const { modelCalls, inputTokens, outputTokens } = whole.view.totals;
    assert.ok(modelCalls > items.length);
    const { totals } = merged.view;
    assert.deepEqual(
      [totals.modelCalls, totals.inputTokens, totals.outputTokens],
      [modelCalls, inputTokens, outputTokens],
    );

    await workspace.write("jobs.json", JSON.stringify(entry));
    const path = (name: string): string => join(workspace.path, name);
    const inFiles = async (options: Partial<RunOptions>): Promise<JobResult["view"]> => {
      const all: RunOptions = {
        entryFile: path("jobs.json"),
        jobName: "survey",
        workingDirectory: workspace.path,
        environment: {},
        provider: { baseUrl },
        ...options,
      };
      return (await executeRun(await prepareRun(all), all)).view;
    };
    const journals = [path("plan.jsonl")];
    await inFiles({ plan: true, userInput: "colors", journal: journals[0] });
    for (let index = 1; index <= 2; index += 1) {
      const journal = path(`${index}.jsonl`);
      await inFiles({ shard: { index, count: 2 }, resume: journals[0], journal });
      journals.push(journal);
    }
    assert.deepEqual(resultOf(merged.view), resultOf(await inFiles({ journals })));
  });

  it("goes on in the journal of a shard that was killed, and runs again only what was under way", async (t) => {
    const store = new MemoryStore();
    const { run, prompts } = await makeRig(t);
    const journalStore: JournalStore = {
      read: (name) => store.read(name),
      async append(name, text) {
        // From its second item on, nothing of the shard arrives.
        if (!(store.journals.get(name) ?? "").includes("Look at green"))
          await store.append(name, text);
      },
    };
    await run({ plan: { shards: 1 }, journal: "plan", userInput: "colors" }, { journalStore });
    const leg = { shard: "1/1", journal: "leg" };
    await run({ ...leg, resume: "plan" }, { journalStore });
    const { problems } = parseJournal(store.journals.get("leg") ?? "");
    assert.deepEqual(problems, [], "whole lines");
    prompts.splice(0);
    const again = await run({ ...leg, resume: "leg" }, { journalStore: store });
    assert.deepEqual(
      prompts.splice(0).map((prompt) => prompt.split(" ").at(2)),
      ["green.", "blue."],
    );
    assert.deepEqual(again.outcome, { kind: "succeeded" });
    const merged = await run({ merge: ["leg", "plan"] }, { journalStore: store });
    assert.deepEqual(merged.outcome, { kind: "succeeded" });
    assert.equal(prompts.length, 1);
    assert.deepEqual(parseJournal(store.journals.get("leg") ?? "").problems, []);
  });

  it("continues a shard with the same call after a kill, also of one that had not begun", async (t) => {
    const { run, prompts } = await makeRig(t);
    const store = new MemoryStore();
    const more = { journalStore: store };
    await run({ plan: { shards: 1 }, journal: "plan", userInput: "colors" }, more);
    const leg = { shard: "1/1", resume: "plan", journal: "leg" };
    await run(leg, more);
    const [start = ""] = (store.journals.get("leg") ?? "").split("\n");
    store.journals.set("leg", `${start}\n`);
    prompts.splice(0);
    assert.deepEqual((await run(leg, more)).outcome, { kind: "succeeded" });
    assert.equal(prompts.splice(0).length, items.length);
    assert.deepEqual((await run(leg, more)).outcome, { kind: "succeeded" });
    assert.equal(prompts.length, 0);
    let failures = 0;
    const journalStore: JournalStore = {
      append: (name, text) => store.append(name, text),
      async *read(name) {
        if (name === "leg" && (failures += 1) === 1) throw new Error("no connection");
        yield* store.read(name);
      },
    };
    const message = "resume: can't resume leg: no connection.";
    await assert.rejects(run(leg, { journalStore }), { name: "UsageError", message });
    assert.deepEqual((await run(leg, { journalStore })).outcome, { kind: "succeeded" });
    assert.equal(prompts.length, 0);
  });

  it("doesn't mix the parts of a job in a journal, nor the shards of two plans", async (t) => {
    const { run, prompts } = await makeRig(t);
    const store = new MemoryStore();
    const more = { journalStore: store };
    const plan = { plan: { shards: 1 }, journal: "plan", userInput: "colors" };
    const leg = { shard: "1/1", resume: "plan", journal: "leg" };
    await run(plan, more);
    await run(leg, more);
    await run({ journal: "whole", userInput: "colors" }, more);
    const merge = ["plan", "leg"];
    for (const [options, message] of [
      [{ ...leg, journal: "plan" }, "plan is the journal of a plan. A shard needs"],
      [{ ...plan, journal: "leg" }, "leg is the journal of shard 1/1. A plan needs"],
      [{ merge, journal: "leg" }, "leg is the journal of shard 1/1. A merge needs"],
      [{ merge, journal: "whole" }, "whole is the journal of a whole job. A merge needs"],
    ] as const)
      await assert.rejects(run(options, more), {
        name: "UsageError",
        message: `journal: ${message} a journal of its own.`,
      });
    await run(plan, more);
    prompts.splice(0);
    assert.deepEqual((await run(leg, more)).outcome, { kind: "succeeded" });
    assert.equal(prompts.splice(0).length, items.length, "it is of the plan before");
    assert.deepEqual((await run({ merge }, more)).outcome, { kind: "succeeded" });
  });

  it("merges again after a kill, and pays the steps after the fan-out once", async (t) => {
    const rig = await makeRig(t);
    const store = new MemoryStore();
    const more = { journalStore: store };
    const { view } = await inParts(rig, 1, more);
    const whole = store.journals.get("merged") ?? "";
    const merge = { merge: ["plan", "1/1", "merged"], journal: "merged" };
    rig.prompts.splice(0);
    const again = await rig.run(merge, more);
    assert.deepEqual([again.outcome.kind, rig.prompts.length], ["succeeded", 0]);
    assert.deepEqual(again.view.totals, view.totals);
    const lines = (store.journals.get("merged") ?? "").split("\n");
    const second = lines.findLastIndex((line) => line.includes('"run.started"'));
    store.journals.set("merged", `${lines.slice(0, second + 2).join("\n")}\n`);
    assert.deepEqual((await rig.run(merge, more)).view.totals, view.totals);
    assert.equal(rig.prompts.splice(0).length, 0, "the second attempt was killed at its start");
    store.journals.set("merged", `${whole.split("\n", 2).join("\n")}\n`);
    assert.deepEqual((await rig.run(merge, more)).outcome, { kind: "succeeded" });
    assert.equal(rig.prompts.length, 1, "the first one was");
  });

  it("waits at its end for a slow store, which gets whole lines in their order, one call at a time", async (t) => {
    const { run } = await makeRig(t);
    const store = new MemoryStore();
    let [underWay, most] = [0, 0];
    const journalStore: JournalStore = {
      read: (name) => store.read(name),
      async append(name, text) {
        most = Math.max(most, (underWay += 1));
        assert.match(text, /^[{].*[}]\n$/s);
        await new Promise((resolve) => setImmediate(resolve));
        await store.append(name, text);
        underWay -= 1;
      },
    };
    const { incomplete } = await run({ journal: "all", userInput: "x" }, { journalStore });
    const { events, problems } = parseJournal(store.journals.get("all") ?? "");
    assert.deepEqual([most, underWay, problems, incomplete], [1, 0, [], []]);
    assert.equal(events.at(-1)?.type, "run.ended");
  });

  it("is incomplete if its store fails, and says how many lines are safe", async (t) => {
    const { run } = await makeRig(t);
    const store = new MemoryStore();
    const journalStore: JournalStore = {
      read: (name) => store.read(name),
      append: async (name, text) =>
        store.appends < 3 ? store.append(name, text) : Promise.reject(new Error("no connection")),
    };
    const { outcome, incomplete, shards } = await run(
      { plan: { shards: 2 }, journal: "plan", userInput: "x" },
      { journalStore },
    );
    const lines = (store.journals.get("plan") ?? "").split("\n").length - 1;
    const message = `The journal is incomplete: The journal ends after ${lines} lines: no connection`;
    assert.deepEqual([outcome.kind, incomplete, shards], ["succeeded", [message], undefined]);
  });

  it("is refused as on the command line, with the names of the library", async (t) => {
    const { run, workspace, prompts } = await makeRig(t);
    const store = new MemoryStore();
    await store.append("broken", "{}\n");
    const down: JournalStore = {
      append: () => Promise.reject(new Error("no connection")),
      async *read() {
        yield* [];
        throw new Error("no connection");
      },
    };
    const user = { userInput: "x" };
    const refused: readonly (readonly [RunJobOptions, RegExp, JournalStore?])[] = [
      [{ plan: { shards: 2 } }, /^journal is required: the shards resume from it\.$/],
      [
        { plan: { shards: 300 }, journal: "j" },
        /^plan\.shards must be from 1 to 256, .* not 300\.$/,
      ],
      [{ plan: { shards: 2 }, merge: ["j"] }, /^plan and merge can't be used together\.$/],
      [{ ...user, resumeAnyway: true }, /^resumeAnyway requires resume\.$/],
      [{ ...user, rerun: true }, /^rerun requires resume\.$/],
      [{ shard: "1/2" }, /^shard requires resume with the journal of the plan\.$/],
      [{ resume: "none" }, /^resume: can't resume none: /],
      [{ merge: ["none"] }, /^Can't merge: none: /],
      [
        { ...user, journal: "broken" },
        /^Can't write the journal: .*broken can't be started: line 1: /,
      ],
      [{ ...user, journal: "j" }, /^Can't write the journal: .*no connection$/, down],
      [{ resume: "j" }, /^resume: can't resume j: no connection\.$/, down],
    ];
    for (const [options, message, journalStore = store] of refused)
      await assert.rejects(run(options, { journalStore }), { name: "UsageError", message });
    for (const options of [{ shard: "3/2" }, { merge: [] }, { plan: true }, { onMissing: "stop" }])
      // eslint-disable-next-line typescript/no-unsafe-type-assertion -- as a caller in JavaScript
      await assert.rejects(run(options as RunJobOptions), { name: "TypeError" });
    const file = join(workspace.path, "run.jsonl");
    await run({ ...user, journal: file });
    await assert.rejects(run({ resume: file, journal: file }), /would overwrite/);
    await workspace.write("run.jsonl.lock", String(process.pid));
    await assert.rejects(run({ resume: file }), /another run is resuming/);
    prompts.splice(0);
    await workspace.write("run.jsonl.lock", "999999999");
    const { outcome } = await run({ resume: file });
    assert.deepEqual([outcome, prompts], [{ kind: "succeeded" }, []]);
  });

  it("spends one budget on several hosts, through one gate, each at most a turn too much", async (t) => {
    const { run, prompts } = await makeRig(t);
    const sum = { tokens: 0, cost: 0 };
    let [turns, most] = [0, 0];
    const more: JobHostOptions = {
      journalStore: new MemoryStore(),
      limits: { tokens: 600 },
      budget: {
        async add({ tokens, cost }) {
          sum.tokens += tokens;
          sum.cost += cost;
          return { ...sum };
        },
      },
      turnGate: {
        async run(turn) {
          most = Math.max(most, (turns += 1));
          return turn().finally(() => (turns -= 1));
        },
      },
    };
    await run({ plan: { shards: 2 }, journal: "plan", userInput: "colors" }, more);
    const legs = await Promise.all(
      ["1/2", "2/2"].map((shard) => run({ shard, resume: "plan", journal: shard }, more)),
    );
    // A turn has two calls of 100 tokens each; the plan has had one, and the shards have three items.
    assert.ok(sum.tokens > 600 && sum.tokens <= 600 + 2 * 200, String(sum.tokens));
    assert.ok(most <= 2);
    const reasons = legs.map(({ outcome }) => ("reason" in outcome ? outcome.reason : ""));
    assert.ok(
      reasons.some((reason) => reason.startsWith("exceeded limits.tokens (600 tokens")),
      String(reasons),
    );
    prompts.splice(0);
    const failed = legs.findIndex(({ outcome }) => outcome.kind === "failed");
    const shard = `${failed + 1}/2`;
    const again = await run({ shard, resume: shard, journal: shard }, more);
    assert.deepEqual([again.outcome.kind, prompts.length], ["failed", 0]);
  });

  it("reports to the callbacks of startJob, too", async (t) => {
    const { baseUrl, workspace } = await makeRig(t);
    const journalStore = new MemoryStore();
    await using host = new JobHost({ provider: { baseUrl }, journalStore });
    await host.installJobsEntry(entry);
    const start = async (
      options: Parameters<JobHost["startJob"]>[4],
    ): Promise<readonly string[]> => {
      const { log, callback, ended } = jobLog();
      await host.startJob(
        "survey",
        options?.resume === undefined ? "x" : "",
        workspace.path,
        callback,
        options,
      );
      await ended;
      return log;
    };
    assert.equal((await start({ plan: { shards: 1 }, journal: "plan" })).at(-1), "jobSucceeded");
    const log = await start({ shard: "1/1", resume: "plan", journal: "leg" });
    assert.equal(log.filter((line) => line.startsWith("workStopped 1 true")).length, items.length);
  });
});
