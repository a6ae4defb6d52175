/** A merge of the journals of many shards: how large it becomes, in memory and on disk. */
import { createReadStream } from "node:fs";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import {
  cli,
  command,
  entryOf,
  ref,
  sum,
  temporary,
  withModel,
  writeJson,
  type Command,
  type Row,
  type Side,
} from "./rig.ts";

const answer = { text: "It is done, as far as anybody can say. ".repeat(150) };

function merge(items: number, shards: number): Side {
  const values = Array.from({ length: items }, (_, index) => `item ${index}`);
  const work = { kind: "Each", atMost: items, items: { values }, work: ref };
  return {
    name: `${items} items in ${shards} shards`,
    run: (dist) =>
      withModel(
        () => answer,
        async ({ baseUrl }) => {
          const run = (args: string): Promise<Command> =>
            command([cli(dist), ...args.split(" "), "--provider-base-url", baseUrl]);
          await writeJson("legs.json", entryOf("Do $item.", work));
          await run(`plan legs.json --shards ${shards} --journal plan.jsonl`);
          await run(`run legs.json --shard 1/${shards} --resume plan.jsonl --journal leg-1.jsonl`);
          // The other journals are those of the first shard, with other items.
          const first = await readFile(join(temporary, "leg-1.jsonl"), "utf8");
          const names = values.slice(0, shards).map((_, index) => `leg-${index + 1}.jsonl`);
          for (const [index, name] of names.entries())
            await writeFile(join(temporary, name), legOf(first, index + 1, shards));
          const merged = await run(`merge plan.jsonl ${names.join(" ")} --journal merged.jsonl`);
          const sizes = await Promise.all(names.map(megabytes));
          const size = await megabytes("merged.jsonl");
          for (const name of names) await rm(join(temporary, name));
          return {
            "journals of the shards, MB": sum(sizes),
            "journal, MB": size,
            "memory, MB": merged["memory, MB"],
            "wall time, s": merged["wall time, s"],
            "model calls": await callsIn("merged.jsonl"),
          };
        },
      ),
  };
}

async function megabytes(name: string): Promise<number> {
  return (await stat(join(temporary, name))).size / 1e6;
}

async function callsIn(journal: string): Promise<number> {
  let calls = 0;
  for await (const line of createInterface(createReadStream(join(temporary, journal))))
    if (line.includes('"kind":"model.used"')) calls += 1;
  return calls;
}

/** Each shard has the items after those of the one before. */
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

export const rows: readonly Row[] = [
  {
    name: "the merge of many shards",
    sides: [merge(10_240, 256), merge(1_024, 26)],
    atMost: { "journal, MB": 300 },
  },
];
