import assert from "node:assert/strict";
import { test } from "node:test";
import type { MadeDecision } from "../../src/events/decision.ts";
import type { WorkOutcome } from "../../src/events/event.ts";
import { plannedTasks } from "../rig/plan.ts";
import { Told } from "./told.ts";

const at = (position: string): string => `(tests/a.rehearsal.yml:${position})`;
const crash = { cause: "session-error", message: "boom" } as const;
const failed: WorkOutcome = { kind: "failed", reason: "criteria not met" };

const plannedWorks = [
  ["review", "small"],
  ["fix", "small"],
  ["review", "big"],
] as const;

/** A job of three works: 0 and 2 are of task "review" on two models, 1 is of task "fix". */
class Run extends Told {
  readonly #runs = new Map<number, number>();

  constructor() {
    super(["review", "fix", "review"], plannedTasks(plannedWorks));
  }

  played(workId: number, outcome: WorkOutcome, ...decisions: readonly MadeDecision[]): this {
    const run = (this.#runs.get(workId) ?? 0) + 1;
    this.#runs.set(workId, run);
    this.begin(workId, run, plannedWorks[workId]?.[1]).turn("s", "p").turn("s", "p", "criteria");
    return this.decide(...decisions).end(outcome);
  }

  note(...texts: readonly string[]): this {
    for (const text of texts)
      this.say({ type: "decision", work: null, decision: { kind: "note", text } });
    return this;
  }
}

const failures = (expect: string, run: Run): readonly string[] => run.failures(expect);
const run = (): Run => new Run();

test("the result", () => {
  const broken = run().over({ kind: "failed", reason: "task failed in /repo/a" });
  assert.deepEqual(failures("{}", run().over()), []);
  assert.deepEqual(failures("{}", broken), [
    `expect ${at("4:9")}: the job should have succeeded, but it failed: task failed in /repo/a`,
  ]);
  assert.deepEqual(failures("{ result: canceled }", run().over()), [
    `expect ${at("4:9")}: the job should have been canceled, but it succeeded`,
  ]);
  assert.deepEqual(
    failures("{ result: failed }", run().over({ kind: "canceled", reason: "Ctrl-C" })),
    [`expect ${at("4:9")}: the job should have failed, but it was canceled: Ctrl-C`],
  );
  assert.deepEqual(failures("{ result: failed, reason: '${workingDirectory}/a' }", broken), []);
  assert.deepEqual(failures("{ result: failed, reason: a crash }", broken), [
    `expect ${at("4:9")}: the reason does not contain "a crash"; it is "task failed in /repo/a".`,
  ]);
  assert.deepEqual(failures("{}", run()), [`expect ${at("4:9")}: the run did not end.`]);
});

test("works: all of them, and how they ended", () => {
  const played = run().played(0, { kind: "succeeded" }).played(1, failed).over();
  const works = (list: string): readonly string[] => failures(`{ works: [${list}] }`, played);
  assert.deepEqual(
    works("{ task: review, outcome: succeeded }, { task: fix, outcome: failed }"),
    [],
  );
  assert.deepEqual(
    works(
      "{ task: review, outcome: skipped }, { task: fix, outcome: failed }, { task: review, outcome: succeeded }",
    ),
    [],
    "a skipped work is the one that did not run, wherever it stands",
  );
  assert.deepEqual(works("{ task: review, outcome: failed }, { task: fix, outcome: succeeded }"), [
    `expect.works[0] ${at("4:19")}: step 0 ("review") should have failed, but it succeeded.`,
    `expect.works[1] ${at("4:54")}: step 1 ("fix") should have succeeded, but it failed (criteria not met).`,
  ]);
  assert.deepEqual(works("{ task: review, outcome: succeeded }"), [
    `expect.works ${at("4:18")}: step 1 ("fix") ran and failed, but "works" doesn't list it.`,
  ]);
  assert.deepEqual(works("{ task: fix, outcome: skipped }, { task: review, outcome: succeeded }"), [
    `expect.works[0] ${at("4:19")}: step 1 ("fix") should have been skipped, but it ran and failed.`,
  ]);
  const rest = "{ task: fix, outcome: failed }, { task: review, workId: 0, outcome: succeeded }";
  assert.deepEqual(works(`{ task: review, outcome: succeeded }, ${rest}`), [
    `expect.works[0] ${at("4:19")}: step 2 ("review") should have run, but it was skipped.`,
  ]);
  assert.deepEqual(works(`{ task: deploy, outcome: succeeded }, ${rest}`), [
    `expect.works[0] ${at("4:19")}: the job has no other step with task "deploy".`,
  ]);
  assert.deepEqual(works(`{ task: fix, outcome: failed }, ${rest}`), [
    `expect.works[1] ${at("4:51")}: the job has no other step with task "fix".`,
  ]);
  assert.deepEqual(works(`{ task: review, workId: 7, model: big, outcome: failed }, ${rest}`), [
    `expect.works[0] ${at("4:19")}: the job has no other step with task "review", workId 7, model "big".`,
  ]);
});

test("works of one task are told apart by id or model, else taken in order", () => {
  const played = run()
    .played(0, failed)
    .played(2, { kind: "crashed", crash })
    .over({ kind: "failed", reason: "" });
  const works = (list: string): readonly string[] =>
    failures(`{ result: failed, works: [${list}] }`, played);
  const first = "{ task: review, outcome: failed }";
  assert.deepEqual(works(`${first}, { task: review, outcome: crashed }`), []);
  assert.deepEqual(works(`{ task: review, model: big, outcome: crashed }, ${first}`), []);
  assert.deepEqual(works(`${first}, { task: review, model: big, outcome: crashed }`), []);
  assert.deepEqual(
    works(`{ task: review, outcome: failed }, { task: review, workId: 2, outcome: crashed }`),
    [],
  );
});

test("works: runs, attempts, retries and crashes", () => {
  const retry: MadeDecision = { kind: "criteria-retry", retry: 1, of: 2, reason: "no" };
  const crashed: MadeDecision = {
    kind: "session-crashed",
    purpose: "prompt",
    attempt: 1,
    attempts: 5,
    crash,
  };
  const played = run()
    .played(1, { kind: "succeeded" }, retry, crashed)
    .played(1, failed, retry)
    .played(1, { kind: "canceled", reason: "stop" })
    .over();
  const fix = (fields: string): readonly string[] =>
    failures(`{ works: [{ task: fix, ${fields} }] }`, played);
  assert.deepEqual(fix("outcome: canceled, runs: 3, attempts: 3, retries: 2, crashes: 1"), []);
  assert.deepEqual(fix("outcome: [succeeded, failed, canceled]"), []);
  const start = `expect.works[0] ${at("4:19")}: step 1 ("fix") should have`;
  assert.deepEqual(fix("outcome: canceled, runs: 2, attempts: 4, retries: 0, crashes: 2"), [
    `${start} had "runs: 2", but it had 3.`,
    `${start} had "attempts: 4", but it had 3.`,
    `${start} had "retries: 0", but it had 2.`,
    `${start} had "crashes: 2", but it had 1.`,
  ]);
  assert.deepEqual(fix("outcome: [succeeded, failed]"), [`${start} run 2×, but it ran 3×.`]);
  assert.deepEqual(fix("outcome: [succeeded, succeeded, canceled]"), [
    `${start} succeeded in run 2, but it failed.`,
  ]);
});

const two =
  'The nearest: "[MISC] one" (kind "note", text "one"); "[MISC] two" (kind "note", text "two").';

test("decisions that must occur, in any order", () => {
  const played = run().note("one", "two").over();
  const include = (list: string): readonly string[] =>
    failures(`{ decisions: { include: [${list}] } }`, played);
  assert.deepEqual(include('two, "[MISC] one", { matches: "^.MISC. t" }'), []);
  assert.deepEqual(include('"[MISC] three", { equals: "[MISC] tw" }'), [
    `expect.decisions.include[0] ${at("4:34")}: there is no decision with printed text that contains "[MISC] three". ${two}`,
    `expect.decisions.include[1] ${at("4:50")}: there is no decision with printed text that equals "[MISC] tw". ${two}`,
  ]);
  const many = run().note("a", "b", "c", "d").over();
  assert.match(
    failures('{ decisions: { include: ["[MISC] e"] } }', many)[0] ?? "",
    /The nearest: "\[MISC\] a" .*"\[MISC\] c" \(kind "note", text "c"\)\.$/,
  );
});

test("decisions that must occur in order", () => {
  const sequence = (list: string, ...notes: string[]): readonly string[] =>
    failures(
      `{ decisions: { sequence: [${list}] } }`,
      run()
        .note(...notes)
        .over(),
    );
  assert.deepEqual(sequence("one, two", "one", "other", "two"), []);
  assert.deepEqual(sequence("one, one", "one", "one"), []);
  assert.deepEqual(sequence("one, one", "one"), [
    `expect.decisions.sequence[1] ${at("4:40")}: there is no decision with printed text that contains "one" after the previous one of the sequence. The nearest: "[MISC] one" (kind "note", text "one").`,
  ]);
  assert.deepEqual(sequence("one, two", "two", "one"), [
    `expect.decisions.sequence[1] ${at("4:40")}: there is no decision with printed text that contains "two" after the previous one of the sequence. The nearest: "[MISC] two" (kind "note", text "two"); "[MISC] one" (kind "note", text "one").`,
  ]);
  assert.deepEqual(sequence("one", "two"), [
    `expect.decisions.sequence[0] ${at("4:35")}: there is no decision with printed text that contains "one". The nearest: "[MISC] two" (kind "note", text "two").`,
  ]);
});

test("decisions by their kind and fields, whatever their text is", () => {
  const failed = {
    kind: "criteria-failed",
    field: "condition",
    content: '"Is it done?"',
    reason: "job_boolean_false was called: no file in /repo was read",
  } as const;
  const crashed = {
    kind: "session-crashed",
    purpose: "criteria",
    attempt: 1,
    attempts: 5,
    crash,
  } as const;
  const played = (): Run =>
    new Run()
      .played(1, { kind: "succeeded" }, failed, {
        kind: "criteria-retry",
        retry: 1,
        of: 2,
        reason: "r",
      })
      .played(1, { kind: "succeeded" }, crashed)
      .over();
  const include = (item: string): readonly string[] =>
    failures(`{ decisions: [${item}] }`, played());
  for (const item of [
    "{ kind: criteria-failed }",
    "{ kind: criteria-failed, task: fix, field: condition, reason: no file }",
    "{ kind: criteria-failed, reason: { matches: 'no file in', excludes: README } }",
    '{ kind: criteria-failed, reason: "in ${workingDirectory} was read" }',
    "{ kind: criteria-retry, retry: 1, of: 2, workId: 1, iteration: 1 }",
    "{ kind: session-crashed, purpose: criteria, crash: session-error, iteration: 2 }",
    '"[CRITERIA] criteria.condition does not hold"',
    "{ contains: [does, hold], matches: 'CRIT' }",
  ]) {
    assert.deepEqual(include(item), [], item);
  }
  for (const item of [
    "{ kind: criteria-failed, task: review }",
    "{ kind: criteria-failed, field: toolExecuted }",
    "{ kind: criteria-failed, reason: every file }",
    "{ kind: criteria-failed, iteration: 2 }",
    "{ kind: criteria-retry, retry: 2 }",
    "{ kind: session-crashed, crash: aborted }",
    "{ kind: task-failed }",
  ]) {
    assert.equal(include(item).length, 1, item);
  }
  assert.deepEqual(include("{ kind: criteria-retry, task: fix, retry: 2, reason: again }"), [
    `expect.decisions[0] ${at("4:23")}: there is no decision with kind "criteria-retry", task "fix", retry 2, reason that contains "again". The nearest: "[DECISION] Retry 1 of 2: r" (kind "criteria-retry", retry 1, of 2, reason "r", task "fix", workId 1, iteration 1).`,
  ]);
  const others = "{ kind: criteria-failed }, { kind: session-crashed }";
  assert.deepEqual(failures(`{ decisions: { sequence: [${others}] } }`, played()), []);
  assert.match(
    failures("{ decisions: { exclude: [{ kind: session-crashed }] } }", played())[0] ?? "",
    /unexpected decision "\[SESSION CRASHED\].*: it has kind "session-crashed"\.$/,
  );
});

test("a decision that another event amounts to is expected like any other", () => {
  const denied = { operation: "shell", target: "rm -rf .", reason: "no" };
  const run = new Run().of(1).act("s", { kind: "permission.denied", ...denied });
  const expected = "{ kind: permission-denied, task: fix, operation: shell, target: rm }";
  assert.deepEqual(failures(`{ decisions: { include: [${expected}] } }`, run.over()), []);
});

test("decisions that must not occur", () => {
  const exclude = (item: string): readonly string[] =>
    failures(`{ decisions: { exclude: [${item}] } }`, run().note("one", "one more").over());
  assert.deepEqual(exclude("two"), []);
  assert.deepEqual(exclude("one"), [
    `expect.decisions.exclude[0] ${at("4:34")}: unexpected decision "[MISC] one": it has printed text that contains "one".`,
  ]);
});
