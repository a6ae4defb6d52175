/** One user of a session at a time: a prompt of its owner, a task that borrows it, or the task that opened it. */
import type { CopilotSession } from "@github/copilot-sdk";
import type { Clock } from "../platform/clock.ts";
import { within, yieldToEventLoop } from "../platform/waiting.ts";

export const BUSY =
  "The session is busy: it is still working on a prompt, or a task is running in it.";

/** A use that has reported its end may take a moment longer to be over. */
const MOMENT_MS = 1_000;

interface Use {
  readonly over: Promise<void>;
  isEnding: boolean;
  readonly leave: () => void;
}

/** Keyed by the SDK's session, because several of our objects may wrap the same one. */
const uses = new WeakMap<CopilotSession, Use>();

export function occupy(session: CopilotSession): Use {
  let end = (): void => {};
  const over = new Promise<void>((resolve) => (end = resolve));
  const use: Use = {
    over,
    isEnding: false,
    leave: () => {
      if (uses.get(session) === use) uses.delete(session);
      end();
    },
  };
  uses.set(session, use);
  return use;
}

/** Like `occupy`, but rejects if the session is in use, except by what ends within a moment. */
export async function enter(session: CopilotSession, clock: Clock): Promise<Use> {
  // Called by a listener of the end, it may come before the one that notes it here.
  if (uses.has(session)) await yieldToEventLoop();
  const current = uses.get(session);
  if (current?.isEnding === true) await within(current.over, MOMENT_MS, clock);
  if (uses.has(session)) throw new Error(BUSY);
  return occupy(session);
}
