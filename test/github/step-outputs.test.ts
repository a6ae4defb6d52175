import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { applyEvent, createRunView } from "../../src/events/view.ts";
import { omittedFromOutputs, outputsOf } from "../../src/github/step-outputs.ts";
import * as arbitrary from "../events/samples.ts";
import { buildStory } from "../rig/flow-events.ts";
import * as samples from "./samples.ts";
import { rounds } from "../rig/nightly.ts";
import { viewOf } from "../rig/tell.ts";

/** Limit of the environment of a later step that takes all of them through `env`. */
const BYTES = 128_000;

test("the outputs tell what came of the run", () => {
  const outputs = outputsOf(samples.viewOf(samples.failure()), {
    journal: ".agent-jobs/run.jsonl",
  });
  assert.deepEqual(outputs, {
    result: "failure",
    reason: 'task "review-docs" crashed: 503 Service Unavailable',
    "failed-tasks": '["review-correctness","review-docs"]',
    report: "",
    "report-file": "",
    results: "",
    findings: "[]",
    verdict: "",
    "reported-document": "",
    "output-dir": "",
    journal: ".agent-jobs/run.jsonl",
    "journal-artifact": "",
    "journal-digest": "",
    matrix: "",
    "journal-pattern": "",
    deliveries: "[]",
    cost: "1.32",
  });
});

test("what has no room in the outputs is told, with the place that has it", () => {
  const { view } = buildStory().finish({ kind: "succeeded" }, "é".repeat(10_000));
  const work = {
    workId: 0,
    taskId: "plan",
    items: [],
    place: [],
    findings: [],
    refused: [],
    proposals: [],
    resolved: [],
    replies: [],
    report: undefined,
    verdict: undefined,
  };
  view.given.set("plan", { ...work, iteration: 1, result: { value: "x".repeat(20_000) } });
  assert.equal(outputsOf(view).results, "");
  assert.deepEqual(omittedFromOutputs(view, "out/report.md"), [
    "The output `report` has 8000 of 20000 bytes. out/report.md has all of it.",
    "The output `results` is empty: the results have 20011 bytes, and it takes 16000. run.json has all of it.",
  ]);
  assert.deepEqual(omittedFromOutputs(createRunView(), undefined), []);
});

test("the result is success, failure or cancelled, and what the caller says for a run that was refused", () => {
  assert.equal(outputsOf(samples.viewOf(samples.success())).result, "success");
  assert.equal(outputsOf(samples.viewOf(samples.canceled())).result, "cancelled");
  const refused = outputsOf(undefined, { result: "skipped", reason: "a fork" });
  assert.equal(refused.result, "skipped");
  assert.equal(refused.reason, "a fork");
  assert.equal(refused["failed-tasks"], "[]");
});

test("the RESULT of the workflow that ended last is the report, cut to what an environment takes", () => {
  const told = buildStory().finish({ kind: "succeeded" }, "é".repeat(10_000));
  const { report } = outputsOf(told.view);
  assert.match(report, /^é{3000,}…$/);
  assert.ok(Buffer.byteLength(report) <= 8000);
});

test("all outputs together stay below the limit and are well-formed, whatever happened", () => {
  fc.assert(
    fc.property(
      arbitrary.events,
      fc.constantFrom("a", "\u20AC", '"\\', "\u{1F600}"),
      (events, sign) => {
        const view = viewOf(events);
        const long = sign.repeat(200_000);
        view.reason = long;
        view.reportedDocument = long;
        for (let id = 100; id < 200; id += 1) {
          applyEvent(view, {
            at: 0,
            runId: "run",
            type: "work.ended",
            work: { workId: id, taskId: sign.repeat(id * 20), iteration: 1 },
            outcome: { kind: "failed", reason: long },
          });
        }
        const outputs = outputsOf(view, { journal: long });
        const bytes = Object.entries(outputs).reduce(
          (sum, [name, value]) => sum + Buffer.byteLength(`${name}=${value}`) + 1,
          0,
        );
        assert.ok(bytes < BYTES, `${bytes}`);
        for (const value of Object.values(outputs)) assert.ok(!/\p{Surrogate}/u.test(value));
        JSON.parse(outputs["failed-tasks"]);
      },
    ),
    rounds(60),
  );
});
