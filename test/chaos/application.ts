/**
 * An application on the library, with tools of its own whose handlers fail. It takes the place of
 * `agent-jobs run` where a case needs one, understands the options that the cases use, and reports as it does.
 */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { JobHost, validateEntry, type Tool } from "../../src/index.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { createJournal } from "../../src/journal/write.ts";
import { createTerminalReporter } from "../../src/reports/terminal/terminal-reporter.ts";

const tool = (name: string, handler: NonNullable<Tool["handler"]>): Tool => ({
  name,
  description: "Fails.",
  parameters: { type: "object", properties: {} },
  skipPermission: true,
  handler,
});

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    journal: { type: "string", default: "" },
    "provider-base-url": { type: "string", default: "" },
    "runtime-path": { type: "string", default: "" },
    "working-directory": { type: "string", default: "" },
  },
});
const [, file = "", jobName = ""] = positionals;
const host = new JobHost({
  provider: { baseUrl: values["provider-base-url"] },
  runtimePath: values["runtime-path"],
  reporters: [
    createJournal(values.journal),
    createTerminalReporter({
      stream: process.stdout,
      verbosity: "normal",
      colors: false,
      live: false,
      clock: systemClock,
    }),
  ],
  tools: [
    tool("throws", () => {
      throw new Error("out of paper");
    }),
    tool("hangs", () => new Promise(() => {})),
    tool("floods", () => "x".repeat(60_000_000)),
  ],
});
await host.installJobsEntry(validateEntry(JSON.parse(await readFile(file, "utf8")), file));
await host.startJob(jobName, "", values["working-directory"], {
  workStarted: () => {},
  workStopped: () => {},
  jobSucceeded: () => {},
  jobFailed: () => (process.exitCode = 1),
  jobCanceled: () => (process.exitCode = 130),
});
