#!/usr/bin/env node
/** The bin: arguments in, exit code out. */
import { runProgram } from "./program.ts";

// `agent-jobs list … | head` closes our output early: that is no fault of anybody.
process.stdout.on("error", () => process.exit(0));

process.exitCode = await runProgram(process.argv.slice(2));
// Nothing of ours holds the process open any more; what a dependency may still hold does not either.
setTimeout(() => process.exit(), 1_000).unref();
