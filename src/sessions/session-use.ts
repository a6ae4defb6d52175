/** One user of a session at a time: a prompt of its owner, a task that borrows it, or the task that opened it. */
import type { CopilotSession } from "@github/copilot-sdk";
import type { Clock } from "../platform/clock.ts";
import { within } from "../platform/waiting.ts";

export const BUSY =
  "The session is busy: it is still working on a prompt, or a task is running in it.";

/** A use that has reported its end may take a moment longer to be over. */
const MOMENT_MS = 1_000;

/** By the SDK's session, because several of our objects may wrap the same one. */
const uses = new WeakMap<CopilotSession, Promise<void>>();

export function occupy(session: CopilotSession): () => void {
  let end = (): void => {};
  const use = new Promise<void>((resolve) => (end = resolve));
  uses.set(session, use);
  return () => {
    if (uses.get(session) === use) uses.delete(session);
    end();
  };
}

/** Like `occupy`, but waits a moment for another use to end, and rejects if it doesn't. */
export async function enter(session: CopilotSession, clock: Clock): Promise<() => void> {
  const current = uses.get(session);
  if (current !== undefined) await within(current, MOMENT_MS, clock);
  if (uses.has(session)) throw new Error(BUSY);
  return occupy(session);
}
