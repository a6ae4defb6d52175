/** Findings and the run that they are of. */
import type { Finding, Origin } from "../../src/events/output-shapes.ts";
import type { AliveOptions } from "./alive.ts";

export const origin: Origin = {
  repository: "o/r",
  server: "https://github.com",
  workflowRun: "77",
  attempt: 1,
  event: "pull_request",
  head: "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00",
  number: 5,
  isPullRequest: true,
};
export const publisher = { job: "review", entry: ".github/agent-jobs/review.yml", origin };

/** Parts of our own texts may be alive. */
export const ours: AliveOptions = {
  marker: true,
  links: ["https://github.com/o/r/blob/", "https://github.com/o/r/actions/runs/77/"],
  html: /^<\/?sub>$/,
};

export function finding(changed: Partial<Finding> = {}): Finding {
  return {
    path: "src/a.ts",
    line: 3,
    headLine: 3,
    severity: "warning",
    rule: "review",
    message: "The error is swallowed.",
    task: "review",
    fingerprint: "f0",
    ...changed,
  };
}

/** One that has `text` wherever an agent may write. */
export function hostileFinding(text: string): Finding {
  return finding({
    path: text,
    rule: text,
    title: text,
    message: text,
    suggestion: text,
    task: text,
    fingerprint: text,
  });
}
