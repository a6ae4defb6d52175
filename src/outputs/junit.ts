import { elapsedMs, endText, type RunView, type WorkView } from "../events/view.ts";
import { collectOutputs } from "./collect.ts";

export interface TestCase {
  readonly name: string;
  readonly group: string;
  readonly file?: string;
  readonly line?: number;
  readonly seconds: number;
  readonly result: "success" | "failure" | "error" | "skipped";
  readonly reason?: string;
  readonly type?: string;
  readonly output?: string;
}

export function junitXml(suite: string, cases: readonly TestCase[]): string {
  const count = (result: TestCase["result"]): number =>
    cases.filter((one) => one.result === result).length;
  const counts = {
    tests: cases.length,
    failures: count("failure"),
    errors: count("error"),
    skipped: count("skipped"),
    time: time(cases.reduce((sum, { seconds }) => sum + seconds, 0)),
  };
  const inside = element("testsuite", { name: suite, ...counts }, cases.map(testCase));
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element("testsuites", counts, [inside])}\n`;
}

function testCase({ name, group, file, line, seconds, output, ...ended }: TestCase): string {
  const { result, reason = "", type } = ended;
  const message = { message: reason.split("\n", 1)[0], type };
  const attributes = { name, classname: group, file, line, time: time(seconds) };
  const printed = output === undefined ? [] : [element("system-out", {}, [escaped(output)])];
  switch (result) {
    case "success":
      return element("testcase", attributes, printed);
    case "failure":
    case "error":
      return element("testcase", attributes, [
        element(result, message, [escaped(reason)]),
        ...printed,
      ]);
    case "skipped":
      return element("testcase", attributes, [element("skipped", message), ...printed]);
  }
}

function time(seconds: number): string {
  return Math.max(0, seconds).toFixed(3);
}

function element(
  name: string,
  attributes: Readonly<Record<string, string | number | undefined>>,
  inside: readonly string[] = [],
): string {
  const named = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [` ${key}="${escaped(String(value))}"`],
  );
  const start = `<${name}${named.join("")}`;
  return inside.length === 0 ? `${start}/>` : `${start}>${inside.join("")}</${name}>`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\n": "&#10;",
  "\r": "&#13;",
  "\t": "&#9;",
};

/** For a text and for an attribute. Characters that XML 1.0 forbids, even as references, are replaced. */
function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, "\u{FFFD}")
    .replace(/[&<>"\n\r\t]/g, (character) => entities[character] ?? character);
}

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
