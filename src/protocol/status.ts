/** `status` is what the model says about itself. It changes nothing; a claim that is false is reported. */
import type { ActionDocument } from "./model.ts";
import { isEnded, type Task } from "./task.ts";

/** What is false about the claim, after the SYNC actions of the document have ended. */
export function claimOf(
  { status, stop }: ActionDocument,
  tasks: readonly Task[],
  active: number,
): string | undefined {
  const failed = tasks.filter(({ state }) => isEnded(state) && state.status !== "succeeded").length;
  const inBackground = tasks.some((task) => task.inBackground);
  const real =
    failed > 0
      ? "ERROR"
      : active > 0 || inBackground
        ? "TASK_STARTED"
        : stop
          ? "SUCCESS"
          : "EXECUTING";
  const isTrue = {
    // Whether the work as a whole failed is the model's to say.
    ERROR: true,
    EXECUTING: tasks.length > 0 || !stop || active > 0,
    TASK_STARTED: inBackground || active > 0,
    SUCCESS: failed === 0 && active === 0,
  }[status];
  return isTrue ? undefined : `The document claims the status ${status}, but it is ${real}.`;
}
