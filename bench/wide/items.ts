/** An `Each` with many items: what waits for a slot must cost nothing. */
import { createReadStream } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startModelServer } from "../../test/rig/model-server.ts";
import { temporary } from "../sessions/sides.ts";
import type { Figures, Row, Side } from "./row.ts";
import { runWatched } from "./run-watched.ts";

interface Wide {
  readonly items: number;
  readonly parallel: number;
  readonly answerMs?: number;
  readonly taskMinutes?: number;
}

/** Runs a job of one task for each item on a model server that answers "Done". */
export function each({ items, parallel, answerMs = 20, taskMinutes = 30 }: Wide): Side {
  const name = `${items} items, parallel ${parallel}`;
  const run = async (commandLine: string): Promise<Figures> => {
    let first: number | undefined;
    const server = await startModelServer(
      async () => {
        first ??= performance.now();
        await sleep(answerMs);
        return { text: "Done." };
      },
      { keep: false },
    );
    const entry = {
      models: { driving: "bench" },
      permissions: { sandbox: "off" },
      limits: { parallel, taskMinutes },
      tasks: { item: { prompt: "Do $item.", model: { category: "driving" } } },
      jobs: {
        job: {
          work: {
            kind: "Each",
            parallel: true,
            atMost: items,
            items: { values: Array.from({ length: items }, (_, index) => `item ${index}`) },
            work: { kind: "Ref", taskId: "item" },
          },
        },
      },
    };
    await writeFile(join(temporary, "wide.json"), JSON.stringify(entry));
    const journal = join(temporary, "wide.jsonl");
    const { start, ...figures } = await runWatched(
      [commandLine, "run", "wide.json", "--quiet", "--journal", journal, ...provider(server)],
      temporary,
    );
    await server.close();
    const sessions = await sessionsIn(journal);
    await rm(journal);
    return {
      ...figures,
      ...sessions,
      "first request, s": ((first ?? Number.NaN) - start) / 1000,
    };
  };
  return { name, run };
}

const provider = ({ baseUrl }: { readonly baseUrl: string }): readonly string[] => [
  "--provider-base-url",
  baseUrl,
];

async function sessionsIn(journal: string): Promise<Figures> {
  let [open, most, failed] = [0, 0, 0];
  for await (const line of createInterface(createReadStream(journal))) {
    if (line.includes('"type":"session.started"')) most = Math.max(most, (open += 1));
    if (line.includes('"type":"session.ended"')) open -= 1;
    if (line.includes('"type":"work.ended"') && !line.includes('"kind":"succeeded"')) failed += 1;
  }
  return { "sessions at once": most, failed };
}

export const rows: readonly Row[] = [
  {
    name: "items that wait longer than their limit",
    sides: [
      each({ items: 40, parallel: 4, answerMs: 2_000, taskMinutes: 0.2 }),
      each({ items: 4, parallel: 4, answerMs: 2_000, taskMinutes: 0.2 }),
    ],
  },
  {
    name: "memory",
    sides: [each({ items: 1_000, parallel: 8 }), each({ items: 8, parallel: 8 })],
    most: { "memory, MB": 1.3 },
  },
  {
    name: "start",
    sides: [each({ items: 1_000, parallel: 8 }), each({ items: 1, parallel: 8 })],
    most: { "first request, s": 1.5 },
  },
  {
    name: "many items",
    sides: [each({ items: 10_000, parallel: 8 }), each({ items: 1_000, parallel: 8 })],
    most: { "memory, MB": 1.3 },
  },
];
