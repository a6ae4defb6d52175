import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActionEvent, EndedStatus } from "../../src/events/action.ts";
import type { RunEventBody } from "../../src/events/event.ts";
import { Expectations } from "../../src/rehearsal/expectations.ts";
import { plannedTasks } from "../rig/plan.ts";
import { script } from "./rig.ts";

const at = (column: number): string => `(tests/a.rehearsal.yml:4:${column})`;

class Run {
  readonly events: RunEventBody[] = [
    {
      type: "run.started",
      jobName: "job",
      workingDirectory: "/repo",
      ...plannedTasks([
        ["ship", "small"],
        ["other", "small"],
      ]),
    },
  ];
  #workId = 0;

  work(workId: number): this {
    this.#workId = workId;
    return this;
  }

  emit(...actions: readonly ActionEvent[]): this {
    const work = {
      workId: this.#workId,
      taskId: this.#workId === 0 ? "ship" : "other",
      iteration: 1,
    };
    this.events.push(...actions.map((action): RunEventBody => ({ type: "action", work, action })));
    return this;
  }

  waits(id: string, action: string, iteration = 1): this {
    const execution = "SYNC";
    return this.emit({ type: "action.waiting", id, iteration, action, kind: "tool", execution });
  }

  starts(id: string, params = "{}", iteration = 1): this {
    return this.emit({ type: "action.started", id, iteration, params });
  }

  ends(id: string, status: EndedStatus, text: string, iteration = 1): this {
    const texts = status === "succeeded" ? { output: text } : { reason: text };
    return this.emit({ type: "action.ended", id, iteration, status, milliseconds: 3, ...texts });
  }

  rejected(): this {
    return this.emit({ type: "actions.rejected", iteration: 2, problems: [] });
  }
}

/** A build that succeeded, a deployment that failed, and a search that did not end. */
const run = (): Run =>
  new Run()
    .waits("app", "build")
    .waits("prod", "deploy")
    .starts("app", '{"path":"/repo/app"}')
    .starts("prod")
    .ends("app", "succeeded", '{"log":"/repo/log"}')
    .ends("prod", "failed", "exit code 3")
    .waits("docs", "search", 2)
    .starts("docs", '{"query":"q"}', 2);

function failures(expect: string, { events }: Run = run()): readonly string[] {
  const expectations = new Expectations(script("  []", `expect: ${expect}`).expect);
  const ended: RunEventBody = { type: "run.ended", outcome: { kind: "succeeded" } };
  for (const [at, event] of [...events, ended].entries()) {
    expectations.report({ at, runId: "run", ...event });
  }
  return expectations.failures();
}

const met: readonly string[] = [
  "[{ id: app }]",
  "[{ action: build, status: succeeded, document: 1, task: ship, workId: 0, iteration: 1 }]",
  "[{ id: app, params: '${workingDirectory}/app', output: { matches: 'lo.\"' } }]",
  "[{ id: prod, status: failed, reason: { equals: exit code 3 } }, { id: app }]",
  "{ sequence: [{ id: app }, { id: prod }], exclude: [{ status: skipped }] }",
];
for (const actions of met) {
  test(`the actions are ${actions}`, () => {
    assert.deepEqual(failures(`{ actions: ${actions} }`), []);
  });
}

const app =
  '"app" (id "app", action "build", document 1, task "ship", workId 0, iteration 1, status "succeeded", params "{\\"path\\":\\"/repo/app\\"}", output "{\\"log\\":\\"/repo/log\\"}")';
const prod =
  '"prod" (id "prod", action "deploy", document 1, task "ship", workId 0, iteration 1, status "failed", params "{}", reason "exit code 3")';
const docs =
  '"docs" (id "docs", action "search", document 2, task "ship", workId 0, iteration 1, status "running", params "{\\"query\\":\\"q\\"}")';

test("an action that is missing, with those that there were", () => {
  assert.deepEqual(failures("{ actions: [{ action: publish }] }"), [
    `expect.actions[0] ${at(21)}: there is no action with action "publish". The nearest: ${app}; ${prod}; ${docs}.`,
  ]);
  assert.deepEqual(failures("{ actions: [{ id: docs }] }", new Run()), [
    `expect.actions[0] ${at(21)}: there is no action with id "docs". There is no action at all.`,
  ]);
});

test("an action that has not ended is not the expected one", () => {
  assert.deepEqual(failures("{ actions: [{ id: docs, params: query }] }"), [
    `expect.actions[0] ${at(21)}: there is no action with id "docs", params that contains "query". The nearest: ${docs}.`,
  ]);
});

test("an action of another task, and of another document", () => {
  for (const field of ["task: other", "workId: 1", "iteration: 2", "document: 2"]) {
    assert.equal(failures(`{ actions: [{ id: app, ${field} }] }`).length, 1, field);
  }
  const both = run().work(1).waits("app", "build").ends("app", "succeeded", "");
  assert.deepEqual(failures("{ actions: [{ id: app, task: other, workId: 1 }] }", both), []);
});

test("an id that a later document repeats is another action", () => {
  const again = run().waits("app", "build", 3).ends("app", "succeeded", "again", 3);
  assert.deepEqual(failures("{ actions: [{ id: app, document: 3, output: again }] }", again), []);
  assert.equal(failures("{ actions: [{ id: app, document: 1, output: again }] }", again).length, 1);
});

test("rejected documents are counted by work", () => {
  const rejects = run().rejected().rejected().work(1).rejected();
  const outcome = (rejected: number, events: Run): readonly string[] => {
    const ended: RunEventBody[] = [0, 1].flatMap((workId): RunEventBody[] => {
      const work = { workId, taskId: workId === 0 ? "ship" : "other", iteration: 1 };
      return [
        { type: "work.started", work, modelId: "small" },
        { type: "work.ended", work, outcome: { kind: "succeeded" } },
      ];
    });
    events.events.push(...ended);
    return failures(
      `{ works: [{ task: ship, outcome: succeeded, rejected: ${rejected} }, { task: other, outcome: succeeded, rejected: 1 }] }`,
      events,
    );
  };
  assert.deepEqual(outcome(2, rejects), []);
  assert.deepEqual(outcome(0, run().work(1).rejected().rejected()), [
    `expect.works[1] ${at(68)}: work 1 ("other") should have had "rejected: 1", but it had 2.`,
  ]);
});
