import type { RunEvent } from "../../src/events/event.ts";
import type { RunView } from "../../src/events/view.ts";
import { journalLine } from "../../src/journal/read.ts";
import type { JournalFile } from "../../src/journal/write.ts";
import { viewOf } from "../rig/tell.ts";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";

/** A file in memory whose writes take as many bytes as `take` says. */
export function memory(
  take: (left: number) => number,
): JournalFile & { text(): string; writes: number } {
  const bytes: number[] = [];
  return {
    writes: 0,
    write(chunk, offset) {
      this.writes += 1;
      const part = chunk.slice(offset, offset + take(chunk.length - offset));
      bytes.push(...part);
      return part.length;
    },
    close() {},
    text: () => new TextDecoder().decode(Uint8Array.from(bytes)),
  };
}

export function fold(events: readonly RunEvent[]): RunView {
  return viewOf(events);
}

export const note = (text: string): RunEvent => ({
  at: 7,
  runId: "run",
  type: "decision",
  work: null,
  decision: { kind: "note", text },
});

/** The lines of a journal, whatever they hold. */
export function sealed(bodies: readonly object[]): string[] {
  const header = { type: "journal", at: 1, format: "agent-jobs journal" };
  return [header, ...bodies].map((fields, seq) => journalLine(seq, fields));
}

/** Makes the journal of a rehearsal what a model would have left: nothing but the mark differs. Returns its digest. */
export async function asReal(file: string): Promise<string> {
  const rehearsed = await readFile(file, "utf8");
  const text = rehearsed.replace(',"rehearsed":true', "");
  assert.notEqual(text, rehearsed);
  await writeFile(file, text);
  return createHash("sha256").update(text).digest("hex");
}
