/** What the process tells who started it; documented in docs/cli.md. */
export const exitCode = {
  success: 0,
  /** The job failed; for `rehearse`: an expectation or a rule did. */
  failed: 1,
  /** Wrong usage, a missing user input, an invalid entry. */
  usage: 2,
  canceled: 130,
} as const;

export type ExitCode = (typeof exitCode)[keyof typeof exitCode];
