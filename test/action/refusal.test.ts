/** Refusals: their texts, whether they fail the step, and who can lift them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defined } from "../../src/text/guards.ts";
import type { TrustDecision } from "../../src/github/trust.ts";
import { eventSha, readFixture } from "../rig/runner.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { assertNothingRan, document, entry, files, tryEvent, type Test } from "./rig.ts";
import { decide as decideAbout, type Situation } from "../github/trust-rig.ts";

interface Given extends Pick<
  Situation,
  "name" | "actor" | "triggeringActor" | "attempt" | "allowed"
> {
  readonly change?: (payload: string) => string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly down?: string;
  readonly checkedOut?: string;
  readonly fork?: boolean;
}

async function decide(fixture: string, given: Given = {}): Promise<TrustDecision> {
  const { change, permissions = {}, down, checkedOut = eventSha, fork = false, ...more } = given;
  const { payload } = await readFixture(fixture);
  const { decision } = await decideAbout(fixture, {
    ...more,
    permission: down === undefined ? permissions : new Error(down),
    checkedOut: [checkedOut],
    commented: fork,
    payload: change === undefined ? payload : JSON.parse(change(JSON.stringify(payload))),
  });
  return decision;
}

/** The reason, and whether the step is skipped. */
async function refusal(
  ...given: Parameters<typeof decide>
): Promise<{ readonly reason: string; readonly skips: boolean }> {
  const decision = await decide(...given);
  assert.ok(decision.kind === "refused", decision.reason);
  return { reason: decision.reason, skips: decision.unattended };
}

const stranger = "issue-comment-stranger";
const page =
  /https:\/\/github\.com\/org\/agent-jobs\/blob\/main\/docs\/security\.md#who-may-start-an-agent/;

describe("a refusal says what helps", () => {
  it("names the list, and not that everybody can be in it", async () => {
    for (const fixture of ["pull-request-bot", "issue-comment-bot"]) {
      const { reason, skips } = await refusal(fixture);
      assert.match(reason, /`allowed-users`.*“Re-run jobs”/);
      assert.doesNotMatch(reason, /"\*"/);
      assert.equal(skips, true);
    }
  });

  it("names the list for people, a new start, and `*` with its page", async () => {
    const { reason, skips } = await refusal(stranger);
    assert.match(
      reason,
      /stranger, who has no write access .*\(permission: none\).*`allowed-users`/,
    );
    assert.match(reason, /“Re-run jobs”.*`allowed-users: "\*"`/);
    assert.match(reason, page);
    assert.equal(skips, false);
  });

  it("names the token if GitHub does not tell, and a later time if nobody answers", async () => {
    const asked = async (down: string): Promise<string> => {
      const { reason, skips } = await refusal("pull-request", { down });
      assert.equal(skips, false);
      assert.doesNotMatch(reason, /"\*"/);
      return reason;
    };
    assert.match(
      await asked("GitHub answered 403 (x), 2 times"),
      /`env: \{ GITHUB_TOKEN: "\$\{\{ github\.token \}\}" \}`/,
    );
    assert.match(
      await asked("GitHub answered 502 (x), 3 times"),
      /Try again later, or let a user with write access re-run/,
    );
  });

  it("names everybody who is missing at once", async () => {
    const bots = await refusal("pull-request-bot", { actor: "renovate[bot]" });
    assert.match(bots.reason, /the bot dependabot\[bot\], .*the bot renovate\[bot\], which/);
    const { reason, skips } = await refusal(stranger, { actor: "other" });
    assert.match(reason, /stranger, who .* by other, who /);
    assert.equal(reason.match(/Add them to/g)?.length, 1);
    assert.equal(skips, false);
    const both = await refusal("pull-request-bot", { actor: "stranger" });
    assert.match(both.reason, /the bot dependabot\[bot\].*stranger, who has no write access/);
    assert.equal(both.skips, true);
  });
});

describe("a stranger's issue", () => {
  const labels = "outputs: { proposals: { label: { allowed: [bug] } } }\n";
  const started = async (t: Test, text: string) => {
    const workspace = await makeWorkspace(t, { ...files, "entries/hello.yml": text });
    return tryEvent(t, "issues", { workspace });
  };
  const criteria = "criteria:\n      commands: [{ run: [git, status] }]";
  const publishing =
    "outputs: { report: { comment: sticky }, proposals: { label: { allowed: [bug] }, issue: {} } }\n";

  it("starts a job that only reads and proposes labels from a list", async (t) => {
    const { result, modelRequests } = await started(t, entry + labels);
    assert.match(result.log, /Event: not trusted\. The job runs only if it can do no harm\./);
    assert.notEqual(modelRequests, 0, result.raw);
  });

  for (const [what, text, reason] of [
    ["that no author has meant for it", entry, /its `outputs` allow no label\.$/],
    ["that may write", `${entry}${labels}permissions: workspace\n`, /permissions `workspace`/],
    [
      "that may run a command",
      `${entry}${labels}permissions: { shell: [ls] }\n`,
      /granted `shell`/,
    ],
    [
      "that may use a tool",
      `${entry}${labels}permissions: { tools: ["a/*"] }\n`,
      /granted `tools`/,
    ],
    ["that publishes a text", entry + publishing, /`report`, it publishes `proposals.issue`\.$/],
    ["of commands", entry.replace("criteria:", criteria) + labels, /it runs git status/],
    [
      "of a task with other permissions than the entry's",
      entry.replace("model:", "permissions: all\n    model:") + labels,
      /permissions `all`/,
    ],
  ] as const)
    it(`starts no job ${what}`, async (t) => {
      const tried = await started(t, text);
      assertNothingRan(tried, "skipped");
      assert.match(tried.result.outputs["reason"] ?? "", reason);
    });
});

describe("a refused event", () => {
  it("of a stranger waits for an answer if it is a comment, and comes by itself if not", async () => {
    for (const [fixture, skips, ...names] of [
      [stranger, false, "issue_comment", "commit_comment", "discussion_comment"],
      [stranger, true, "watch", "fork", "discussion", "label"],
      ["pull-request-review-stranger", true, "pull_request_review"],
      ["pull-request-review-stranger", true, "pull_request_review_comment"],
      ["workflow-run-stranger", true, "workflow_run"],
    ] as const)
      for (const name of names) assert.equal((await refusal(fixture, { name })).skips, skips, name);
  });

  it("skips or fails the step, as it came", async (t) => {
    assertNothingRan(await tryEvent(t, "pull-request-bot"), "skipped");
    assertNothingRan(await tryEvent(t, stranger), "failure");
  });
});

describe("who may lift it", () => {
  it("people in `allowed-users` may start an agent, whatever they may write", async () => {
    const { kind, reason } = await decide(stranger, { allowed: ["Stranger"] });
    assert.equal(kind, "trusted");
    assert.match(reason, /^stranger is in `allowed-users`$/);
    for (const other of ["strange", "stranger2", "stranger[bot]", "helper"]) {
      await refusal(stranger, { allowed: [other] });
      await refusal("issue-comment-bot", { allowed: [other] });
    }
  });

  const again = { triggeringActor: "maintainer", attempt: "2" };
  const permissions = { maintainer: "write" };
  for (const fixture of [
    stranger,
    "pull-request-bot",
    "issue-comment-bot",
    "workflow-run-stranger",
  ]) {
    it(`a maintainer may start the run of ${fixture} again`, async () => {
      const { kind, reason } = await decide(fixture, { ...again, permissions });
      assert.equal(kind, "trusted", reason);
      assert.match(reason, /^maintainer has write access and re-ran the job/);
    });
    it(`nobody else may start the run of ${fixture} again`, async () => {
      await refusal(fixture, again);
      await refusal(fixture, { ...again, attempt: "1", permissions });
      await refusal(fixture, { ...again, down: "down" });
      const bot = { ...again, triggeringActor: "helper2[bot]" };
      await refusal(fixture, { ...bot, permissions: { "helper2[bot]": "admin" } });
    });
  }

  it("a new start makes nobody's fork believed", async () => {
    const fork = { ...again, permissions, fork: true };
    const { kind } = await decide("pull-request-fork", fork);
    assert.equal(kind, "skipped");
    for (const fixture of ["pull-request-target", "workflow-run-fork", stranger]) {
      const situation = { ...fork, actor: "stranger", checkedOut: "c".repeat(40) };
      const change = (text: string): string =>
        text.replace('"issue":{', '"issue":{"pull_request":{},');
      assert.match(
        (await refusal(fixture, { ...situation, change })).reason,
        /it may contain the fork's files/,
      );
    }
  });

  it("a run after the repository's own schedule runs, also if its author has left", async () => {
    const scheduled = (text: string): string =>
      text.replace('"event":"pull_request"', '"event":"schedule"');
    for (const down of [undefined, "404"]) {
      const decision = await decide("workflow-run-stranger", {
        change: scheduled,
        ...defined({ down }),
      });
      assert.equal(decision.kind, "trusted");
      assert.match(decision.reason, /started by the repository's schedule/);
    }
    await refusal("workflow-run-stranger");
    // A fork's schedule is nothing that the repository has started.
    const fork = await decide("workflow-run-fork", { change: scheduled, permissions });
    assert.ok(fork.kind === "trusted" && fork.baseRef === eventSha);
    await refusal("workflow-run-fork", { change: scheduled });
  });

  it("a step runs when a maintainer has started it again", async (t) => {
    const { result } = await tryEvent(t, stranger, {
      calls: [document],
      github: { permissions, pullRequests: { 7: "same" } },
      env: { GITHUB_TRIGGERING_ACTOR: "maintainer", GITHUB_RUN_ATTEMPT: "2" },
    });
    assert.equal(result.outputs["result"], "success", result.raw);
  });
});
