/**
 * Whatever the event claims, whoever asks and whatever is checked out: nothing starts on the word of a tree that is
 * not the one of `GITHUB_SHA`, and nobody without write access starts anything unless that is allowed.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { readEvent } from "../../src/github/webhook-event.ts";
import { decideTrust } from "../../src/github/trust.ts";
import { holds } from "../rig/fuzz.ts";

const [eventSha, base, other] = ["1", "b", "c"].map((digit) => digit.repeat(40));
const names =
  "push schedule workflow_dispatch repository_dispatch merge_group pull_request pull_request_target pull_request_review pull_request_review_comment issue_comment issues workflow_run check_run check_suite status deployment_status release discussion fork watch unheard_of";

const account = fc.option(
  fc.record(
    {
      login: fc.constantFrom("writer", "reader", "guest", "dependabot[bot]", "Copilot", "", 1),
      type: fc.constantFrom("User", "Bot", "Organization", null),
    },
    { requiredKeys: [] },
  ),
);
const repository = fc.option(
  fc.record({ id: fc.constantFrom(1001, 2002, "1001", null) }, { requiredKeys: [] }),
);
const commit = fc.constantFrom(eventSha, other, undefined);
const pullRequest = fc.option(
  fc.record(
    {
      head: fc.record({ repo: repository }, { requiredKeys: [] }),
      base: fc.record(
        { repo: repository, sha: fc.constantFrom(base, "main", null) },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  ),
);
const payload = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(undefined, null, [], "text") },
  {
    weight: 9,
    arbitrary: fc.record(
      {
        sender: account,
        repository,
        pull_request: pullRequest,
        issue: fc.record(
          {
            number: fc.constantFrom(7, "7", null),
            pull_request: fc.constantFrom(null, {}, true),
          },
          { requiredKeys: [] },
        ),
        workflow_run: fc.record(
          {
            actor: account,
            event: fc.constantFrom("schedule", "push", "pull_request"),
            head_repository: repository,
            triggering_actor: fc.constant({ login: "writer", type: "User" }),
          },
          { requiredKeys: [] },
        ),
        client_payload: fc.constant({ pull_request: { head: { sha: other } } }),
      },
      { requiredKeys: [] },
    ),
  },
);

const situation = fc.record({
  name: fc.constantFrom(...names.split(" "), ""),
  payload,
  actor: fc.constantFrom("writer", "reader", "dependabot[bot]", "", undefined),
  eventSha: fc.constantFrom(eventSha, eventSha, eventSha, undefined, "", "main"),
  onRunner: fc.constantFrom(true, true, false),
  onAct: fc.boolean(),
  rehearses: fc.boolean(),
  builtInToken: fc.boolean(),
  allowed: fc.subarray(["dependabot[bot]", "guest", "*"]),
  triggeringActor: fc.constantFrom(undefined, "writer", "reader", "guest", "dependabot[bot]"),
  attempt: fc.constantFrom(undefined, "1", "2"),
  work: fc.array(commit, { maxLength: 3 }),
  files: fc.array(commit, { maxLength: 3 }),
  fork: fc.constantFrom(true, false, undefined),
  down: fc.boolean(),
});

test("an entry comes from a tree that is GITHUB_SHA's, whatever the event and the checkout", async (t) => {
  const property = fc.asyncProperty(situation, async (given) => {
    const event = readEvent(given);
    assert.ok(event.restartedBy === undefined || given.attempt !== "1");
    const decision = await decideTrust(event, given, {
      permissionOf: (login) =>
        given.down
          ? Promise.reject(new Error("down"))
          : Promise.resolve(login === "writer" ? "write" : "read"),
      isForkPullRequest: () =>
        given.fork === undefined ? Promise.reject(new Error("down")) : Promise.resolve(given.fork),
      checkedOut: () => Promise.resolve({ work: given.work, files: given.files }),
    });
    if (decision.kind === "skipped" || decision.kind === "refused") return;
    const { baseRef } = decision;
    if (baseRef === undefined) {
      const isLocal = !given.onRunner && (given.eventSha ?? "") === "";
      const heads = [...given.work, ...given.files];
      assert.ok(isLocal || heads.every((head) => head === given.eventSha), "from the work tree");
      assert.ok(isLocal || heads.length > 1);
      const isBelieved = isLocal || decision.kind === "trusted";
      assert.ok(isBelieved, "a stranger's work tree is never believed");
    } else if (baseRef !== given.eventSha) {
      assert.equal(baseRef, base);
      assert.ok(given.allowed.includes("*") && /^pull_request(_review.*)?$/.test(given.name));
    }
    if (given.allowed.includes("*")) return;
    // Anybody may write an issue: an agent may only answer it (docs/security.md).
    if (decision.kind === "limited") return assert.equal(given.name, "issues");
    const unchecked = /^(push|schedule|workflow_dispatch|repository_dispatch|merge_group)$/;
    if (unchecked.test(given.name)) return;
    const isIncomplete =
      given.name === "" ||
      !event.readable ||
      (given.name.startsWith("pull_request") && event.pullRequest === undefined);
    // A script plays the model, so nobody instructs an agent.
    if (given.rehearses) return;
    assert.ok(!isIncomplete);
    const mayStart = (login: string, bot: boolean): boolean =>
      given.allowed.includes(login) || (!bot && login === "writer" && !given.down);
    const { restartedBy, upstreamEvent, upstreamFork } = event;
    if (restartedBy !== undefined && mayStart(restartedBy.login, restartedBy.bot)) {
      assert.ok(given.attempt === "2" || given.triggeringActor !== given.actor);
      return;
    }
    if (given.name === "workflow_run" && upstreamEvent === "schedule" && !upstreamFork) return;
    assert.ok(event.actors.length > 0);
    for (const { login, bot } of event.actors) assert.ok(mayStart(login, bot), login);
  });
  await holds(t, property, 3000);
});
