/**
 * The files through which a step speaks to the runner and to later steps: its outputs, its state, its summary, and the
 * environment and path of later steps. During a run only what the user has given them to may write to them, and an
 * agent with a shell could find them.
 */
import { statSync } from "node:fs";
import { stepFileNames } from "../run/records.ts";
import type { Reporter } from "../events/sink.ts";
import type { Environment } from "./inputs.ts";

/** `given`: names of variables that commands or tools may see. */
export function watchStepFiles(environment: Environment, given: ReadonlySet<string>) {
  const watched = stepFileNames.filter(
    (name) => !given.has(name) && (environment[name] ?? "") !== "",
  );
  const look = (): readonly string[] => watched.map((name) => stateOf(environment[name] ?? ""));
  const before = look();
  let changed: readonly string[] = [];
  /** Compares them at the end of the run, before anything else is written. */
  const reporter: Reporter = {
    name: "check of the step's files",
    report({ type }) {
      if (type !== "run.ended") return;
      const now = look();
      changed = watched.filter((_, index) => now[index] !== before[index]);
    },
  };
  /** One sentence, after the run: who wrote to them is not known. */
  const problem = (): string | undefined =>
    changed.length === 0
      ? undefined
      : `Something else has written to ${changed.join(", ")} during the run. This can change what later steps do.`;
  return { reporter, problem };
}

/** Nobody can set the time of the last change of a file (`ctime`). */
function stateOf(path: string): string {
  try {
    const { dev, ino, size, ctimeNs } = statSync(path, { bigint: true });
    return `${dev}:${ino}:${size}:${ctimeNs}`;
  } catch {
    return "unreadable";
  }
}
