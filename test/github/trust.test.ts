import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { eventSha, readFixture } from "../rig/runner.ts";
import { decide, kindOf, type Situation } from "./trust-rig.ts";

describe("who may start an agent", () => {
  for (const fixture of [
    "push",
    "schedule",
    "workflow-dispatch",
    "repository-dispatch",
    "merge-group",
  ]) {
    it(`${fixture}: nobody is asked about`, async () => {
      const { decision, asked } = await decide(fixture, { permission: new Error("down") });
      assert.equal(decision.kind, "trusted");
      assert.deepEqual(asked, []);
    });
  }

  for (const fixture of [
    "pull-request",
    "pull-request-target-same",
    "issue-comment-maintainer",
    "issue-comment-issue",
    "workflow-run",
  ]) {
    it(`${fixture}: only a person who may write, as far as GitHub says`, async () => {
      for (const permission of ["admin", "maintain", "write"]) {
        const { decision, asked } = await decide(fixture, { permission });
        assert.equal(decision.kind, "trusted", permission);
        assert.ok(asked.includes("permission of maintainer"));
      }
      for (const permission of ["read", "triage", "none", "", "ADMIN", "writer"])
        assert.equal(await kindOf(fixture, { permission }), "refused", permission);
      const { decision } = await decide(fixture, { permission: new Error("GitHub answered 500") });
      assert.equal(decision.kind, "refused");
      assert.match(decision.reason, /can't be verified: GitHub answered 500/);
    });
  }

  it("everybody whom the event names has to be trusted: sender and actor", async () => {
    const { asked } = await decide("pull-request", { actor: "somebody-else" });
    assert.deepEqual(asked, ["permission of maintainer", "permission of somebody-else"]);
    assert.deepEqual((await decide("pull-request", { actor: "Maintainer" })).asked.length, 1);
  });

  it("an event whose cause or subject is not said starts nothing", async () => {
    for (const payload of [undefined, null, [], "text", 1]) {
      assert.equal(await kindOf("issue-comment-maintainer", { payload }), "refused");
      assert.equal(await kindOf("pull-request", { payload }), "refused");
      assert.equal(await kindOf("workflow-run", { payload }), "refused");
    }
    assert.equal(await kindOf("pull-request-target", { payload: {} }), "refused");
    assert.equal(await kindOf("issues", { payload: {}, actor: "" }), "refused");
    assert.equal(await kindOf("push", { name: "" }), "refused");
    assert.equal(await kindOf("push", { name: "unheard_of", permission: "read" }), "refused");
  });

  it("an event without a file is one cause, and only `act` is told to pass one", async () => {
    const reason = async (onAct: boolean, payload: unknown): Promise<string> =>
      (await decide("pull-request", { onAct, payload })).decision.reason;
    for (const payload of [undefined, {}]) {
      assert.match(await reason(true, payload), /Pass .*: `act pull_request -e event\.json`\.$/);
      assert.doesNotMatch(await reason(false, payload), /act|Don't change/);
    }
    assert.match(await reason(false, undefined), /has no file \(GITHUB_EVENT_PATH\)/);
    assert.match(await reason(false, {}), /names no pull request/);
  });

  it("under `act`, the advice is what act can do", async () => {
    const reason = async (fixture: string, down?: Error): Promise<string> => {
      const permission = down ?? "none";
      return (await decide(fixture, { onAct: true, permission })).decision.reason;
    };
    const all = [
      await reason("pull-request-bot"),
      await reason("issue-comment-stranger"),
      await reason("pull-request", new Error("down")),
      await reason("pull-request", new Error("there is no GitHub token")),
    ];
    for (const text of all) {
      assert.match(text, /`act (--actor LOGIN|-s GITHUB_TOKEN=…)`/);
      assert.doesNotMatch(text, /Re-run|github\.token/);
    }
  });

  it("a rehearsal asks GitHub nothing, whatever the event and its users", async () => {
    const down = { rehearses: true, permission: new Error("down"), commented: new Error("down") };
    for (const [fixture, more] of [
      ["pull-request", {}],
      ["pull-request", { payload: {} }],
      ["pull-request", { payload: undefined }],
      ["issues", {}],
      ["issue-comment-stranger", {}],
      ["pull-request-target", {}],
      ["workflow-run-stranger", {}],
    ] as const) {
      const { decision, asked } = await decide(fixture, { ...down, ...more });
      assert.ok(decision.kind === "trusted" && decision.baseRef === undefined, fixture);
      assert.match(decision.reason, /^a rehearsal plays the model/);
      assert.deepEqual(asked, []);
    }
    assert.equal(await kindOf("pull-request-fork", down), "skipped");
    // Files of a fork are files of a fork.
    const elsewhere = { ...down, checkedOut: ["2".repeat(40)] };
    assert.equal(await kindOf("pull-request-target", elsewhere), "refused");
    assert.equal(await kindOf("workflow-run-fork", elsewhere), "refused");
    for (const fixture of ["pull-request-target", "issue-comment-stranger", "workflow-run"])
      assert.equal(await kindOf(fixture, { ...elsewhere, payload: [] }), "refused", fixture);
    const { decision } = await decide("push", elsewhere);
    assert.ok(decision.kind === "trusted" && decision.baseRef !== undefined);
  });

  it("what `*` lets in is said by its cause, without advice", async () => {
    for (const fixture of ["pull-request-fork", "issue-comment-stranger", "pull-request-bot"]) {
      const { decision } = await decide(fixture, { allowed: ["*"], permission: "none" });
      assert.equal(decision.kind, "allowed");
      assert.doesNotMatch(decision.reason, /"\*"|Re-run|Add |https/);
    }
  });

  it("the actor of workflow_run is the one of the run before it", async () => {
    const { decision, asked } = await decide("workflow-run-stranger", { permission: "read" });
    assert.equal(decision.kind, "refused");
    assert.deepEqual(asked, ["permission of stranger"]);
  });
});

describe("a stranger's issue", () => {
  it("may start a harmless job only, with the entry of the event's commit", async () => {
    const { decision } = await decide("issues", { permission: "read" });
    assert.equal(decision.kind, "limited");
    assert.match(decision.reason, /stranger, who has no write access/);
    const elsewhere = { permission: "read", checkedOut: ["c".repeat(40)] };
    const away = (await decide("issues", elsewhere)).decision;
    assert.deepEqual([away.kind, "baseRef" in away && away.baseRef], ["limited", eventSha]);
  });

  it("starts nothing if its cause is a bot, unknown, or can't be verified, nor on another event", async () => {
    const down = new Error("GitHub answered 500");
    assert.equal(await kindOf("issues", { permission: down }), "refused");
    assert.equal(await kindOf("issues", { actor: "helper[bot]" }), "refused");
    assert.equal(await kindOf("issues", { payload: {}, actor: "" }), "refused");
    assert.equal(await kindOf("issues", { permission: "read", eventSha: "main" }), "refused");
    for (const name of ["issue_comment", "discussion", "label", "pull_request_target"])
      assert.equal(await kindOf("issues", { permission: "read", name }), "refused", name);
  });

  it("starts any job if its author has write access, or all are allowed", async () => {
    assert.equal(await kindOf("issues", { permission: "write" }), "trusted");
    assert.equal(await kindOf("issues", { permission: "read", allowed: ["*"] }), "allowed");
  });
});

describe("a fork's pull request", () => {
  for (const fixture of [
    "pull-request-fork",
    "pull-request-fork-deleted",
    "pull-request-review-fork",
  ]) {
    it(`${fixture}: is skipped before anybody is asked`, async () => {
      const { decision, asked } = await decide(fixture);
      assert.equal(decision.kind, "skipped");
      assert.deepEqual(asked, []);
    });
  }

  it("is one if nobody can tell where its head is", async () => {
    const { payload } = await readFixture("pull-request");
    const text = JSON.stringify(payload).replaceAll('"id":1001', '"id":"1001"');
    assert.equal(await kindOf("pull-request", { payload: JSON.parse(text) }), "skipped");
  });

  it("without a base that is a commit is not run even if untrusted events are allowed", async () => {
    const { payload } = await readFixture("pull-request-fork");
    const text = JSON.stringify(payload).replace("b".repeat(40), "main?x=../..");
    assert.equal(
      await kindOf("pull-request-fork", { payload: JSON.parse(text), allowed: ["*"] }),
      "refused",
    );
  });

  it("that runs with secrets is refused with another commit checked out, which may be the fork's", async () => {
    const { decision } = await decide("pull-request-target", { checkedOut: ["c".repeat(40)] });
    assert.equal(decision.kind, "refused");
    assert.match(decision.reason, /runs with secrets.*may contain the fork's files/s);
  });

  it("is what a comment is about whose pull request is not said", async () => {
    const comment = { sender: { login: "maintainer", type: "User" } };
    for (const issue of [
      { pull_request: {} },
      { pull_request: {}, number: "7" },
      { pull_request: true, number: null },
      { pull_request: "", number: 7.5 },
    ]) {
      const payload = { ...comment, issue };
      const other = { payload, checkedOut: ["c".repeat(40)] };
      assert.equal(await kindOf("issue-comment-maintainer", other), "refused");
      const { decision, asked } = await decide("issue-comment-maintainer", { payload });
      assert.ok(decision.kind === "trusted");
      assert.equal(decision.baseRef, eventSha);
      assert.deepEqual(asked, ["permission of maintainer"]);
    }
    const payload = { ...comment, issue: { number: 7, pull_request: null } };
    const { asked } = await decide("issue-comment-maintainer", { payload });
    assert.deepEqual(asked, ["permission of maintainer"]);
  });
});

describe("a bot", () => {
  for (const [fixture, login] of [
    ["pull-request-bot", "dependabot[bot]"],
    ["issue-comment-bot", "helper[bot]"],
  ] as const)
    it(`${login} may if it is listed by its own name, and nobody is asked about it`, async () => {
      const alike = ["dependabot", "helper", `x${login}`, "[bot]"];
      for (const [allowed, kind, reason] of [
        [[], "refused", /the bot .*\[bot\], which is not in `allowed-users`/],
        [alike, "refused", /which is not in `allowed-users`/],
        [["x", login.toUpperCase()], "trusted", /\[bot\] is in `allowed-users`$/],
      ] as const) {
        const { decision, asked } = await decide(fixture, { permission: "admin", allowed });
        assert.equal(decision.kind, kind);
        assert.match(decision.reason, reason);
        assert.deepEqual(asked, []);
      }
    });

  it("is known by its type as well as by its name", async () => {
    const { payload } = await readFixture("issue-comment-bot");
    const renamed = JSON.parse(JSON.stringify(payload).replaceAll("helper[bot]", "Copilot"));
    const situation = { payload: renamed, actor: "Copilot", permission: "admin" };
    assert.equal(await kindOf("issue-comment-bot", situation), "refused");
    const nameless = { payload: { issue: { number: 7 } }, permission: "admin" };
    assert.equal(await kindOf("issue-comment-bot", nameless), "refused");
  });

  it("a person is not trusted for the name of a bot that is listed", async () => {
    const { asked, decision } = await decide("issue-comment-stranger", {
      allowed: ["stranger[bot]"],
      permission: "read",
    });
    assert.equal(decision.kind, "refused");
    assert.deepEqual(asked, ["permission of stranger"]);
  });
});

const stranger = "issue-comment-stranger";
const other = "c".repeat(40);

/** Unless it says otherwise, nobody may write. */
async function refusal(fixture: string, situation: Situation = {}) {
  const { decision } = await decide(fixture, { permission: {}, ...situation });
  return decision.kind === "refused" ? decision : assert.fail(decision.reason);
}

describe("a refusal", () => {
  it("names the list and a new start, and to a person `*` with its page", async () => {
    const { reason } = await refusal("issue-comment-bot");
    assert.match(reason, /`allowed-users`.*“Re-run jobs”/);
    assert.doesNotMatch(reason, /"\*"/);
    assert.match(
      (await refusal(stranger)).reason,
      /\(permission: none\).*`allowed-users`.*“Re-run jobs”.*`allowed-users: "\*"`.*\/docs\/security\.md#who-may-start-an-agent/,
    );
  });

  it("names the token if GitHub does not tell, and a later time if nobody answers", async () => {
    for (const [down, help] of [
      [
        "GitHub answered 403 (x), 2 times",
        /`env: \{ GITHUB_TOKEN: "\$\{\{ github\.token \}\}" \}`/,
      ],
      [
        "GitHub answered 502 (x), 3 times",
        /Try again later, or let a user with write access re-run/,
      ],
    ] as const) {
      const { reason, unattended } = await refusal("pull-request", { permission: new Error(down) });
      assert.match(reason, help);
      assert.doesNotMatch(reason, /"\*"/);
      assert.equal(unattended, false);
    }
  });

  it("names everybody who is missing at once", async () => {
    const bots = await refusal("pull-request-bot", { actor: "renovate[bot]" });
    assert.match(bots.reason, /the bot dependabot\[bot\], .*the bot renovate\[bot\], which/);
    const { reason, unattended } = await refusal(stranger, { actor: "other" });
    assert.match(reason, /stranger, who .* by other, who /);
    assert.equal(reason.match(/Add them to/g)?.length, 1);
    assert.equal(unattended, false);
    const both = await refusal("pull-request-bot", { actor: "stranger" });
    assert.match(both.reason, /the bot dependabot\[bot\].*stranger, who has no write access/);
    assert.equal(both.unattended, true);
  });

  it("of a stranger waits for an answer if it is a comment, and comes by itself if not", async () => {
    for (const [fixture, isUnattended, ...names] of [
      [stranger, false, "issue_comment", "commit_comment", "discussion_comment"],
      [stranger, true, "watch", "fork", "discussion", "label"],
      ["pull-request-review-stranger", true, "pull_request_review", "pull_request_review_comment"],
      ["workflow-run-stranger", true, "workflow_run"],
    ] as const)
      for (const name of names)
        assert.equal((await refusal(fixture, { name })).unattended, isUnattended, name);
  });

  it("is lifted for people in `allowed-users`, whatever they may write", async () => {
    const { decision } = await decide(stranger, { permission: {}, allowed: ["Stranger"] });
    assert.equal(decision.kind, "trusted");
    assert.match(decision.reason, /^stranger is in `allowed-users`$/);
    for (const one of ["strange", "stranger2", "stranger[bot]", "helper"])
      for (const fixture of [stranger, "issue-comment-bot"])
        await refusal(fixture, { allowed: [one] });
  });
});

describe("a run that is started again", () => {
  const again = { triggeringActor: "maintainer", attempt: "2" };
  const permission = { maintainer: "write" };

  for (const fixture of [
    stranger,
    "pull-request-bot",
    "issue-comment-bot",
    "workflow-run-stranger",
  ])
    it(`by a maintainer, and nobody else, is trusted: ${fixture}`, async () => {
      const { decision } = await decide(fixture, { ...again, permission });
      assert.equal(decision.kind, "trusted", decision.reason);
      assert.match(decision.reason, /^maintainer has write access and re-ran the job/);
      await refusal(fixture, again);
      await refusal(fixture, { ...again, attempt: "1", permission });
      await refusal(fixture, { ...again, permission: new Error("down") });
      const bot = { ...again, triggeringActor: "helper2[bot]" };
      await refusal(fixture, { ...bot, permission: { "helper2[bot]": "admin" } });
    });

  it("makes nobody's fork believed", async () => {
    const fork = { ...again, permission, commented: true, checkedOut: [other] };
    assert.equal(await kindOf("pull-request-fork", fork), "skipped");
    for (const fixture of ["pull-request-target", "workflow-run-fork", stranger]) {
      const text = JSON.stringify((await readFixture(fixture)).payload);
      const payload = JSON.parse(text.replace('"issue":{', '"issue":{"pull_request":{},'));
      const { reason } = await refusal(fixture, { ...fork, actor: "stranger", payload });
      assert.match(reason, /it may contain the fork's files/);
    }
  });

  it("by the repository's own schedule is trusted, also if its author has left", async () => {
    const scheduled = async (fixture: string): Promise<unknown> => {
      const text = JSON.stringify((await readFixture(fixture)).payload);
      return JSON.parse(text.replace('"event":"pull_request"', '"event":"schedule"'));
    };
    const payload = await scheduled("workflow-run-stranger");
    for (const left of [{}, new Error("404")]) {
      const { decision } = await decide("workflow-run-stranger", { permission: left, payload });
      assert.equal(decision.kind, "trusted");
      assert.match(decision.reason, /started by the repository's schedule/);
    }
    // A fork's schedule is nothing that the repository has started.
    const ofFork = { permission, payload: await scheduled("workflow-run-fork") };
    const { decision } = await decide("workflow-run-fork", ofFork);
    assert.ok(decision.kind === "trusted" && decision.baseRef === eventSha);
    await refusal("workflow-run-fork", { ...ofFork, permission: {} });
  });
});
