/** Starts an action. Imports next to nothing before it listens for signals: to load the rest takes a quarter of a second. */
import { appendFileSync } from "node:fs";
import { cancelOnSignals } from "../run/cancellation.ts";
import { unlessAborted } from "../platform/waiting.ts";
import { processEnvironment } from "../platform/environment.ts";
import type { Mode } from "./actions.ts";

export async function start(mode: Mode): Promise<void> {
  // The runner sends SIGINT, 7.5 s later SIGTERM, 2.5 s later it kills; we take five seconds at most.
  const cancellation = cancelOnSignals({
    signals: ["SIGINT", "SIGTERM"],
    exitCode: 1,
    patienceMs: 4_000,
    secondExits: false,
  });
  // The reader of the log has gone, and with it whoever could stop the step.
  process.stdout.on("error", ({ message }) =>
    cancellation.cancel(`the log can't be written: ${message}`),
  );
  process.stderr.on("error", () => {});
  // On a busy machine, loading takes longer than the runner waits.
  const load = async () => {
    const { runAction } = await import("./action.ts");
    return runAction;
  };
  const loaded = await unlessAborted(load(), cancellation.signal);
  if (loaded === undefined) {
    reportCancellation(String(cancellation.signal.reason));
    process.exit(1);
  }
  process.exitCode = (await loaded.value(mode, cancellation)) === "failed" ? 1 : 0;
  // Exits even if a dependency still keeps the process alive.
  setTimeout(() => process.exit(), 1_000).unref();
}

/** The `post` step of `action.yml`: runs after every main step, also after one that was killed. */
export async function finish(): Promise<void> {
  // Processes that the run has left are ended, whether or not anyone reads about it.
  process.stdout.on("error", () => {});
  const { isMark, LIVE_STATE, MARK_STATE, runnerCore } = await import("./runner-core.ts");
  const mark = runnerCore.getState(MARK_STATE);
  if (isMark(mark)) {
    const { endMarkedProcesses, processesMarked } = await import("../platform/processes.ts");
    const { reapDeadRuns, RUN_MARK } = await import("../platform/run-folder.ts");
    const left = await processesMarked(RUN_MARK, mark);
    await endMarkedProcesses(RUN_MARK, mark);
    await reapDeadRuns();
    runnerCore.info(
      left.length === 0
        ? "The run left no processes."
        : `Ended ${left.length} processes that the run left behind.`,
    );
  }
  if (runnerCore.getState(LIVE_STATE) === "") return;
  const { endKilled } = await import("./live.ts");
  await endKilled(runnerCore, processEnvironment());
}

function reportCancellation(reason: string): void {
  const environment = processEnvironment();
  const write = (name: string, text: string): void => {
    try {
      appendFileSync(environment[name] ?? "", text);
    } catch {
      // There is nowhere left to report it.
    }
  };
  write("GITHUB_OUTPUT", `result=cancelled\nreason=${reason}\n`);
  if (environment["INPUT_SUMMARY"] !== "off") {
    write("GITHUB_STEP_SUMMARY", `## agent-jobs: cancelled\n\n${reason}\n`);
  }
}
