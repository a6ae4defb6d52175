/** A commit on the branch of a pull request: made once, on the head that the agents saw, and nowhere else. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Outputs } from "../../src/entry/outputs.ts";
import type { Proposal } from "../../src/events/output-shapes.ts";
import type { GithubRepository, RepositoryOptions } from "../rig/github-repository.ts";
import {
  delivered,
  file,
  head,
  one,
  type Run,
  shown,
  start,
  statuses,
  surviveKills,
  written,
} from "./rig.ts";

type Push = Extract<Proposal, { kind: "push" }>;

const outputs: Outputs = {
  proposals: { push: { paths: ["src/**"] }, label: { allowed: ["bug"] } },
};
const push: Push = {
  kind: "push",
  title: "Correct the price",
  body: "It was the net price.",
  base: head,
  files: [
    file,
    { path: "src/b.png", mode: "100644", content: "/wAB", encoding: "base64" },
    { path: "src/old.ts", mode: "100644", content: null, encoding: "utf-8" },
  ],
};
const pushing = (repository: GithubRepository, more: Partial<Push> = {}, run: Run = {}) =>
  delivered(repository, { outputs, proposals: [{ ...push, ...more }], ...run });
const messageOf = ({ branch, head: commit }: GithubRepository): string => branch.messageOf(commit);

describe("a push", () => {
  it("is one commit with the files, on the head that the agents saw", async (t) => {
    const repository = await start(t);
    const [made, ...others] = await pushing(repository);
    assert.deepEqual(others, []);
    assert.equal(made?.what, 'commit "Correct the price" on #7');
    assert.equal(made.status, "done");
    assert.equal(made.url, `https://github.com/octo/shop/commit/${repository.head}`);
    assert.deepEqual(written(repository), ["createCommitOnBranch"]);
    const commit = repository.branch.commits.get(repository.head);
    assert.equal(commit?.parent, head);
    assert.deepEqual(commit.files, {
      "src/a.ts": Buffer.from("new\n"),
      "src/b.png": Buffer.from([0xff, 0, 1]),
      "src/old.ts": null,
    });
    assert.match(
      commit.message,
      /^Correct the price\n\nIt was the net price\.\n\nAgent-Jobs-Push: 1 \(77\/[0-9a-f]{12}\)$/,
    );
  });

  interface Given {
    readonly push?: Partial<Push>;
    readonly on?: Partial<RepositoryOptions>;
    readonly run?: Run;
  }
  const of = (changed: Partial<typeof file> | object): Given => ({
    push: { files: [{ ...file, ...changed }] },
  });
  const after = (count: number): Given["on"] => ({
    headMessage: `Fix\n\nAgent-Jobs-Push: ${count} (70/0123456789ab)\nSigned-off-by: bot`,
  });
  const allowing = (proposals: Outputs["proposals"] & object): Run => ({ outputs: { proposals } });
  const refusals: readonly (readonly [name: string, reason: RegExp, given: Given])[] = [
    ["to a fork", /in a fork/, { on: { headRepository: 2002 } }],
    ["to the default branch", /"main" is the default branch/, { on: { branch: "main" } }],
    ["without a pull request", /no pull/, { run: { origin: { isPullRequest: undefined! } } }],
    ["of another commit", /^outdated: .* for the new head/, { push: { base: "b".repeat(40) } }],
    ["of no commit", /commit is not valid/, { push: { base: "main" } }],
    ["with a file outside of the globs", /changes "docs\/a\.md"/, of({ path: "docs/a.md" })],
    [
      "with a workflow",
      /changes "\.github\/workflows\/ci\.yml"/,
      { ...of({ path: ".github/workflows/ci.yml" }), run: allowing({ push: { paths: ["**"] } }) },
    ],
    ["with an executable file", /"src\/run" is exec/, of({ path: "src/run", mode: "100755" })],
    ["that is too large", /too many, or too large/, of({ content: "x".repeat(900_001) })],
    ["that the entry doesn't allow", /doesn't allow it/, { run: allowing({ issue: {} }) }],
    ["after its own commit", /the last commit of .* `outputs\.p.*\.max` is 1/, { on: after(1) }],
    [
      "after a third commit of its own",
      /the last 3 commits of the branch/,
      { on: after(3), run: allowing({ push: { max: 3 } }) },
    ],
  ];
  for (const [name, reason, { push: more, on, run }] of refusals) {
    it(`${name} is refused, and nothing is written`, async (t) => {
      const repository = await start(t, on);
      const [refused] = await pushing(repository, more, run);
      assert.equal(refused?.status, "refused");
      assert.match(refused.reason ?? "", reason);
      assert.deepEqual(repository.calls, []);
    });
  }

  it("counts the commits of agent-jobs in a row, which a commit of somebody else starts anew", async (t) => {
    const run: Run = { outputs: { proposals: { push: { max: 3 } } } };
    const own = await start(t, { headMessage: "Fix\n\nAgent-Jobs-Push: 2 (70/0123456789ab)" });
    await pushing(own, {}, run);
    assert.match(messageOf(own), /Agent-Jobs-Push: 3 \(77\//);
    const other = await start(t, { headMessage: "Mine" });
    await pushing(other, {}, run);
    assert.match(messageOf(other), /Agent-Jobs-Push: 1 \(77\//);
  });

  it("comes after the review, whose lines are those of the head before; of several pushes, only the last one", async (t) => {
    const repository = await start(t);
    const proposals: readonly Proposal[] = [
      { ...push, title: "First" },
      push,
      { kind: "label", labels: ["bug"] },
    ];
    const deliveries = await delivered(repository, {
      outputs: { ...outputs, findings: { review: "comment" } },
      proposals,
      findings: [one],
    });
    assert.deepEqual(shown(deliveries), [
      "review of #7|done|1 new",
      "labels bug on #7|done|",
      'commit "Correct the price" on #7|done|',
    ]);
    assert.equal(repository.calls[0]?.body["commit_id"], head);
  });

  it("on a head that has moved is refused as outdated, beside all else, which is skipped", async (t) => {
    const repository = await start(t, { head: "b".repeat(40) });
    const proposals: readonly Proposal[] = [{ kind: "label", labels: ["bug"] }, push];
    const deliveries = await delivered(repository, { outputs, proposals });
    assert.deepEqual(statuses(deliveries), ["skipped", "refused"]);
    assert.match(deliveries[1]?.reason ?? "", /^outdated: somebody pushed to #7/);
    assert.deepEqual(repository.calls, []);
    const failed: Run = {
      proposals,
      outputs: { ...outputs, report: { comment: "sticky", when: "always" } },
    };
    const outcome = { kind: "failed", reason: "no" } as const;
    assert.deepEqual(statuses(await delivered(repository, { ...failed, outcome })), ["skipped"]);
  });

  it("on a head that moves while it is delivered is refused as outdated", async (t) => {
    const repository = await start(t, {
      breaks({ path, body }) {
        if (path === "/graphql" && String(body["query"]).includes("createCommitOnBranch"))
          repository.head = "b".repeat(40);
        return undefined;
      },
    });
    const [refused] = await pushing(repository);
    assert.equal(refused?.status, "refused");
    assert.match(
      refused.reason ?? "",
      /^outdated: somebody pushed to #7 .*Expected branch to point to/,
    );
    assert.equal(repository.branch.commits.size, 0);
  });

  const isCommit = ({ path, body }: { path: string; body: Readonly<Record<string, unknown>> }) =>
    path === "/graphql" && String(body["query"]).includes("createCommitOnBranch");
  type Breaks = NonNullable<RepositoryOptions["breaks"]>;
  const answering =
    (answer: ReturnType<Breaks>): Breaks =>
    (call) =>
      isCommit(call) ? answer : undefined;
  const refusing = (message: string, type = "UNPROCESSABLE"): Breaks =>
    answering({ status: 200, answer: { data: null, errors: [{ type, message }] } });
  const invalid = answering({ status: 401, answer: { message: "Bad credentials" } });
  const limited = answering({ status: 429, headers: { "retry-after": "7200" } });
  const failing =
    (part: string, status: number): Breaks =>
    ({ path }) =>
      path.includes(part) ? { status } : undefined;
  const faults: readonly (readonly [string, Partial<RepositoryOptions>, RegExp])[] = [
    ["has no permission", { writes: ["issues", "pull-requests"] }, /^needs `contents: write`/],
    ["is not valid", { breaks: invalid }, /^the token is not valid/],
    ["meets a lost branch", { breaks: refusing("No such Ref", "NOT_FOUND") }, /No such Ref/],
    ["meets a ruleset", { breaks: refusing("rule violations") }, /^a branch protection or ruleset/],
    [
      "may not write workflows",
      { breaks: refusing("refusing to update workflow without `workflows` permission") },
      /^needs `workflows: write`/,
    ],
    ["meets a rate limit", { breaks: limited }, /^a rate limit of GitHub is reached/],
    ["can't read the pull request", { breaks: failing("/pulls/7", 500) }, /head of #7 is unknown/],
    ["can't read the head", { breaks: failing("/git/commits/", 403) }, /^needs `contents: write`/],
  ];
  for (const [name, on, reason] of faults) {
    it(`whose token ${name} is refused with the cause`, async (t) => {
      const repository = await start(t, on);
      const [refused] = await pushing(repository);
      assert.equal(refused?.status, "refused");
      assert.match(refused.reason ?? "", reason);
      assert.equal(repository.branch.commits.size, 0);
    });
  }

  for (const isDone of [true, false]) {
    it(`that GitHub ${isDone ? "has made" : "hasn't made"} without an answer is made once`, async (t) => {
      let failures = 0;
      const repository = await start(t, {
        breaks: (call) =>
          isCommit(call) && failures++ < 1 ? { status: 502, ...(isDone && { isDone }) } : undefined,
      });
      const [made] = await pushing(repository);
      assert.equal(made?.status, "done");
      assert.equal(repository.branch.commits.size, 1);
      assert.equal(repository.calls.length, isDone ? 1 : 2);
    });
  }

  it("that GitHub makes while it is sent again is found, and not taken for somebody else's", async (t) => {
    let requests = 0;
    const repository = await start(t, {
      breaks(call) {
        if (!isCommit(call)) return undefined;
        requests += 1;
        if (requests === 1) return { status: 502 };
        const { variables } = call.body;
        ({ head: repository.head } = repository.branch.commit(variables, repository.head));
        return undefined;
      },
    });
    assert.deepEqual(statuses(await pushing(repository)), ["done"]);
    assert.deepEqual([requests, repository.branch.commits.size], [2, 1]);
  });

  it("isn't made again by a re-run, which finds the head moved by its own commit", async (t) => {
    const repository = await start(t);
    await pushing(repository);
    const again = await pushing(repository, {}, { origin: { attempt: 2 } });
    assert.deepEqual(statuses(again), ["skipped", "skipped"]);
    assert.equal(again[1]?.reason, "it is there already");
    const words = await pushing(repository, { title: "Other words" }, { origin: { attempt: 2 } });
    assert.match(words[1]?.reason ?? "", /push\.max` is 1/);
    assert.equal(repository.branch.commits.size, 1);
  });

  it("killed at any request, before or after its effect, and repeated, is made once", async (t) => {
    const run: Run = { outputs, proposals: [push] };
    const setUp = (options: Partial<RepositoryOptions>) => start(t, options);
    const again = { ...run, origin: { attempt: 2 } };
    const state = await surviveKills(setUp, ({ branch }) => [branch.commits.size], run, again);
    assert.deepEqual(state, [1]);
  });

  it("only shows the commit when it is staged", async (t) => {
    const repository = await start(t);
    const [staged] = await pushing(repository, {}, { staged: true });
    assert.equal(staged?.status, "staged");
    assert.match(
      staged.preview ?? "",
      /^Correct the price\n\n.*\n\nAgent-Jobs-Push: 1 .*\n\nsrc\/a\.ts\n/,
    );
    assert.deepEqual(repository.calls, []);
  });

  it("has a message that skips no checks, names no author, mentions nobody and has no secret", async (t) => {
    const repository = await start(t);
    const title = "Fix [skip ci] for @octo, fixes #1 \u001b[31mhunter2";
    const body = [
      "Hello @everyone, closes #2, hunter2",
      "[no ci]",
      "skip-checks: true",
      "Agent-Jobs-Push: 0 (1/2)",
      "Co-authored-by: Mallory <m@example.com>",
    ].join("\n");
    await pushing(repository, { title, body });
    const message = messageOf(repository);
    for (const alive of [
      /\[(skip|no) ci\]/,
      /@(octo|everyone)/,
      /#[12]/,
      /hunter2|\p{Cc}(?<!\n)/u,
      /^skip-checks:/m,
      /^Co-authored-by:/m,
    ])
      assert.doesNotMatch(message, alive);
    assert.deepEqual(message.match(/^Agent-Jobs-Push: .*$/gm)?.length, 1);
    assert.match(message, /\nAgent-Jobs-Push: 1 \(77\/[0-9a-f]{12}\)$/);
  });
});
