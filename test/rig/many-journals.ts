/** Folders with more journals than a list can read in one go. */
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunEvent } from "../../src/events/event.ts";
import { story } from "../events/samples.ts";
import { sealed } from "../journal/rig.ts";

/** `bytes`: of all together, at least. The last one is the latest. Each contains the run `run-NUMBER`. */
export function writeJournals(folder: string, count: number, bytes: number): void {
  mkdirSync(folder, { recursive: true });
  const [first, ...rest] = story();
  if (first === undefined) return;
  const last = rest.at(-1);
  const tool = rest.find((event) => event.type === "activity");
  if (tool?.type !== "activity" || last === undefined) return;
  const content = "A line of a file that an agent has read.\n".repeat(4);
  const call = (id: number): RunEvent => ({
    ...tool,
    activity: {
      kind: "tool.ended",
      toolCallId: `call-${id}`,
      toolName: "view",
      succeeded: true,
      result: { content },
    },
  });
  const calls = Math.ceil(bytes / count / (JSON.stringify(call(0)).length + 20));
  const events = [
    first,
    ...rest.slice(0, -1),
    ...Array.from({ length: calls }, (_, id) => call(id)),
  ];
  const text = sealed([...events, last]).join("");
  for (let number = 0; number < count; number += 1) {
    const path = join(folder, `${number}.jsonl`);
    writeFileSync(path, text.replaceAll('"runId":"run"', `"runId":"run-${number}"`));
    utimesSync(path, 1_000_000 + number, 1_000_000 + number);
  }
}
