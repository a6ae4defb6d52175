#!/usr/bin/env node
import { yieldToEventLoop } from "../platform/waiting.ts";
import { exitCode, ioOf } from "./process.ts";
import { reportBug, runProgram } from "./program.ts";

const io = ioOf(process);

// `agent-jobs run … | head` closes the output early. The run continues, and keeps its exit code.
let lost: string | undefined;
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (!["EPIPE", "ECONNRESET"].includes(error.code ?? "")) lost ??= error.message;
});
process.stderr.on("error", () => {});

// Node would print it without escaping it.
process.on("uncaughtException", (error) => {
  reportBug(error, io);
  process.exit(exitCode.failed);
});

const args = process.argv.slice(2);
// Hides the arguments: every user of the machine can read the list of processes.
process.title = "agent-jobs";

process.exitCode = await runProgram(args, io);
// A run that was canceled is over in five seconds.
const patienceMs = process.exitCode === exitCode.canceled ? 500 : 60_000;
const unread = await io.output.end(patienceMs);
// A file's stream reports a failed write only after the promises that are due.
await yieldToEventLoop();
lost ??= unread;
if (lost !== undefined) {
  io.output.printError(`agent-jobs: the output is incomplete: ${lost}`);
  process.exitCode ||= exitCode.failed;
}
// Exits even if a dependency still keeps the process alive.
setTimeout(() => process.exit(), 1_000).unref();
