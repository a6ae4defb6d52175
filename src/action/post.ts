/** The `post` step of `action.yml`: runs after every main step, also after one that was killed. */
import { endMarkedProcesses, processesMarked } from "../platform/processes.ts";
import { reapDeadRuns, RUN_MARK } from "../platform/run-folder.ts";
import { processEnvironment } from "../platform/environment.ts";
import { isMark, LIVE_STATE, MARK_STATE, runnerCore } from "./runner-core.ts";

export async function endStep(): Promise<void> {
  // Processes that the run has left are ended, whether or not anyone reads about it.
  process.stdout.on("error", () => {});

  const mark = runnerCore.getState(MARK_STATE);
  if (isMark(mark)) {
    const left = await processesMarked(RUN_MARK, mark);
    await endMarkedProcesses(RUN_MARK, mark);
    await reapDeadRuns();
    runnerCore.info(
      left.length === 0
        ? "The run left no processes."
        : `Ended ${left.length} processes that the run left behind.`,
    );
  }
  if (runnerCore.getState(LIVE_STATE) !== "") {
    const { endKilled } = await import("./shown-job.ts");
    await endKilled(runnerCore, processEnvironment());
  }
}
