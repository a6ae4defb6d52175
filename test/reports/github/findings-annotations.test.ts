import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { chooseAnnotations } from "../../../src/reports/github/github-reporter.ts";
import { createTerminalReporter } from "../../../src/reports/terminal/terminal-reporter.ts";
import { ManualClock } from "../terminal/screen.ts";
import { hostile, hostileText } from "../../outputs/hostile.ts";
import { finding, hostileFinding } from "../../outputs/published.ts";
import { runWith, type Results } from "./results.ts";
import { options, report } from "./rig.ts";
import { commandsOf } from "./runner.ts";
import { Telling, viewOf } from "./samples.ts";
import { rounds } from "../../rig/nightly.ts";

function annotations(results: Results, annotated: "all" | "errors" | "off" = "all") {
  const view = viewOf({ events: runWith(results) });
  return chooseAnnotations(view, { ...options, annotations: annotated });
}

test("a finding is an annotation of its severity at its lines in the head of the change", () => {
  const [error, warning] = annotations({
    findings: [
      finding({ severity: "error", line: 7, endLine: 9, headLine: 17, title: "Lost" }),
      finding({ path: "b.ts", fingerprint: "b", rule: "tests", message: "None." }),
    ],
  }).filter(({ file }) => file !== options.entryFile);
  assert.deepEqual(error, {
    level: "error",
    title: "Lost",
    message: "The error is swallowed.",
    file: "src/a.ts",
    startLine: 17,
    endLine: 19,
  });
  assert.deepEqual(warning, {
    level: "warning",
    title: "tests",
    message: "None.",
    file: "b.ts",
    startLine: 3,
  });
});

test("the same words at two lines are two annotations; of more than ten, the tenth says how many", () => {
  const at = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      finding({ severity: "error", headLine: index + 1, line: index + 1, fingerprint: `${index}` }),
    );
  const errors = (count: number) =>
    annotations({ findings: at(count) }).filter(({ level }) => level === "error");
  assert.deepEqual(
    errors(3).map(({ startLine }) => startLine),
    [1, 2, 3],
  );
  assert.equal(errors(14).length, 10);
  assert.equal(errors(14).at(-1)?.title, "And 5 more errors");
  // Denials that the view no longer holds are counted as before.
  const telling = new Telling("loop", ["a"]);
  for (let run = 1; run <= 200; run += 1) telling.deny(0, "shell", `run ${run}`, "no");
  for (const one of at(3))
    telling.say({
      type: "finding.reported",
      work: telling.ref(0),
      finding: { ...one, severity: "warning" },
    });
  const warnings = chooseAnnotations(viewOf(telling), options);
  assert.equal(warnings.at(-1)?.title, "And 194 more warnings");
});

test("a failed task comes before findings, and findings before what went wrong on the way", () => {
  const failed = annotations({
    findings: [finding({ severity: "error" })],
    outcome: { kind: "failed", reason: "no" },
  });
  assert.deepEqual(
    failed.flatMap(({ level, title }) => (level === "error" ? [title] : [])),
    ["TASK FAILED: review", "review"],
  );
  const [first, second] = annotations({ findings: [finding()] });
  assert.deepEqual([first?.title, second?.title], ["review", "OPERATION: review"]);
});

test("errors alone, or none, on demand", () => {
  const findings = [finding({ severity: "error" }), finding({ fingerprint: "w" })];
  assert.deepEqual(
    annotations({ findings }, "errors").map(({ level }) => level),
    ["error"],
  );
  assert.deepEqual(annotations({ findings }, "off"), []);
});

test("the log and the terminal tell each finding and the verdict on one line", async () => {
  const events = runWith({
    findings: [finding({ endLine: 5, title: "Lost", message: "It is\nswallowed." })],
    verdict: { verdict: "needs-work", reason: "One error\nis lost." },
  });
  const { lines } = await report(events);
  const said = "warning at src/a.ts:3-5: Lost: It is ⏎ swallowed. (review)";
  assert.ok(lines.includes(`00:00 ${said}`), lines.join("\n"));
  assert.ok(lines.includes("00:00 verdict: Needs work: One error is lost."), lines.join("\n"));
  let text = "";
  const terminal = createTerminalReporter({
    stream: { write: (part) => void (text += part) },
    verbosity: "normal",
    colors: false,
    live: false,
    clock: new ManualClock(),
  });
  for (const event of events) terminal.report(event);
  assert.match(
    text,
    new RegExp(
      `\\n${said.replaceAll("(", "\\(").replaceAll(")", "\\)")}\\nNeeds work: One error is lost.\\njob review succeeded\\n$`,
    ),
  );
});

test("no text of a finding or a verdict is a command for the runner", async () => {
  const check = async (text: string): Promise<void> => {
    const findings = [hostileFinding(text), hostileFinding(`::error::x\n##[error]y\n${text}`)];
    for (const { title, message, file } of annotations({ findings })) {
      assert.doesNotMatch(`${title}${file}${message}`, /(?!\n)\p{Cc}|\p{Cs}|[\u202A-\u202E]|##\[/u);
      assert.ok(!/\n/.test(title) && title.length < 300 && message.length <= 4096);
    }
    const verdict = { verdict: "reject", reason: text } as const;
    const { output } = await report(runWith({ findings, verdict, report: text }));
    const names = commandsOf(output).map(({ name }) => name);
    const ours = ["group", "endgroup", "stop-commands", "warning", "notice"];
    assert.deepEqual(
      names.filter((name) => !ours.includes(name)),
      [],
    );
    // Of the findings, and of a denied command.
    assert.equal(names.filter((name) => name === "warning").length, 3);
  };
  await check(hostileText);
  await fc.assert(fc.asyncProperty(hostile, check), rounds(50));
});
