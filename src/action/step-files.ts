/**
 * The files through which a step speaks to the runner and to later steps: its outputs, its state, its summary, and the
 * environment and path of later steps. During a run only what the user has given them to may write to them, and an
 * agent with a shell could find them.
 */
import { createHash } from "node:crypto";
import { closeSync, fstatSync, readFileSync } from "node:fs";
import { stepFileNames } from "../run/records.ts";
import type { Reporter } from "../events/sink.ts";
import { openToReadNow } from "../platform/reading.ts";
import type { Environment } from "./inputs.ts";

/** Of a larger file, the time of the last change is compared instead of the content. In bytes. */
const longest = 2 * 1024 * 1024;

export interface StepFiles {
  /** Compares them at the end of the run, before anything else is written. */
  readonly reporter: Reporter;
  /** One sentence, after the run: who wrote to them is not known. */
  problem(): string | undefined;
}

/** `given`: names of variables that commands or tools may see. */
export function watchStepFiles(environment: Environment, given: ReadonlySet<string>): StepFiles {
  const watched = stepFileNames.filter(
    (name) => !given.has(name) && (environment[name] ?? "") !== "",
  );
  const look = (): readonly string[] => watched.map((name) => stateOf(environment[name] ?? ""));
  const before = look();
  let changed: readonly string[] = [];
  return {
    reporter: {
      name: "check of the step's files",
      report({ type }) {
        if (type !== "run.ended") return;
        const now = look();
        changed = watched.filter((_, index) => now[index] !== before[index]);
      },
    },
    problem: () =>
      changed.length === 0
        ? undefined
        : `Something else has written to ${changed.join(", ")} during the run. This can change what later steps do.`,
  };
}

function stateOf(path: string): string {
  try {
    const file = openToReadNow(path, "followed");
    try {
      const stats = fstatSync(file);
      const { dev, ino, size, mtimeMs } = stats;
      // Nothing else has an end: `/dev/full` gives zeros for ever.
      if (!stats.isFile()) return `${dev}:${ino}`;
      const content =
        size <= longest
          ? createHash("sha256").update(readFileSync(file)).digest("hex")
          : String(mtimeMs);
      return `${dev}:${ino}:${size}:${content}`;
    } finally {
      closeSync(file);
    }
  } catch {
    return "unreadable";
  }
}
