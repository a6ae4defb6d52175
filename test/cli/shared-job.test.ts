/** What a job that several machines share spends and counts. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { parseJournal } from "../../src/journal/read.ts";
import { runCli, type CliResult } from "../rig/cli.ts";
import { modelServer, type ModelServer } from "../rig/model-server.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

const items = ["h", "g", "f", "e", "d", "c", "b", "a"];
const tasks = {
  look: { model: { id: "m" }, prompt: "Look at $item with job_report" },
  sum: { model: { id: "m" }, prompt: "Sum up: $report-of-look" },
  aside: { model: { id: "m" }, prompt: "Say something else" },
};
const ref = (taskId: string): object => ({ kind: "Ref", taskId });
const fan = { kind: "Each", parallel: true, items: { values: items }, work: ref("look") };

function entryOf(after: readonly string[], limits: object = {}): string {
  const work = { kind: "Seq", works: [fan, ...after.map(ref)] };
  return JSON.stringify({ models: { driving: "m" }, tasks, limits, jobs: { main: { work } } });
}

interface Shared {
  readonly workspace: Workspace;
  readonly model: ModelServer;
  readonly cli: (line: string) => Promise<CliResult>;
  readonly leg: (shard: string, more?: string) => Promise<CliResult>;
  readonly runJson: (folder: string) => Promise<Record<string, unknown>>;
}

/** The calls of an item use 60 tokens and then 40. */
async function setup(t: TestContext, entry: string, shards: number): Promise<Shared> {
  const model = await modelServer(t, ({ prompt, toolResults }) =>
    prompt.startsWith("Look") && toolResults.length === 0
      ? {
          toolCalls: [{ name: "job_report", arguments: { markdown: `Saw ${prompt}` } }],
          usage: { input: 50, output: 10 },
        }
      : { text: "Done", usage: { input: 30, output: 10 } },
  );
  const workspace = await makeWorkspace(t, { "jobs.json": entry });
  const cli = (line: string): Promise<CliResult> =>
    runCli(`${line} --provider-base-url ${model.baseUrl}`, { cwd: workspace.path });
  const plan = await cli(`plan jobs.json main --shards ${shards} --journal plan.jsonl`);
  assert.equal(plan.code, 0, plan.stderr);
  return {
    workspace,
    model,
    cli,
    leg: (shard, more = "") => {
      const journal = `${shard.split("/")[0]}.jsonl`;
      return cli(
        `run jobs.json main --shard ${shard} --resume plan.jsonl --journal ${journal}${more}`,
      );
    },
    runJson: async (folder) => JSON.parse(await workspace.read(`${folder}/run.json`)),
  };
}

/** Without what differs between two runs. */
function counted(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, one: unknown) =>
      /^(runId|startedAt|endedAt|seconds|leg)$/.test(key) ? undefined : one,
    ),
  );
}

describe("a shared job", () => {
  it("comes to what it would have come to on one machine, with its whole cost", async (t) => {
    const { cli, leg, runJson, workspace, model } = await setup(t, entryOf(["sum"]), 3);
    const whole = await cli("run jobs.json main --output-dir whole");
    assert.equal(whole.code, 0, whole.stderr + whole.stdout);
    const asked = model.requests.at(-1)?.prompt ?? "";
    const places = items.map((item) => asked.indexOf(`Saw Look at ${item} `));
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
      "in the order of the items",
    );
    const legs = await Promise.all(["3/3", "1/3", "2/3"].map((shard) => leg(shard)));
    for (const { code, stderr, stdout } of legs) assert.equal(code, 0, stderr + stdout);
    const merged = await cli("merge 2.jsonl plan.jsonl 3.jsonl 1.jsonl --output-dir merged");
    assert.equal(merged.code, 0, merged.stderr + merged.stdout);
    assert.equal(model.requests.at(-1)?.prompt, asked);
    const result = await runJson("merged");
    assert.deepEqual(counted(result), counted(await runJson("whole")));
    assert.deepEqual([result["modelCalls"], result["inputTokens"]], [17, 8 * 80 + 30]);
    assert.equal(await workspace.read("merged/report.md"), await workspace.read("whole/report.md"));
    const [look] = JSON.parse(JSON.stringify(result["works"]));
    assert.deepEqual(
      look.items.map((one: Record<string, unknown>) => one["leg"]),
      ["1/3", "2/3", "3/3", "1/3", "2/3", "3/3", "1/3", "2/3"],
    );
    // The journal is one of a whole run.
    const { events, problems } = parseJournal(await workspace.read("merged/journal.jsonl"));
    assert.deepEqual(problems, []);
    const turns = events.flatMap((one) => (one.type === "turn.started" ? [one.turnId] : []));
    assert.equal(new Set(turns).size, 9);
    const times = events.map(({ at }) => at);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
    // Whoever resumes it pays nothing and counts the same.
    const again = await cli("run jobs.json main --resume merged/journal.jsonl --output-dir again");
    assert.equal(again.code, 0, again.stderr);
    assert.deepEqual(counted(await runJson("again")), counted(result));
    assert.equal(model.requests.length, 17 + 17);
  });

  it("spends its limit once, not on each machine, and a shard ends at its share", async (t) => {
    const { cli, leg } = await setup(t, entryOf([], { tokens: 600, parallel: 2 }), 2);
    const [log, failed] = [await leg("1/2"), /exceeded limits\.tokens \(300 tokens, \d+ used\)/];
    assert.equal(log.code, 1, log.stdout);
    assert.match(log.stdout, /shard 1\/2 may spend 300 of 600 tokens \(limits\.tokens\)/);
    assert.match(log.stdout, /shard 1\/2 runs at most 1 of 2 turns at once \(limits\.parallel\)/);
    assert.match(log.stdout, failed);
    assert.match(log.stdout, /set by shard 1\/2's share of 600 \(limits\.tokens of the entry\)/);
    // What it has spent before counts after a resume, and the share is the same.
    const more = await cli("run jobs.json main --shard 1/2 --resume 1.jsonl --journal 3.jsonl");
    assert.equal(more.code, 1, more.stdout);
    assert.match(more.stdout, failed);
    // The merge holds the whole against the whole limit.
    const rest = await leg("2/2", " --share all --max-parallel 2");
    assert.equal(rest.code, 0, rest.stdout);
    assert.doesNotMatch(rest.stdout, /shard 2\/2 (may spend|runs at most)/);
    const merged = await cli("merge plan.jsonl 3.jsonl 2.jsonl");
    assert.equal(merged.code, 1);
    assert.match(merged.stdout, /exceeded limits\.tokens \(600 tokens, \d+ used\)/);
  });

  it("takes in a late shard, and pays again only for what can see it", async (t) => {
    const { cli, leg, runJson, model } = await setup(t, entryOf(["aside", "sum"]), 2);
    await leg("1/2");
    const early = await cli("merge plan.jsonl 1.jsonl --on-missing continue --output-dir early");
    assert.equal(early.code, 0, early.stderr + early.stdout);
    assert.match(model.requests.at(-1)?.prompt ?? "", /item g \(shard 2\/2 is missing\)/);
    await leg("2/2");
    const before = model.requests.length;
    const late = await cli(
      "merge plan.jsonl 1.jsonl 2.jsonl early/journal.jsonl --output-dir late",
    );
    assert.equal(late.code, 0, late.stderr + late.stdout);
    const prompts = model.requests.slice(before).map(({ prompt }) => prompt);
    assert.equal(prompts.length, 1, prompts.join("\n"));
    assert.doesNotMatch(prompts[0] ?? "", /missing/);
    assert.equal(prompts[0]?.match(/Saw Look at/g)?.length, 8);
    const result = await runJson("late");
    const [look, aside, sum] = JSON.parse(JSON.stringify(result["works"]));
    assert.deepEqual([look.runs, aside.runs, sum.runs], [8, 1, 2]);
    assert.equal(look.items.length, 8);
    assert.ok(look.items.every((one: Record<string, unknown>) => one["result"] === "success"));
    assert.equal(result["modelCalls"], 16 + 1 + 2);
    // Without another shard, nothing is paid again.
    const same = await cli(
      "merge plan.jsonl 1.jsonl 2.jsonl --resume late/journal.jsonl --output-dir same",
    );
    assert.equal(same.code, 0, same.stderr + same.stdout);
    assert.deepEqual(counted(await runJson("same")), counted(result));
    assert.equal(model.requests.length, before + 1);
  });

  it("refuses a shard of another number than its plan has, before it pays", async (t) => {
    const { leg, model } = await setup(t, entryOf([]), 2);
    const refused = await leg("1/3");
    assert.equal(refused.code, 2, refused.stdout);
    assert.match(refused.stderr, /can't resume plan\.jsonl: its plan has 2 shards, not 3\./);
    assert.equal(model.requests.length, 0);
  });
});
