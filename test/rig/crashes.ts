import { refusalOf, type Crash } from "../../src/events/crash.ts";

export const sessionCrash: Crash = { cause: "session-error", message: "boom" };

/** The model server answered with this status. */
export function answered(status: number, retryAfterMs?: number): Crash {
  const refusal = refusalOf(status) ?? { cause: "session-error", status };
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  return { ...refusal, ...wait, message: "boom" };
}
