/** Runs that hand in a report, findings and a verdict. */
import type { Outputs } from "../../src/entry/outputs.ts";
import type { RunEvent, RunOutcome } from "../../src/events/event.ts";
import type { Finding, Verdict } from "../../src/events/output-shapes.ts";
import { finding, origin } from "./published.ts";
import { Telling } from "./samples.ts";

export interface Results {
  readonly report?: string;
  readonly title?: string;
  readonly findings?: readonly Finding[];
  readonly verdict?: Verdict;
  readonly outcome?: RunOutcome;
  readonly outputs?: Outputs;
}

export function runWith(results: Results): readonly RunEvent[] {
  const { report, title, findings = [], verdict, outputs } = results;
  const { outcome = { kind: "succeeded" } as const } = results;
  const telling = new Telling("review", ["review", "merge"]).start(0);
  const work = telling.ref(0);
  if (report !== undefined)
    telling.say({
      type: "report.given",
      work,
      markdown: report,
      ...(title === undefined ? {} : { title }),
    });
  for (const one of findings) telling.say({ type: "finding.reported", work, finding: one });
  if (verdict !== undefined) telling.say({ type: "verdict.given", work, verdict });
  telling
    .deny(0, "shell", "npm publish", "not allowed")
    .turn(0, "Done.")
    .end(0, outcome.kind === "failed" ? outcome : { kind: "succeeded" })
    .over(outcome);
  return telling.events.map((event) =>
    event.type === "run.started"
      ? { ...event, origin, ...(outputs === undefined ? {} : { outputs }) }
      : event,
  );
}

/** For the pictures: what a review of a pull request comes to. */
export function reviewed(): readonly RunEvent[] {
  return runWith({
    verdict: {
      verdict: "needs-work",
      reason: "a turn that never starts is never stopped, and no test plays one",
    },
    title: "Review of 4f2a91c",
    report: [
      "# What changes",
      "The commit moves the retry loop into `attempt.ts`, and **arms the deadline** after the first `await`.",
      "1. **Correctness**: a turn that never starts is never stopped.\n2. **Tests**: none plays such a turn. Asked @octocat, see #12 and https://example.com/deadlines.",
      "| Part | Lines | Covered |\n| :- | -: | :-: |\n| `attempt.ts` | 120 | yes |\n| `turn.ts` | 48 | ~~no~~ partly |",
      "```ts\nconst disarm = stopAfter(clock, scope, minutes(limits.taskMinutes), reason);\n```",
      "> The old loop armed it first.\n>\n> - see `run-task.ts`",
      "![diagram](https://example.com/diagram.png) <details><summary>More</summary></details>",
    ].join("\n\n"),
    findings: [
      finding({
        severity: "error",
        path: "src/engine/attempt.ts",
        line: 42,
        endLine: 47,
        headLine: 44,
        title: "The deadline is armed too late",
        message:
          "`stopAfter` is called after the first `await`: a turn that never starts is never stopped.",
        fingerprint: "a",
      }),
      finding({
        path: "test/engine/attempt.test.ts",
        line: 8,
        message: "No test plays a turn that never starts | and none a turn that ends twice.",
        rule: "tests",
        fingerprint: "b",
      }),
      finding({
        severity: "notice",
        path: "docs/limits.md",
        line: 12,
        message: "Says *first attempt*; the code says `attempt 1`.",
        rule: "docs",
        fingerprint: "c",
      }),
    ],
  });
}
