/** Test cases in the JUnit XML that CI systems read. */

export interface TestCase {
  readonly name: string;
  readonly group: string;
  readonly file?: string;
  readonly line?: number;
  readonly seconds: number;
  readonly result: "success" | "failure" | "error" | "skipped";
  /** Of a failure or an error, or why it was skipped. */
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
