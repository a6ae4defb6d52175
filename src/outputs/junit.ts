import {
  elapsedMs,
  endText,
  knownCost,
  type RunView,
  type Usage,
  type WorkView,
} from "../events/view.ts";
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
  readonly properties?: Properties;
}

/** Undefined values are left out. */
type Properties = Readonly<Record<string, string | number | undefined>>;

export interface TestSuite {
  readonly name: string;
  /** In milliseconds since 1970; not finite if nothing started. */
  readonly startedAt: number;
  readonly cases: readonly TestCase[];
  readonly properties?: Properties;
}

export function junitXml({ name, startedAt, cases, properties }: TestSuite): string {
  const count = (result: TestCase["result"]): number =>
    cases.filter((one) => one.result === result).length;
  const counts = {
    tests: cases.length,
    failures: count("failure"),
    errors: count("error"),
    skipped: count("skipped"),
    time: time(cases.reduce((sum, { seconds }) => sum + seconds, 0)),
  };
  const timestamp = Number.isFinite(startedAt) ? new Date(startedAt).toISOString() : undefined;
  const inside = element("testsuite", { name, timestamp, ...counts }, [
    ...propertyList(properties),
    ...cases.map(testCase),
  ]);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element("testsuites", counts, [inside])}\n`;
}

function testCase({ name, group, file, line, seconds, output, ...more }: TestCase): string {
  const { result, reason = "", type, properties } = more;
  const message = { message: reason.split("\n", 1)[0], type };
  const attributes = { name, classname: group, file, line, time: time(seconds) };
  const printed = output === undefined ? [] : [element("system-out", {}, [escaped(output)])];
  const text = result === "skipped" ? [] : [escaped(reason)];
  const ended = result === "success" ? [] : [element(result, message, text)];
  return element("testcase", attributes, [...propertyList(properties), ...ended, ...printed]);
}

function propertyList(properties: Properties = {}): string[] {
  const list = Object.entries(properties).flatMap(([name, value]) =>
    value === undefined ? [] : [element("property", { name, value })],
  );
  return list.length === 0 ? [] : [element("properties", {}, list)];
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

/** Escapes a text or an attribute. Characters that XML 1.0 forbids, even as references, are replaced. */
function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, "\u{FFFD}")
    .replace(/[&<>"\n\r\t]/g, (character) => entities[character] ?? character);
}

/** The works of a run and its findings. */
export function testSuiteOf(view: RunView): TestSuite {
  const { jobName, startedAt = 0, endedAt = startedAt, rehearsed, totals } = view;
  const works = [...view.works.values()]
    .filter(({ condition }) => !condition)
    .map((work): TestCase => {
      const seconds = elapsedMs(work, endedAt) / 1000;
      const properties = { model: work.modelId || undefined, ...spent(work) };
      const name = `#${work.workId} ${work.taskId}`;
      return { name, group: jobName, seconds, properties, ...resultOf(work, endText(view)) };
    });
  const seen = new Map<string, number>();
  const findings = collectOutputs(view).findings.map((finding): TestCase => {
    const { path, line, severity, rule, title, message } = finding;
    const plain = `${path} ${title ?? message.split("\n", 1)[0] ?? ""}`;
    const count = (seen.get(plain) ?? 0) + 1;
    seen.set(plain, count);
    // A name with the line would be a new test wherever the line moves.
    const name = count === 1 ? plain : `${plain} (${count})`;
    const place = { name, group: `${jobName}.findings`, file: path, line, seconds: 0 };
    return severity === "error"
      ? { ...place, result: "failure", type: rule, reason: message }
      : { ...place, result: "success", output: `${severity}: ${message}` };
  });
  const name = rehearsed ? `${jobName} (rehearsal)` : jobName;
  return { name, startedAt, properties: spent(totals), cases: [...works, ...findings] };
}

function spent(usage: Usage): Properties {
  return { tokens: usage.inputTokens + usage.outputTokens, cost: knownCost(usage) };
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
