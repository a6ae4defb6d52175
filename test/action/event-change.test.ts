import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { changeOfEvent, type EventChange } from "../../src/action/job-change.ts";

const [base, head, zero] = ["a".repeat(40), "b".repeat(40), "0".repeat(40)];
const pull = { number: 7, base: { sha: base }, head: { sha: head } };
const repository = { default_branch: "main" };

const cases: Readonly<Record<string, readonly [string, unknown, EventChange | undefined]>> = {
  "a pull request": [
    "pull_request",
    { pull_request: pull },
    { kind: "pull-request", number: 7, base, head },
  ],
  "a push": ["push", { before: base, after: head }, { kind: "commits", base, head }],
  "a push of a new branch": [
    "push",
    { before: zero, after: head, repository },
    { kind: "new-branch", defaultBranch: "main", head },
  ],
  "a push that deletes a branch": ["push", { before: base, after: zero, repository }, undefined],
  "a merge queue": [
    "merge_group",
    { merge_group: { base_sha: base, head_sha: head } },
    { kind: "commits", base, head },
  ],
  "a run for a pull request": [
    "workflow_run",
    { workflow_run: { event: "pull_request", head_sha: head, pull_requests: [pull] } },
    { kind: "pull-request", number: 7, base, head },
  ],
  "a run for a fork's pull request": [
    "workflow_run",
    { workflow_run: { event: "pull_request", head_sha: head, pull_requests: [] } },
    { kind: "pull-request", head },
  ],
  "a run for a push": [
    "workflow_run",
    { workflow_run: { event: "push", head_sha: head } },
    undefined,
  ],
  "a comment on a pull request": [
    "issue_comment",
    { issue: { number: 7, pull_request: {} } },
    { kind: "pull-request", number: 7 },
  ],
  "a comment on an issue": ["issue_comment", { issue: { number: 7 } }, undefined],
  "a schedule": ["schedule", {}, undefined],
  "no payload": ["pull_request", null, undefined],
  "commits that are none": ["push", { before: "--output=x", after: head }, undefined],
};

describe("the change of an event", () => {
  for (const [name, [event, payload, expected]] of Object.entries(cases)) {
    it(`is found for ${name}`, () => assert.deepEqual(changeOfEvent(event, payload), expected));
  }
});
