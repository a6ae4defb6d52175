/** A run as test cases: its works, and what it has found. */
import { elapsedMs, endText, type RunView, type WorkView } from "../events/view.ts";
import { collectOutputs } from "../outputs/collect.ts";
import type { TestCase } from "../outputs/junit.ts";

export function testCasesOf(view: RunView): readonly TestCase[] {
  const end = view.endedAt ?? view.startedAt ?? 0;
  const works = [...view.works.values()]
    .filter(({ condition }) => !condition)
    .map((work): TestCase => {
      const seconds = elapsedMs(work, end) / 1000;
      const name = `#${work.workId} ${work.taskId}`;
      return { name, group: view.jobName, seconds, ...resultOf(work, endText(view)) };
    });
  const findings = collectOutputs(view).findings.map((finding): TestCase => {
    const { path, line, severity, rule, title, message } = finding;
    const name = `${path}:${line} ${title ?? message.split("\n", 1)[0] ?? ""}`;
    const place = { name, group: `${view.jobName}.findings`, file: path, line, seconds: 0 };
    return severity === "error"
      ? { ...place, result: "failure", type: rule, reason: message }
      : { ...place, result: "success", output: `${severity}: ${message}` };
  });
  return [...works, ...findings];
}

function resultOf(
  { status, reason }: WorkView,
  end: string,
): Pick<TestCase, "result" | "reason" | "type"> {
  switch (status) {
    case "succeeded":
    case "answered-no":
      return { result: "success" };
    case "failed":
      return { result: "failure", type: "failed", reason: reason ?? end };
    case "crashed":
      return { result: "error", type: "crashed", reason: reason ?? end };
    case "canceled":
    case "running":
      return { result: "error", type: "canceled", reason: reason ?? end };
    case "skipped":
    case "pending":
      return { result: "skipped", reason: reason ?? "it was not started" };
  }
}
