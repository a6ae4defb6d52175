/**
 * What `action.yml` names as `main`: exit code out. Imports next to nothing before it listens for signals: to
 * load the rest takes a quarter of a second, in which a canceled step would end without outputs and summary.
 */
import { cancelOnSignals } from "../app/cancellation.ts";

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
const { runAction } = await import("./action.ts");
process.exitCode = (await runAction(cancellation)) === "failed" ? 1 : 0;
// Exits even if a dependency still keeps the process alive.
setTimeout(() => process.exit(), 1_000).unref();
