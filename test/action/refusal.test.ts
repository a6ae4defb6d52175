/** What a refusal says, whether it fails the step, and who can lift it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TrustDecision } from "../../src/action/trust.ts";
import { eventSha, readFixture } from "../rig/runner.ts";
import { makeRepository } from "../rig/workspace.ts";
import { assertNothingRan, entry, files, inputs, tryEvent, type Test } from "./rig.ts";
import { decide as decideAbout, type Situation } from "./trust-rig.ts";

interface Given extends Pick<
  Situation,
  "name" | "actor" | "triggeringActor" | "attempt" | "allowedBots" | "allowedUsers"
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

/** The reason, and whether the step is skipped unless `on-refused` says otherwise. */
async function refusal(
  ...given: Parameters<typeof decide>
): Promise<{ readonly reason: string; readonly skips: boolean }> {
  const decision = await decide(...given);
  assert.ok(decision.kind === "refused", decision.reason);
  return { reason: decision.reason, skips: decision.unattended };
}

const page =
  /https:\/\/github\.com\/org\/agent-jobs\/blob\/main\/docs\/security\.md#who-may-start-an-agent/;

describe("a refusal says what helps", () => {
  it("names a bot's list, and not `allow-untrusted`", async () => {
    for (const fixture of ["pull-request-bot", "issue-comment-bot"]) {
      const { reason, skips } = await refusal(fixture);
      assert.match(reason, /`allowed-bots`.*“Re-run jobs”/);
      assert.doesNotMatch(reason, /allow-untrusted/);
      assert.equal(skips, true);
    }
  });

  it("names a list for people, a new start, and `allow-untrusted` with its page", async () => {
    const { reason, skips } = await refusal("issue-comment-stranger");
    assert.match(
      reason,
      /stranger, who has no write access .*\(permission: none\).*`allowed-users`/,
    );
    assert.match(reason, /“Re-run jobs”.*`allow-untrusted: true`/);
    assert.match(reason, page);
    assert.equal(skips, false);
  });

  it("names the token if GitHub does not tell, and a later time if nobody answers", async () => {
    const asked = async (down: string): Promise<string> => {
      const { reason, skips } = await refusal("pull-request", { down });
      assert.equal(skips, false);
      assert.doesNotMatch(reason, /allow-untrusted/);
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
    const { reason, skips } = await refusal("issue-comment-stranger", { actor: "other" });
    assert.match(reason, /stranger, who .* by other, who /);
    assert.equal(skips, false);
    const both = await refusal("pull-request-bot", { actor: "stranger" });
    assert.match(both.reason, /the bot dependabot\[bot\].*stranger, who has no write access/);
    assert.equal(both.skips, true);
  });
});

describe("a stranger's issue", () => {
  const labels = "outputs: { proposals: { label: { allowed: [bug] } } }\n";
  const started = async (t: Test, more: string, given: object = {}) => {
    const workspace = await makeRepository(t, { ...files, "entries/hello.yml": entry + more });
    return tryEvent(t, "issues", { workspace, given: { ...given } });
  };

  it("starts a job that only reads and proposes labels from a list", async (t) => {
    const { result, modelRequests } = await started(t, labels);
    assert.match(result.log, /Event: not trusted\. The job runs only if it can do no harm\./);
    assert.notEqual(modelRequests, 0, result.raw);
  });

  for (const [what, more, reason] of [
    ["that no author has meant for it", "", /its `outputs` allow no label\.$/],
    ["that may write", `${labels}permissions: workspace\n`, /permissions `workspace`/],
    ["that may run a command", `${labels}permissions: { shell: [ls] }\n`, /granted `shell`/],
    ["that may use a tool", `${labels}permissions: { tools: ["docs/*"] }\n`, /granted `tools`/],
    [
      "that publishes a text",
      "outputs: { report: { comment: sticky }, proposals: { label: { allowed: [bug] }, issue: {} } }\n",
      /it publishes `report`, it publishes `proposals.issue`\.$/,
    ],
  ] as const)
    it(`starts no job ${what}`, async (t) => {
      const tried = await started(t, more);
      assertNothingRan(tried, "skipped");
      assert.match(tried.result.outputs["reason"] ?? "", reason);
    });

  it("starts no command of the author, and no task that has other permissions than the entry", async (t) => {
    const criteria = "criteria:\n      commands: [{ run: [git, status] }]";
    for (const [text, reason] of [
      [entry.replace("criteria:", criteria), /it runs git status/],
      [entry.replace("model:", "permissions: all\n    model:"), /permissions `all`/],
    ] as const) {
      const workspace = await makeRepository(t, { ...files, "entries/hello.yml": text + labels });
      const given = { "on-refused": "fail" };
      const tried = await tryEvent(t, "issues", { workspace, given });
      assertNothingRan(tried, "failure");
      assert.match(tried.result.outputs["reason"] ?? "", reason);
    }
  });

  it("starts no several rehearsals", async (t) => {
    const tried = await started(t, labels, {
      "user-input": "",
      rehearse: "entries/*.rehearsal.yml",
    });
    assertNothingRan(tried, "skipped");
    assert.match(tried.result.outputs["reason"] ?? "", /since it rehearses\.$/);
  });
});

describe("a refused event", () => {
  for (const [name, skips] of [
    ["issue_comment", false],
    ["commit_comment", false],
    ["discussion_comment", false],
    ["pull_request_review", true],
    ["pull_request_review_comment", true],
    ["watch", true],
    ["fork", true],
    ["discussion", true],
    ["label", true],
    ["workflow_run", true],
  ] as const) {
    it(`${name} of a stranger ${skips ? "comes by itself" : "waits for an answer"}`, async () => {
      const fixture =
        name === "workflow_run"
          ? "workflow-run-stranger"
          : name.startsWith("pull_request")
            ? "pull-request-review-stranger"
            : "issue-comment-stranger";
      assert.equal((await refusal(fixture, { name })).skips, skips);
    });
  }

  it("skips or fails the step as `on-refused` says, and by itself as it came", async (t) => {
    const workspace = await makeRepository(t, files);
    for (const [event, given, result] of [
      ["pull-request-bot", {}, "skipped"],
      ["issue-comment-stranger", {}, "failure"],
      ["pull-request-bot", { "on-refused": "fail" }, "failure"],
      ["issue-comment-stranger", { "on-refused": "skip" }, "skipped"],
    ] as const) {
      const { result: step, modelRequests } = await tryEvent(t, event, { workspace, given });
      assert.equal(step.outputs["result"], result, event);
      assert.equal(step.code, result === "skipped" ? 0 : 1);
      assert.equal(modelRequests, 0);
      const level = result === "skipped" ? "notice" : "error";
      const messages = step.commands.filter(({ name }) => name === level);
      assert.deepEqual(
        messages.map(({ message }) => message),
        [step.outputs["reason"]],
      );
    }
  });
});

describe("who may lift it", () => {
  it("people in `allowed-users` may start an agent, whatever they may write", async () => {
    const allowedUsers = ["Stranger"];
    const { kind, reason } = await decide("issue-comment-stranger", { allowedUsers });
    assert.equal(kind, "trusted");
    assert.match(reason, /^stranger is in `allowed-users`$/);
    for (const other of ["strange", "stranger2", "*", "helper[bot]", "helper"]) {
      await refusal("issue-comment-stranger", { allowedUsers: [other] });
      await refusal("issue-comment-bot", { allowedUsers: [other] });
    }
  });

  const again = { triggeringActor: "maintainer", attempt: "2" };
  const permissions = { maintainer: "write" };
  for (const fixture of [
    "issue-comment-stranger",
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
    for (const fixture of ["pull-request-target", "workflow-run-fork", "issue-comment-stranger"]) {
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
    const { kind, reason } = await decide("workflow-run-stranger", { change: scheduled });
    assert.equal(kind, "trusted");
    assert.match(reason, /started by the repository's schedule/);
    assert.equal(
      (await decide("workflow-run-stranger", { change: scheduled, down: "404" })).kind,
      "trusted",
    );
    await refusal("workflow-run-stranger");
    // A fork's schedule is nothing that the repository has started.
    const fork = await decide("workflow-run-fork", { change: scheduled, permissions });
    assert.equal(fork.kind, "trusted");
    assert.ok(fork.kind === "trusted" && fork.baseRef === eventSha);
    await refusal("workflow-run-fork", { change: scheduled });
  });

  it("a step runs when a maintainer has started it again", async (t) => {
    const workspace = await makeRepository(t, files);
    const given = { ...inputs, "provider-base-url": "", "provider-api-key": "" };
    const { result } = await tryEvent(t, "issue-comment-stranger", {
      workspace,
      given,
      github: { permissions, pullRequests: { 7: "same" } },
      env: { GITHUB_TRIGGERING_ACTOR: "maintainer", GITHUB_RUN_ATTEMPT: "2" },
    });
    assert.equal(result.outputs["result"], "success", result.raw);
  });
});
