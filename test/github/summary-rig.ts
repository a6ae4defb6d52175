import * as core from "@actions/core";
import { ManualClock } from "../reports/terminal/screen.ts";
import type { RunEvent } from "../../src/events/event.ts";
import { createGithubReporter, type GithubOptions } from "../../src/github/github-reporter.ts";
import type { GithubCore } from "../../src/github/step-log.ts";
import { tell } from "../rig/tell.ts";

export interface Reported {
  /** Everything that would be on the step's standard output. */
  readonly output: string;
  readonly lines: readonly string[];
  /** Undefined: none was written. */
  readonly summary: string | undefined;
}

export const options = {
  summary: "full",
  entryFile: ".github/agent-jobs/review.yml",
  lineOf: (taskId: string) => taskId.length,
  chart: () => "flowchart TD\n",
} as const satisfies Partial<GithubOptions>;

/** The real `@actions/core`, whose output is caught before it reaches our own. */
export function realCore(print: (text: string) => void): Omit<GithubCore, "writeSummary"> {
  const caught = (say: () => void): void => {
    const { stdout } = process;
    const write = stdout.write.bind(stdout);
    stdout.write = (chunk: string | Uint8Array): boolean => {
      print(typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk));
      return true;
    };
    try {
      say();
    } finally {
      stdout.write = write;
    }
  };
  return {
    info: (message) => caught(() => core.info(message)),
    startGroup: (name) => caught(() => core.startGroup(name)),
    endGroup: () => caught(() => core.endGroup()),
    error: (message, properties) => caught(() => core.error(message, properties)),
    warning: (message, properties) => caught(() => core.warning(message, properties)),
    notice: (message, properties) => caught(() => core.notice(message, properties)),
  };
}

/** Reports the events and finishes, through the real `@actions/core`. */
export async function report(
  events: readonly RunEvent[],
  changed: Partial<GithubOptions> = {},
): Promise<Reported> {
  let output = "";
  let summary: string | undefined;
  let tokens = 0;
  const reporter = createGithubReporter({
    ...options,
    clock: new ManualClock(),
    randomToken: () => `token-${(tokens += 1)}`,
    core: {
      ...realCore((text) => {
        output += text;
      }),
      writeSummary: async (markdown) => {
        summary = (summary ?? "") + markdown;
      },
    },
    ...changed,
  });
  tell(reporter, ...events);
  await reporter.finish();
  return { output, lines: output.split("\n").filter((line) => line !== ""), summary };
}
