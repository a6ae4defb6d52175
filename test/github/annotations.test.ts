import type { RunOutcome } from "../../src/events/event.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { chooseAnnotations, diagnosticAnnotations } from "../../src/github/annotations.ts";
import type { Outputs } from "../../src/entry/outputs.ts";
import * as arbitrary from "../events/samples.ts";
import { createTerminalReporter } from "../../src/reports/terminal/terminal-reporter.ts";
import { ManualClock } from "../reports/terminal/screen.ts";
import { hostile, hostileText } from "./hostile.ts";
import { finding, hostileFinding } from "./published.ts";
import { runWith, type Results } from "./results.ts";
import { options, report } from "./summary-rig.ts";
import { commandsOf } from "./runner.ts";
import * as samples from "./samples.ts";
import { rounds } from "../rig/nightly.ts";
import { tell, viewOf } from "../rig/tell.ts";

const levels = ["error", "warning", "notice"] as const;

test("a task that failed is an error, what went wrong on the way a warning; success is not news", () => {
  const said = chooseAnnotations(samples.viewOf(samples.failure()), options).map(
    ({ level, title, startLine, file }) => `${level} ${file}:${startLine} ${title}`,
  );
  assert.deepEqual(said, [
    "error .github/agent-jobs/review.yml:18 TASK FAILED: review-correctness",
    "error .github/agent-jobs/review.yml:11 TASK FAILED: review-docs",
    "warning .github/agent-jobs/review.yml:6 SESSION CRASHED: gather",
    "warning .github/agent-jobs/review.yml:11 SESSION CRASHED: review-docs",
    "warning .github/agent-jobs/review.yml:18 CRITERIA: review-correctness",
    "warning .github/agent-jobs/review.yml:18 OPERATION: review-correctness",
    "warning .github/agent-jobs/review.yml:12 OPERATION: review-tests",
    "notice .github/agent-jobs/review.yml:undefined Job review failed",
  ]);
});

test("the same said twice is said once, with how often", () => {
  const messages = chooseAnnotations(samples.viewOf(samples.failure()), options).map(
    ({ message }) => message,
  );
  assert.ok(
    messages.includes(
      "[OPERATION] Denied shell npm publish --tag next: not allowed by `shell: [npm test]` (2 times)",
    ),
  );
});

test("the error of a crash says what to do", () => {
  const telling = new samples.Telling("j", ["a"]).start(0);
  const drained = { kind: "attempts-exhausted", purpose: "prompt", attempts: 5 } as const;
  telling.decide(0, { ...drained, advice: "Start the server." });
  telling.end(0, { kind: "crashed", crash: { cause: "unreachable", message: "No connection." } });
  telling.over({ kind: "failed", reason: "No connection." });
  const [error] = chooseAnnotations(samples.viewOf(telling), options);
  assert.match(error?.message ?? "", /No connection\.\nStart the server\.$/);
});

test("a job that failed although no task did is an error itself", () => {
  const telling = new samples.Telling("nightly", ["a"])
    .decide(null, { kind: "limit-exceeded", limit: "jobMinutes", value: 5, scope: { kind: "job" } })
    .over({ kind: "failed", reason: "limit jobMinutes = 5 crossed" });
  const said = chooseAnnotations(samples.viewOf(telling), options);
  assert.deepEqual(
    said.map(({ level, title }) => `${level} ${title}`),
    ["error Job nightly failed", "warning OPERATION"],
  );
});

test("each failure or warning of availability, criteria, operations and crashes is an annotation with its prefix; an answer is none", () => {
  const told = new samples.Telling("j", ["a", "b"])
    .start(0)
    .decide(0, { kind: "availability-failed", field: "condition", content: "Ready?", reason: "no" })
    .decide(0, { kind: "task-failed", reason: "item 1 is broken" })
    .decide(0, { kind: "waiting", milliseconds: 1000, cause: "overloaded" })
    .decide(0, { kind: "note", text: "by the way" })
    .decide(null, { kind: "runtime-restarted", reason: "it was killed" })
    .end(0, { kind: "failed", reason: "item 2 is broken" });
  const view = samples.viewOf(told.over({ kind: "failed", reason: "a failed" }));
  const shown = chooseAnnotations(view, { ...options, jobLine: 30 });
  const [line, ...others] = shown.map(
    ({ level, startLine, message }) => `${level} ${startLine} ${message}`,
  );
  const task = options.lineOf("a");
  assert.deepEqual(
    [line, ...others.slice(0, -1)],
    [
      `error ${task} [TASK FAILED] item 2 is broken`,
      `error ${task} [TASK FAILED] item 1 is broken`,
      "warning 30 [OPERATION] Copilot runtime restarted: it was killed",
      `warning ${task} [AVAILABILITY] availability.condition does not hold: no (condition = Ready?)`,
      `warning ${task} [OPERATION] Waiting 1.0 s: the model server is overloaded`,
    ],
  );
  const condition = view.works.get(0);
  assert.ok(condition !== undefined);
  condition.status = "answered-no";
  condition.decisions.forEach((entry, index) => {
    if (entry.kind !== "waiting") condition.decisions[index] = { ...entry, answer: true };
  });
  assert.doesNotMatch(JSON.stringify(chooseAnnotations(view, options)), /Ready|item/);
});

test("a verdict that rejects is one error with its reason, and nothing says that the job succeeded", () => {
  const [first, ...others] = annotations({ verdict: { verdict: "reject", reason: "It leaks." } });
  assert.equal(first?.level, "error");
  assert.match(first.message, /^Rejected: It leaks\.\nThe verdict is reject \(.*failOn.*\)\.\n/);
  assert.doesNotMatch(JSON.stringify([first, ...others]), /succeeded/);
  const fine = annotations({ verdict: { verdict: "pass", reason: "" } });
  assert.deepEqual(
    fine.flatMap(({ level, title }) => (level === "notice" ? [title] : [])),
    ["Job review succeeded"],
  );
});

/** A job of which `count` tasks failed, the last one first. */
function failures(count: number) {
  const tasks = Array.from({ length: count }, (_, id) => `task-${id}`);
  const telling = new samples.Telling("many", tasks);
  for (const id of [...tasks.keys()].toReversed()) {
    telling
      .start(id)
      .wait(1)
      .end(id, { kind: "failed", reason: `${id} is broken` });
  }
  return samples.viewOf(telling);
}

const isError = ({ level }: { readonly level: string }): boolean => level === "error";

test("what failed first is said first; of more than ten, the tenth says how many", () => {
  const ten = chooseAnnotations(failures(10), options).filter(isError);
  assert.equal(ten.length, 10);
  assert.equal(ten.at(-1)?.title, "TASK FAILED: task-0");
  const more = chooseAnnotations(failures(14), options).filter(isError);
  assert.equal(more.length, 10);
  assert.equal(more[0]?.title, "TASK FAILED: task-13");
  assert.equal(more.at(-1)?.title, "And 5 more errors");
});

test("a job that publishes leaves room for three warnings about deliveries", () => {
  const findings = Array.from({ length: 12 }, (_, index) =>
    finding({ message: `${index} is wrong.`, fingerprint: `f${index}` }),
  );
  const warningsOf = (outputs: Outputs): readonly string[] =>
    chooseAnnotations(samples.viewOf({ events: runWith({ findings, outputs }) }), options)
      .filter(({ level }) => level === "warning")
      .map(({ title }) => title);
  assert.equal(warningsOf({}).length, 10);
  assert.equal(warningsOf({ findings: { review: "comment" } }).length, 7);
});

test("at most ten of each level, each within 4096 characters, whatever happened", () => {
  fc.assert(
    fc.property(arbitrary.events, fc.constantFrom(1, 1, 3000), (events, by) => {
      const view = viewOf(events);
      for (const work of view.works.values()) {
        for (let copy = 0; copy < 12; copy += 1) {
          const text = `${copy}${"\u{1F600}".repeat(by)}`;
          const entry = { at: copy, iteration: 1, text, answer: false };
          work.decisions.push(
            { ...entry, kind: "task-failed", category: "TASK FAILED" },
            { ...entry, kind: "session-crashed", category: "SESSION CRASHED" },
          );
        }
      }
      const said = chooseAnnotations(view, options);
      const paths = [...view.given.values()].flatMap((one) => one.findings.map(({ path }) => path));
      const files = [undefined, options.entryFile, ...paths];
      for (const level of levels) {
        assert.ok(said.filter((one) => one.level === level).length <= 10);
      }
      for (const { message, file } of said) {
        assert.ok(message.length <= 4096);
        assert.ok(files.includes(file), file);
        assert.ok(!/\p{Surrogate}/u.test(message));
      }
    }),
    rounds(40),
  );
});

test("each problem of an entry is an error at its line, the tenth of more says how many", () => {
  const one = { codePath: "entry.tasks.a", reason: "is missing", hint: "Add it." };
  assert.deepEqual(
    diagnosticAnnotations(
      [
        { ...one, line: 7 },
        { ...one, file: "other.yml" },
      ],
      { entryFile: "e.yml", rehearsal: "other.yml" },
    ),
    [
      {
        level: "error",
        title: "Invalid entry",
        message: "entry.tasks.a: is missing\nAdd it.",
        file: "e.yml",
        startLine: 7,
      },
      {
        level: "error",
        title: "Invalid rehearsal",
        message: "entry.tasks.a: is missing\nAdd it.",
        file: "other.yml",
        startLine: undefined,
      },
    ],
  );
  const many = diagnosticAnnotations(
    Array.from({ length: 12 }, (_, line) => ({ ...one, line: line + 1 })),
    { entryFile: "e.yml" },
  );
  assert.equal(many.length, 10);
  assert.equal(many.at(-1)?.title, "And 3 more errors");
});

function annotations(results: Results) {
  return chooseAnnotations(samples.viewOf({ events: runWith(results) }), options);
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

const failedJob = { outcome: { kind: "failed", reason: "no" } } as const;
for (const [what, outputs, shown, more] of [
  ["a review shows", { findings: { review: "comment" } }, 0, {}],
  ["a check shows", { check: true }, 0, {}],
  ["a check of a failed job shows", { check: true }, 0, failedJob],
  ["is only staged for a review", { findings: { review: "comment" } }, 1, { isPublished: false }],
  ["only fails the job", { findings: { failOn: "error" } }, 1, {}],
  ["has no review because the job failed", { findings: { review: "comment" } }, 1, failedJob],
  ["has no check because of its event", { check: true }, 1, { event: "workflow_run" }],
] as const)
  test(`a finding that ${what} is annotated ${shown} times`, () => {
    const { isPublished = true, outcome, event }: More = more;
    const findings = [finding({ severity: "error", title: "Lost" })];
    const view = samples.viewOf({
      events: runWith({ findings, outputs, ...(outcome && { outcome }) }),
    });
    if (event !== undefined && view.plan?.origin !== undefined)
      view.plan = {
        ...view.plan,
        origin: { ...view.plan.origin, event, isPullRequest: undefined },
      };
    const all = chooseAnnotations(view, { ...options, isPublished });
    assert.equal(all.filter(({ title }) => title === "Lost").length, shown);
  });

interface More {
  readonly isPublished?: boolean;
  readonly outcome?: RunOutcome;
  readonly event?: string;
}

test("the same words at two lines are two annotations", () => {
  const findings = [1, 2, 3].map((line) =>
    finding({ severity: "error", headLine: line, line, fingerprint: `${line}` }),
  );
  const errors = annotations({ findings }).filter(({ level }) => level === "error");
  assert.deepEqual(
    errors.map(({ startLine }) => startLine),
    [1, 2, 3],
  );
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

test("the log and the terminal tell each finding and the verdict on one line", async () => {
  const events = runWith({
    findings: [finding({ endLine: 5, title: "Lost", message: "It is\nswallowed." })],
    verdict: { verdict: "needs-work", reason: "One error\nis lost." },
  });
  const { lines } = await report(events);
  const said = "warning at src/a.ts:3-5: Lost: It is ⏎ swallowed. (review)";
  assert.ok(lines.includes(`00:00 ${said}`), lines.join("\n"));
  assert.ok(lines.some((line) => line.endsWith("verdict: Needs work: One error is lost.")));
  let text = "";
  const terminal = createTerminalReporter({
    stream: { write: (part) => void (text += part) },
    verbosity: "normal",
    colors: false,
    live: false,
    clock: new ManualClock(),
  });
  tell(terminal, ...events);
  assert.match(text, new RegExp(`\\n${said.replaceAll("(", "\\(").replaceAll(")", "\\)")}\\n$`));
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
    const ours = ["group", "endgroup", "stop-commands", "warning", "error"];
    assert.deepEqual(
      names.filter((name) => !ours.includes(name)),
      [],
    );
    // They are for the findings and a denied command.
    assert.equal(names.filter((name) => name === "warning").length, 3);
  };
  await check(hostileText);
  await fc.assert(fc.asyncProperty(hostile, check), rounds(50));
});
