import { cancelOnSignals, type Cancellation } from "../app/cancellation.ts";
import { exitCode } from "./exit-code.ts";

/** Ctrl-C, a polite kill and a closed terminal cancel the run; five seconds later it is over, report included. */
export function cancelFromTerminal(): Cancellation {
  return cancelOnSignals({
    signals: ["SIGINT", "SIGTERM", "SIGHUP"],
    exitCode: exitCode.canceled,
    patienceMs: 4_500,
    secondExits: true,
  });
}
