/**
 * Asks the questions of its arguments at its terminal, below a live view, and prints the answers as JSON. Before
 * the first question it waits for SIGUSR2.
 */
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { createTerminalAsker } from "../../src/cli/terminal-asker.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { createTerminalReporter } from "../../src/reports/terminal/terminal-reporter.ts";
import * as samples from "../events/samples.ts";
import { tell } from "../rig/tell.ts";

const controller = new AbortController();
process.once("SIGINT", () => controller.abort());
const { asker, pause } = createTerminalAsker({
  input: process.stdin,
  output: process.stderr,
  environment: { A_TOKEN: "hunter2hunter2" },
  interrupt: () => void process.kill(process.pid, "SIGINT"),
});
const reporter = createTerminalReporter({
  stream: process.stdout,
  verbosity: "normal",
  colors: false,
  live: true,
  clock: systemClock,
  pause,
});
const [first, ...others] = samples.story();
if (first !== undefined) tell(reporter, first);
const go = once(process, "SIGUSR2");
// Signals alone keep no process alive.
const alive = setInterval(() => {}, 60_000);
process.stdout.write(`pid ${process.pid}.\n`);
await go;
clearInterval(alive);
const work = { workId: 0, taskId: "w.wf.md", iteration: 1 };
const asked = process.argv
  .slice(2)
  .map((question, index) =>
    asker({ activity: `ASK_${index}`, question, times: 0, work, step: 1 }, controller.signal),
  );
await setImmediate();
tell(reporter, ...others.slice(0, 2));
const answers = await Promise.all(asked);
await reporter.close?.();
process.stdout.write(`${JSON.stringify(answers)}\n`);
