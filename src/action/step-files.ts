/** The files by which a step speaks to the runner and to later steps: an agent with a shell could write to them. */
import { statSync } from "node:fs";
import { stepFileNames } from "../run/records.ts";
import type { Reporter } from "../events/sink.ts";
import type { Environment } from "./inputs.ts";

/** `onStarted` writes to them itself, before any agent runs. */
export function watchStepFiles(
  environment: Environment,
  given: ReadonlySet<string>,
  onStarted: () => void = () => {},
) {
  const watched = stepFileNames.filter(
    (name) => !given.has(name) && (environment[name] ?? "") !== "",
  );
  const look = (): readonly string[] => watched.map((name) => stateOf(environment[name] ?? ""));
  let known = look();
  const changed = new Set<string>();
  const check = (): void => {
    const now = look();
    watched.filter((_, index) => now[index] !== known[index]).forEach((name) => changed.add(name));
  };
  const reporter: Reporter = {
    name: "check of the step's files",
    report({ type }) {
      if (type === "run.started" || type === "run.ended") check();
      if (type !== "run.started") return;
      try {
        onStarted();
      } catch {
        // The step tries again at its end, and says why it can't.
      }
      known = look();
    },
  };
  const problem = (): string | undefined =>
    changed.size === 0
      ? undefined
      : `Something else has written to ${[...changed].join(", ")} during the run. This can change what later steps do.`;
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
