#!/usr/bin/env node
/** The bin: arguments in, exit code out. */
import { exitCode, output } from "./process.ts";
import { runProgram } from "./program.ts";

// `agent-jobs run … | head` closes our output early: what runs goes on to its end, and so does its exit code.
let lost: string | undefined;
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") lost ??= error.message;
});
process.stderr.on("error", () => {});

const args = process.argv.slice(2);
// Takes the place of the command line in the list of processes, which every user of the machine can read.
process.title = "agent-jobs";

process.exitCode = await runProgram(args);
// A run that was canceled is over in five seconds.
const patienceMs = process.exitCode === exitCode.canceled ? 500 : 60_000;
lost ??= await output.end(patienceMs);
if (lost !== undefined) {
  output.printError(`agent-jobs: the output is not complete: ${lost}`);
  process.exitCode ||= exitCode.failed;
}
// Nothing of ours holds the process open any more; what a dependency may still hold does not either.
setTimeout(() => process.exit(), 1_000).unref();
