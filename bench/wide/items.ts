/** An `Each` with many items: what waits for a slot must cost nothing. */
import { writeFile } from "node:fs/promises";
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
    const { start, lines, ...figures } = await runWatched(
      [commandLine, "run", "wide.json", "--provider-base-url", server.baseUrl],
      temporary,
    );
    await server.close();
    const failed = lines.filter((line) => line.includes("[TASK FAILED]")).length;
    return { ...figures, "first request, s": ((first ?? Number.NaN) - start) / 1000, failed };
  };
  return { name, run };
}

export const rows: readonly Row[] = [
  {
    name: "items that wait longer than their limit",
    sides: [
      each({ items: 40, parallel: 4, answerMs: 2_000, taskMinutes: 0.2 }),
      each({ items: 4, parallel: 4, answerMs: 2_000, taskMinutes: 0.2 }),
    ],
  },
];
