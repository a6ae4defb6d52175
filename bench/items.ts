/** An `Each` with many items: what waits for a slot must cost nothing. */
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  cli,
  command,
  entryOf,
  ref,
  temporary,
  withModel,
  writeJson,
  type Figures,
  type Row,
  type Side,
} from "./rig.ts";

interface Wide {
  readonly items: number;
  readonly parallel: number;
  readonly answerMs?: number;
  readonly taskMinutes?: number;
}

function each({ items, parallel, answerMs = 20, taskMinutes = 30 }: Wide): Side {
  const values = Array.from({ length: items }, (_, index) => `item ${index}`);
  const work = { kind: "Each", parallel: true, atMost: items, items: { values }, work: ref };
  const answer = async (): Promise<{ text: string }> => {
    await sleep(answerMs);
    return { text: "Done." };
  };
  return {
    name: `${items} items, parallel ${parallel}`,
    run: (dist) =>
      withModel(answer, async ({ baseUrl, firstRequest }) => {
        await writeJson("wide.json", entryOf("Do $item.", work, { parallel, taskMinutes }));
        const args = ["--quiet", "--journal", "wide.jsonl", "--provider-base-url", baseUrl];
        const {
          start,
          ownCpuMs: _own,
          ...figures
        } = await command([cli(dist), "run", "wide.json", ...args], {
          mayFail: true,
        });
        return { ...figures, "first request, s": firstRequest(start), ...(await sessions()) };
      }),
  };
}

async function sessions(): Promise<Figures> {
  const journal = join(temporary, "wide.jsonl");
  let [open, most, failed] = [0, 0, 0];
  for await (const line of createInterface(createReadStream(journal))) {
    if (line.includes('"type":"session.started"')) most = Math.max(most, (open += 1));
    if (line.includes('"type":"session.ended"')) open -= 1;
    if (line.includes('"type":"work.ended"') && !line.includes('"kind":"succeeded"')) failed += 1;
  }
  await rm(journal);
  return { "sessions at once": most, failed };
}

const many = each({ items: 1_000, parallel: 8 });

export const rows: readonly Row[] = [
  {
    name: "items that wait longer than their limit",
    sides: [
      each({ items: 40, parallel: 4, answerMs: 2_000, taskMinutes: 0.2 }),
      each({ items: 4, parallel: 4, answerMs: 2_000, taskMinutes: 0.2 }),
    ],
    atMost: { failed: 0 },
  },
  {
    name: "memory of many items",
    sides: [many, each({ items: 8, parallel: 8 })],
    most: { "memory, MB": 1.3 },
  },
  {
    name: "start of many items",
    sides: [many, each({ items: 1, parallel: 8 })],
    most: { "first request, s": 1.5 },
  },
  {
    name: "memory of ten times as many items",
    sides: [each({ items: 10_000, parallel: 8 }), many],
    most: { "memory, MB": 1.3 },
  },
];
