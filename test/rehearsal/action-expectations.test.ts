import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActionEvent } from "../../src/events/action.ts";
import { Told } from "./told.ts";

const at = (column: number): string => `(tests/a.rehearsal.yml:4:${column})`;
const told = (): Told => new Told(["ship", "other"]);
const started = (id: string, params = "{}", iteration = 1): ActionEvent => ({
  type: "action.started",
  id,
  iteration,
  params,
});
const rejected: ActionEvent = { type: "actions.rejected", iteration: 2, problems: [] };

/** A build that succeeded, a deployment that failed, and a search that did not end. */
const run = (): Told =>
  told()
    .waits("app", "build")
    .waits("prod", "deploy")
    .action(started("app", '{"path":"/repo/app"}'))
    .action(started("prod"))
    .ends("app", "succeeded", '{"log":"/repo/log"}')
    .ends("prod", "failed", "exit code 3")
    .waits("docs", "search", 2)
    .action(started("docs", '{"query":"q"}', 2));

const failures = (expect: string, told: Told = run()): readonly string[] =>
  told.over().failures(expect);

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
  assert.deepEqual(failures("{ actions: [{ id: docs }] }", told()), [
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
  const both = run().of(1).waits("app", "build").ends("app", "succeeded", "");
  assert.deepEqual(failures("{ actions: [{ id: app, task: other, workId: 1 }] }", both), []);
});

test("an id that a later document repeats is another action", () => {
  const again = run().waits("app", "build", 3).ends("app", "succeeded", "again", 3);
  assert.deepEqual(failures("{ actions: [{ id: app, document: 3, output: again }] }", again), []);
  assert.equal(failures("{ actions: [{ id: app, document: 1, output: again }] }", again).length, 1);
});

test("rejected documents are counted by work", () => {
  const rejects = run().action(rejected, rejected).of(1).action(rejected);
  const outcome = (count: number, told: Told): readonly string[] =>
    failures(
      `{ works: [{ task: ship, outcome: succeeded, rejected: ${count} }, { task: other, outcome: succeeded, rejected: 1 }] }`,
      told.begin(0).end().begin(1).end(),
    );
  assert.deepEqual(outcome(2, rejects), []);
  assert.deepEqual(outcome(0, run().of(1).action(rejected, rejected)), [
    `expect.works[1] ${at(68)}: step 1 ("other") should have had "rejected: 1", but it had 2.`,
  ]);
});
