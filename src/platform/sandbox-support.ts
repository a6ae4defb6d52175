/** Whether this machine can run programs in a sandbox: what bubblewrap needs is tried, not guessed. */
import { delimiter } from "node:path";
import { startTimeLimit } from "./waiting.ts";
import { systemClock } from "./system-clock.ts";
import { childEnvironment, type Environment } from "./environment.ts";
import { runToEnd } from "./programs.ts";
import { trialArguments } from "./sandbox.ts";
import { findProgram, searchFolders } from "./search-path.ts";

/** How programs are started in a sandbox here, or why they can't be, with what to do. */
export type SandboxSupport =
  | { readonly kind: "bubblewrap"; readonly path: string }
  | { readonly kind: "none"; readonly reason: string; readonly advice: string };

/** Tries it, once for each program that it finds. Never rejects. */
export async function sandboxSupport(
  environment: Environment,
  program?: string,
): Promise<SandboxSupport> {
  if (process.platform !== "linux") {
    return {
      kind: "none",
      reason: "agent-jobs has a sandbox on Linux only",
      advice: "Run the job on Linux",
    };
  }
  const path = program ?? findBubblewrap(environment);
  if (path === undefined) {
    return {
      kind: "none",
      reason: "bubblewrap is not installed",
      advice: "Install it with `sudo apt-get install bubblewrap`",
    };
  }
  let trial = trials.get(path);
  if (trial === undefined) trials.set(path, (trial = tryOut(path, environment)));
  const support = await trial;
  // What keeps it from working can be removed.
  if (support.kind === "none") trials.delete(path);
  return support;
}

/** Of all in `PATH` the distribution's own: AppArmor's profiles name its file. */
export function findBubblewrap(environment: Environment): string | undefined {
  const folders = searchFolders(environment);
  const own = folders.filter((folder) => folder === "/usr/bin");
  return findProgram("bwrap", { ...environment, PATH: [...own, ...folders].join(delimiter) });
}

const trialMs = 10_000;
const trials = new Map<string, Promise<SandboxSupport>>();

async function tryOut(path: string, environment: Environment): Promise<SandboxSupport> {
  const { signal, end } = startTimeLimit(systemClock, trialMs);
  const ended = await runToEnd(path, trialArguments(path), {
    cwd: "/",
    env: childEnvironment(environment),
    signal,
  });
  end();
  if (ended.kind === "exited" && ended.code === 0) return { kind: "bubblewrap", path };
  const said =
    ended.kind === "exited"
      ? ended.stderr.trim().split("\n")[0]
      : ended.kind === "not-started"
        ? ended.reason
        : undefined;
  return {
    kind: "none",
    reason: `bubblewrap doesn't work${(said ?? "") === "" ? "" : `: ${said}`}`,
    advice: /unknown option/i.test(said ?? "")
      ? "Install bubblewrap 0.8 or later"
      : "Allow it to make user namespaces (on Ubuntu with `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`)",
  };
}
