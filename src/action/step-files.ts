/** The files by which a step speaks to the runner and to later steps: an agent with a shell could write to them. */
import { statSync } from "node:fs";
import { stepFileNames } from "../run/records.ts";
import type { Reporter } from "../events/sink.ts";
import type { Environment } from "./inputs.ts";

export function watchStepFiles(environment: Environment, given: ReadonlySet<string>) {
  const watched = stepFileNames.filter(
    (name) => !given.has(name) && (environment[name] ?? "") !== "",
  );
  const look = (): readonly string[] => watched.map((name) => stateOf(environment[name] ?? ""));
  const before = look();
  let changed: readonly string[] = [];
  const reporter: Reporter = {
    name: "check of the step's files",
    report({ type }) {
      if (type !== "run.ended") return;
      const now = look();
      changed = watched.filter((_, index) => now[index] !== before[index]);
    },
  };
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
