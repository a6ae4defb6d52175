/** A job that several machines share: what its shards spend, what the merge counts, and how large it becomes. */
import { createReadStream } from "node:fs";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { startModelServer } from "../../test/rig/model-server.ts";
import { temporary } from "../sessions/sides.ts";
import type { Figures, Row, Side } from "./row.ts";
import { runWatched, type Watched } from "./run-watched.ts";

interface Shared {
  readonly items: number;
  readonly shards: number;
  readonly tokens?: number;
  /** Of an answer. */
  readonly length?: number;
}

type Run = (args: string) => Promise<Watched>;

/** Each item has one call of 550 tokens. */
async function withJob(
  { items, tokens, length = 40 }: Shared,
  commandLine: string,
  body: (run: Run) => Promise<Figures>,
): Promise<Figures> {
  const usage = { input: 500, output: 50 };
  const text = "It is done, as far as anybody can say. ".repeat(length / 40);
  const server = await startModelServer(() => ({ text, usage }), { keep: false });
  const values = Array.from({ length: items }, (_, index) => `item ${index}`);
  const entry = {
    models: { driving: "bench" },
    permissions: { sandbox: "off" },
    limits: tokens === undefined ? {} : { tokens },
    tasks: { item: { prompt: "Do $item.", model: { category: "driving" } } },
    jobs: {
      job: {
        work: {
          kind: "Each",
          atMost: items,
          items: { values },
          work: { kind: "Ref", taskId: "item" },
        },
      },
    },
  };
  await writeFile(join(temporary, "legs.json"), JSON.stringify(entry));
  const run: Run = (args) =>
    runWatched([commandLine, ...args.split(" "), "--provider-base-url", server.baseUrl], temporary);
  try {
    return await body(run);
  } finally {
    await server.close();
  }
}

async function counts(): Promise<Figures> {
  const text = await readFile(join(temporary, "out", "run.json"), "utf8");
  const { modelCalls, inputTokens, outputTokens } = JSON.parse(text);
  return { calls: modelCalls, tokens: inputTokens + outputTokens };
}

function inShards(shared: Shared): Side {
  const { shards } = shared;
  return {
    name: `${shards} shards`,
    run: (commandLine) =>
      withJob(shared, commandLine, async (run) => {
        await run(`plan legs.json --shards ${shards} --journal plan.jsonl`);
        const legs: string[] = [];
        let spent = 0;
        for (let shard = 1; shard <= shards; shard += 1) {
          legs.push(`leg-${shard}.jsonl`);
          await run(
            `run legs.json --shard ${shard}/${shards} --resume plan.jsonl --journal leg-${shard}.jsonl`,
          );
          spent += await tokensIn(`leg-${shard}.jsonl`);
        }
        await run(`merge plan.jsonl ${legs.join(" ")} --on-missing continue --output-dir out`);
        const { calls = 0, tokens = 0 } = await counts();
        return { spent, "merged calls": calls, "merged tokens": tokens };
      }),
  };
}

function onOneMachine(shared: Shared): Side {
  return {
    name: "one machine",
    run: (commandLine) =>
      withJob(shared, commandLine, async (run) => {
        await run("run legs.json --output-dir out");
        const { calls = 0, tokens = 0 } = await counts();
        const spent = await tokensIn("out/journal.jsonl");
        return { spent, "merged calls": calls, "merged tokens": tokens };
      }),
  };
}

async function tokensIn(journal: string): Promise<number> {
  const text = await readFile(join(temporary, journal), "utf8");
  const used = text.matchAll(/"inputTokens":(\d+),"outputTokens":(\d+)/g);
  return [...used].reduce((sum, [, input, output]) => sum + Number(input) + Number(output), 0);
}

/** A merge of many journals, which are those of one shard with other items. */
function merge(items: number, shards: number): Side {
  return {
    name: `merge of ${items} items in ${shards} shards`,
    run: (commandLine) =>
      withJob({ items, shards, length: 6_000 }, commandLine, async (run) => {
        await run(`plan legs.json --shards ${shards} --journal plan.jsonl`);
        await run(`run legs.json --shard 1/${shards} --resume plan.jsonl --journal leg-1.jsonl`);
        const names = ["leg-1.jsonl"];
        const first = await readFile(join(temporary, "leg-1.jsonl"), "utf8");
        for (let shard = 2; shard <= shards; shard += 1) {
          names.push(`leg-${shard}.jsonl`);
          await writeFile(join(temporary, `leg-${shard}.jsonl`), legOf(first, shard, shards));
        }
        const merged = await run(`merge plan.jsonl ${names.join(" ")} --journal merged.jsonl`);
        const sizes = await Promise.all(names.map(sizeOf));
        const size = await sizeOf("merged.jsonl");
        for (const name of names) await rm(join(temporary, name));
        return {
          "legs, MB": sizes.reduce((sum, one) => sum + one, 0) / 1e6,
          "journal, MB": size / 1e6,
          "memory, MB": merged["memory, MB"],
          "wall time, s": merged["wall time, s"],
          calls: await callsIn("merged.jsonl"),
        };
      }),
  };
}

async function callsIn(journal: string): Promise<number> {
  let calls = 0;
  for await (const line of createInterface(createReadStream(join(temporary, journal))))
    if (line.includes('"kind":"model.used"')) calls += 1;
  return calls;
}

/** As members are shared out, each shard has the items after those of the one before. */
function legOf(first: string, shard: number, shards: number): string {
  const after = (number: string): string => String(Number(number) + shard - 1);
  const lines = first.split("\n").map((line) => {
    const own = line
      .replace(/^(.*?"runId":"[^"]+)"/, `$1-${shard}"`)
      .replaceAll(/"sessionId":"([^"]+)"/g, `"sessionId":"$1-${shard}"`)
      .replace(`"leg":"1/${shards}"`, `"leg":"${shard}/${shards}"`)
      .replace('"index":1,"count"', `"index":${shard},"count"`);
    if (!line.includes('"leg":')) return own;
    return own
      .replaceAll(/item (\d+)/g, (_, number) => `item ${after(number)}`)
      .replaceAll(/"itemIndex":(\d+)/g, (_, number) => `"itemIndex":${after(number)}`);
  });
  return lines.join("\n");
}

async function sizeOf(name: string): Promise<number> {
  return (await stat(join(temporary, name))).size;
}

const few = { items: 8, shards: 4, tokens: 1_200 };
const enough = { ...few, tokens: 12_000 };

export const rows: readonly Row[] = [
  { name: "four shards under tokens: 1200", sides: [inShards(few), onOneMachine(few)] },
  { name: "counts of a merge", sides: [inShards(enough), onOneMachine(enough)] },
  { name: "the merge of many shards", sides: [merge(10_240, 256), merge(1_024, 26)] },
];
