/** What becomes of a turn in a session whose command was not in its sandbox. */
import type { TurnOutcome } from "../engine/ports.ts";

/** Set once, with the reason. */
export interface Unconfined {
  readonly reason?: string;
}

/** However well the turn ended: the report may arrive with the last answer, or after it. */
export function unlessUnconfined(
  unconfined: Unconfined | undefined,
  outcome: TurnOutcome,
): TurnOutcome {
  if (unconfined?.reason === undefined) return outcome;
  const message = `The sandbox of a command was not engaged: ${unconfined.reason}. The session was ended.`;
  const { toolCalls } = outcome;
  return { kind: "crashed", toolCalls, crash: { cause: "configuration", message } };
}
