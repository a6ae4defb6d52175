/** Reviews that merge rules count, on the fake API, over several pushes. */
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import type { Outputs } from "../../src/entry/outputs.ts";
import type { Finding } from "../../src/events/output-shapes.ts";
import type { Delivery } from "../../src/github/delivery.ts";
import type { GithubRepository, RepositoryOptions } from "../rig/github-repository.ts";
import { delivered, finding, head, shown, start, statuses, type Run } from "./rig.ts";

const error: Finding = { ...finding("one", 2), severity: "error" };
const warning = finding("two", 3);
const asks: Outputs = { findings: { review: "request-changes" } };
const approves: Outputs = { findings: { review: "request-changes", approve: true } };
const pass = { verdict: "pass", reason: "All is well, @octocat." } as const;
const next = { workflowRun: "78" };

/** The reviews that count, and those that did. */
const decisions = ({ reviews }: GithubRepository): string[] =>
  reviews.map(({ state }) => state).filter((state) => state !== "COMMENTED");

/** A person or an earlier run has closed all threads. */
function closeAll({ conversation }: GithubRepository): void {
  for (const thread of conversation.all) conversation.close(thread);
}

describe("findings.review: request-changes", () => {
  const thresholds: readonly (readonly [string, Outputs, Finding, readonly string[]])[] = [
    ["an error, without failOn", asks, error, ["CHANGES_REQUESTED"]],
    ["a warning, without failOn", asks, warning, []],
    [
      "a warning, with failOn: warning",
      { findings: { review: "request-changes", failOn: "warning" } },
      warning,
      ["CHANGES_REQUESTED"],
    ],
    ["an error, with review: comment", { findings: { review: "comment" } }, error, []],
  ];
  for (const [name, outputs, found, expected] of thresholds)
    test(`for ${name}: ${expected.length === 0 ? "asks for nothing" : "asks for changes"}`, async (t) => {
      const repository = await start(t);
      await delivered(repository, { outputs, findings: [found] });
      assert.deepEqual(decisions(repository), expected);
    });

  it("asks for nothing because of a finding that is dismissed or held back", async (t) => {
    const repository = await start(t);
    const quietAfter = { rounds: 1, severity: "error" } as const;
    const outputs: Outputs = { findings: { ...asks.findings, quietAfter, failOn: "warning" } };
    await delivered(repository, {
      outputs: { findings: { review: "comment" } },
      findings: [error],
    });
    repository.conversation.close(repository.threads[0], "maintainer");
    repository.head = "b".repeat(40);
    const origin = { ...next, head: repository.head };
    await delivered(repository, { outputs, findings: [error, warning], origin });
    assert.deepEqual(decisions(repository), []);
  });

  it("asks once while findings are open, reported or not, and withdraws when somebody who may has closed them", async (t) => {
    const repository = await start(t);
    await delivered(repository, { outputs: asks, findings: [error] });
    const request = repository.reviews.find(({ state }) => state === "CHANGES_REQUESTED");
    assert.match(
      request?.body ?? "",
      /Job `review` asks for changes: 1 finding is open, of severity error/,
    );
    assert.equal(request?.head, head);
    await delivered(repository, { outputs: asks, findings: [error], origin: next });
    assert.deepEqual(decisions(repository), ["CHANGES_REQUESTED"]);
    const [thread] = repository.conversation.all;
    const runs = async (workflowRun: string): Promise<readonly Delivery[]> =>
      delivered(repository, { outputs: asks, origin: { workflowRun } });
    await runs("79");
    assert.deepEqual(decisions(repository), ["CHANGES_REQUESTED"]);
    repository.conversation.close(thread, "stranger");
    await runs("80");
    assert.deepEqual(decisions(repository), ["CHANGES_REQUESTED"]);
    repository.conversation.close(thread, "maintainer");
    const last = await runs("81");
    assert.ok(
      shown(last).includes("request for changes of #7, withdrawn|done|"),
      String(shown(last)),
    );
    assert.deepEqual(decisions(repository), ["DISMISSED"]);
  });

  it("withdraws when all is fixed, also where the token may not close threads, until it is reported again", async (t) => {
    const repository = await start(t, { writes: ["pull-requests"] });
    await delivered(repository, { outputs: asks, findings: [error] });
    const resolved = { one: "Fixed." };
    await delivered(repository, { outputs: asks, resolved, origin: next });
    assert.equal(repository.threads[0]?.isResolved, false);
    assert.deepEqual(decisions(repository), ["DISMISSED"]);
    await delivered(repository, {
      outputs: asks,
      findings: [error],
      origin: { workflowRun: "79" },
    });
    assert.deepEqual(decisions(repository), ["DISMISSED", "CHANGES_REQUESTED"]);
  });

  for (const [name, by, decision] of [
    ["somebody who may closes the thread", "maintainer", "DISMISSED"],
    ["a stranger closes the thread", "stranger", "CHANGES_REQUESTED"],
    ["a stranger closes the thread and deletes the account", undefined, "CHANGES_REQUESTED"],
  ] as const)
    for (const isReported of [true, false])
      test(`${name} during a delivery that reports ${isReported ? "it again" : "nothing"}: ${decision}`, async (t) => {
        let asked = 0;
        const repository = await start(t, {
          breaks({ body }) {
            const isRead = String(body["query"]).includes("reviewThreads");
            asked += isRead ? 1 : 0;
            // The delivery has read its state, and now decides.
            if (isRead && asked === before + 2)
              Object.assign(repository.threads[0]!, { isResolved: true, resolvedBy: by });
            return undefined;
          },
        });
        let before = Infinity;
        await delivered(repository, { outputs: asks, findings: [error] });
        before = asked;
        const findings = isReported ? [error] : [];
        await delivered(repository, { outputs: asks, findings, origin: next });
        assert.deepEqual(
          [repository.threads[0]?.isResolved, ...decisions(repository)],
          [true, decision],
        );
      });

  it("withdraws nothing after a run that may have missed findings, and nothing of others", async (t) => {
    const repository = await start(t);
    await delivered(repository, { outputs: asks, findings: [error] });
    repository.reviews.push(
      { id: 1, body: "No.", author: "octocat", head, state: "CHANGES_REQUESTED" },
      { id: 2, body: "No.", author: repository.me, head, state: "CHANGES_REQUESTED" },
    );
    const forged = repository.reviews.find(({ state }) => state === "CHANGES_REQUESTED");
    repository.reviews.push({ ...forged!, id: 3, author: "octocat" });
    closeAll(repository);
    await delivered(repository, { outputs: asks, refused: ["line 0"], origin: next });
    assert.equal(decisions(repository).filter((state) => state === "DISMISSED").length, 0);
    await delivered(repository, { outputs: asks, origin: { workflowRun: "79" } });
    assert.deepEqual(decisions(repository), [
      "DISMISSED",
      "CHANGES_REQUESTED",
      "CHANGES_REQUESTED",
      "CHANGES_REQUESTED",
    ]);
  });

  it("withdraws and repeats nothing if a flood of threads hides ours", async (t) => {
    const repository = await start(t);
    await delivered(repository, { outputs: asks, findings: [error] });
    const flood = Array.from({ length: 1_000 }, () => ({ path: "src/a.ts", line: 2, body: "x" }));
    repository.conversation.add(flood, "stranger");
    for (const findings of [[], [error]]) {
      const last = await delivered(repository, { outputs: asks, findings, origin: next });
      assert.match(shown(last).join(), /\|refused\|#7 has more than 1000 reviewThreads/);
    }
    assert.deepEqual(decisions(repository), ["CHANGES_REQUESTED"]);
    assert.equal(repository.threads.length, 1_001);
  });

  it("is refused with the cause where GitHub refuses it, and the comments stay", async (t) => {
    const message = "Can not request changes on your own pull request";
    const repository = await start(t, {
      breaks: ({ body }) =>
        body["event"] === "REQUEST_CHANGES" ? { status: 422, answer: { message } } : undefined,
    });
    const deliveries = await delivered(repository, { outputs: asks, findings: [error] });
    assert.deepEqual(statuses(deliveries).toSorted(), ["done", "refused"]);
    assert.match(deliveries.at(-1)?.reason ?? "", /Can not request changes/);
    assert.equal(repository.threads.length, 1);
  });

  for (const isDone of [false, true])
    test(`asks once if GitHub answers 502 ${isDone ? "after" : "before"} it did`, async (t) => {
      let isFirst = true;
      const repository = await start(t, {
        breaks({ body }) {
          if (body["event"] !== "REQUEST_CHANGES" || !isFirst) return undefined;
          isFirst = false;
          return { status: 502, ...(isDone && { isDone }) };
        },
      });
      await delivered(repository, { outputs: asks, findings: [error] });
      assert.deepEqual(decisions(repository), ["CHANGES_REQUESTED"]);
    });
});

describe("a fault of GitHub", () => {
  const faults: readonly (readonly [number, string, RegExp])[] = [
    [403, "Resource not accessible by integration", /^needs `pull-requests: write`: /],
    [403, "Protected branch: reviews can't be dismissed", /^a branch protection or ruleset/],
    [404, "Not Found", /^needs `pull-requests: write`: /],
    [422, "Can not dismiss", /^GitHub answered 422/],
    [502, "Bad Gateway", /^GitHub answered 502/],
    [429, "API rate limit exceeded", /^a rate limit of GitHub is reached/],
  ];
  for (const [status, message, reason] of faults)
    test(`when a request for changes is withdrawn (${status}, ${message}) is named, and it stands`, async (t) => {
      const repository = await start(t, {
        breaks: ({ method }) => (method === "PUT" ? { status, answer: { message } } : undefined),
      });
      await delivered(repository, { outputs: asks, findings: [error] });
      closeAll(repository);
      const deliveries = await delivered(repository, { outputs: asks, origin: next });
      assert.match(deliveries.find((one) => one.status === "refused")?.reason ?? "", reason);
      assert.deepEqual(decisions(repository), ["CHANGES_REQUESTED"]);
    });

  for (const isDone of [false, true])
    test(`502 ${isDone ? "after" : "before"} a request for changes was withdrawn is no failure`, async (t) => {
      let count = 0;
      const repository = await start(t, {
        breaks: ({ method }) =>
          method === "PUT" && (count += 1) === 1
            ? { status: 502, ...(isDone && { isDone }) }
            : undefined,
      });
      await delivered(repository, { outputs: asks, findings: [error] });
      closeAll(repository);
      const deliveries = await delivered(repository, { outputs: asks, origin: next });
      assert.ok(!statuses(deliveries).includes("refused"), String(shown(deliveries)));
      assert.deepEqual([count, decisions(repository)], [isDone ? 1 : 2, ["DISMISSED"]]);
    });

  it("that hides who wrote the commits keeps the job from approving", async (t) => {
    const repository = await start(t, {
      breaks: ({ path }) => (path.includes("/pulls/7/commits") ? { status: 500 } : undefined),
    });
    const deliveries = await delivered(repository, {
      outputs: approves,
      verdict: pass,
    });
    assert.match(deliveries.at(-1)?.reason ?? "", /GitHub answered 500/);
    assert.deepEqual(decisions(repository), []);
  });
});

describe("findings.approve", () => {
  const person = { user: { login: "octocat", type: "User" } };
  const bot = { login: "copilot-swe-agent[bot]", type: "Bot" };
  const commit = (author: object | null): object => ({ sha: head, author });
  const marker = "<!-- agent-jobs:pull_request job=nightly entry=nightly.yml -->\n\nHello.";
  const pushed = "Fix\n\nAgent-Jobs-Push: 1 (70/0123456789ab)";
  const passing: Run = { verdict: pass };
  const needsWork: Run = { verdict: { ...pass, verdict: "needs-work" } };
  const byBot = [commit(null), commit(person.user), commit(bot)];
  const byAgent = [{ ...commit(person.user), commit: { message: pushed } }, commit(person.user)];
  const large = { pull: { ...person, commits: 251 }, commits: [commit(person.user)] };
  const cases: readonly (readonly [
    name: string,
    run: Run,
    options: Partial<RepositoryOptions>,
    reason: string | undefined,
  ])[] = [
    ["a verdict that passes, and nothing open", passing, {}, undefined],
    ["no verdict", {}, {}, "the verdict is not pass"],
    ["another verdict", needsWork, {}, "the verdict is not pass"],
    ["an open notice", { ...passing, findings: [warning] }, {}, "findings are open"],
    ["a pull request of a bot", passing, { pull: { user: bot } }, `its author is ${bot.login}`],
    [
      "a pull request that an agent has proposed with the token of a person",
      passing,
      { pull: { ...person, body: marker } },
      "an agent has proposed it",
    ],
    ["a commit of a bot", passing, { commits: byBot }, `a commit is by ${bot.login}`],
    [
      "a commit that an agent has pushed with the token of a person",
      passing,
      { commits: byAgent },
      "an agent has pushed to it",
    ],
    ["more commits than are listed", passing, large, "it has more commits than GitHub lists"],
    ["no such option", { ...passing, outputs: asks }, {}, "nothing to decide"],
  ];
  for (const [name, run, options, reason] of cases)
    test(`${name}: ${reason === undefined ? "approves" : "doesn't approve"}`, async (t) => {
      const repository = await start(t, { pull: person, ...options });
      const deliveries = await delivered(repository, { outputs: approves, ...run });
      assert.deepEqual(decisions(repository), reason === undefined ? ["APPROVED"] : []);
      if (reason !== undefined)
        assert.ok(
          deliveries.some((one) => one.reason === reason),
          String(shown(deliveries)),
        );
    });

  it("is of one commit, and is withdrawn when a run gives none", async (t) => {
    const repository = await start(t, { pull: person });
    await delivered(repository, { outputs: approves, verdict: pass });
    await delivered(repository, { outputs: approves, verdict: pass, origin: next });
    assert.deepEqual(decisions(repository), ["APPROVED"]);
    assert.doesNotMatch(repository.reviews.at(-1)?.body ?? "", /[^`]@octocat/);
    repository.head = "e".repeat(40);
    const pushed = { head: repository.head, workflowRun: "79" };
    await delivered(repository, { outputs: approves, verdict: pass, origin: pushed });
    assert.deepEqual(
      repository.reviews.filter(({ state }) => state === "APPROVED").map((one) => one.head),
      [head, repository.head],
    );
    const later = { ...pushed, workflowRun: "80" };
    await delivered(repository, { outputs: approves, findings: [error], origin: later });
    assert.deepEqual(decisions(repository), ["DISMISSED", "DISMISSED", "CHANGES_REQUESTED"]);
  });

  it("doesn't override another job of the same user, and says which setting GitHub lacks", async (t) => {
    const repository = await start(t, { pull: person });
    const other = {
      id: 5,
      body: "",
      author: repository.me,
      head,
      state: "CHANGES_REQUESTED",
    } as const;
    repository.reviews.push(other);
    const deliveries = await delivered(repository, { outputs: approves, verdict: pass });
    assert.match(
      deliveries.at(-1)?.reason ?? "",
      /another job of this token's user asks for changes/,
    );
    const flood = { id: 6, body: "x", author: "stranger", head, state: "COMMENTED" } as const;
    repository.reviews.push(...Array.from({ length: 1_000 }, () => flood));
    const [, flooded] = await delivered(repository, { outputs: approves, verdict: pass });
    assert.match(flooded?.reason ?? "", /#7 has more than 1000 reviews/);
    const strict = await start(t, { pull: person, mayProposePulls: false });
    const [, refused] = await delivered(strict, { outputs: approves, verdict: pass });
    assert.match(refused?.reason ?? "", /Allow GitHub Actions to create and approve/);
  });
});
