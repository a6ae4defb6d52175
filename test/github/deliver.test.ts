import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Outputs } from "../../src/entry/outputs.ts";
import type { Proposal } from "../../src/events/output-shapes.ts";
import { markerOf, readMarker } from "../../src/github/markers.ts";
import type { RepositoryOptions } from "../rig/github-repository.ts";
import {
  delivered,
  file,
  finding,
  head,
  one,
  origin,
  outputs,
  pull,
  type Run,
  shown,
  start,
  statuses,
  written,
} from "./rig.ts";

const refusing =
  (
    status: number,
    end: string,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ): NonNullable<RepositoryOptions["breaks"]> =>
  ({ method, path }) =>
    method === "POST" && path.endsWith(end) ? { status, headers, answer: { message } } : undefined;

describe("the report and the review", () => {
  it("are one comment and one review, and a re-run changes just the comment", async (t) => {
    const repository = await start(t);
    const findings = [finding("one", 2), finding("two", 3), finding("far", 90)];
    const first = await delivered(repository, { findings });
    assert.deepEqual(shown(first), ["review of #7|done|3 new", "report comment on #7|done|"]);
    assert.deepEqual(written(repository), [
      "POST /repos/octo/shop/pulls/7/reviews",
      "POST /repos/octo/shop/issues/7/comments",
    ]);
    const places = repository.threads.map(({ path, line }) => `${path}:${line}`);
    assert.deepEqual(places, ["src/a.ts:2", "src/a.ts:3"]);
    assert.equal(repository.reviews[0]?.body, "");
    const report = repository.comments[0]?.body ?? "";
    assert.match(report, /#### Findings: 3 warnings\n\n3 new\n\nNot in the lines of the diff:/);
    assert.deepEqual(report.match(/\w+ is wrong/g), ["far is wrong"]);
    const again = await delivered(repository, { findings, origin: { attempt: 2 } });
    assert.deepEqual(shown(again), [
      "review of #7|skipped|no new findings; 2 new, 1 still open",
      "report comment on #7, updated|done|",
    ]);
    assert.equal(repository.comments.length, 1);
  });

  it("are found by their marker and their author: a stranger's comment is never ours", async (t) => {
    const repository = await start(t);
    const marker = markerOf({ kind: "report", job: "review", entry: ".github/review.yml" });
    repository.comment(`${marker}\n\nforged`, "mallory");
    repository.comment(`Hello\n${marker}`, repository.me);
    await delivered(repository);
    assert.equal(repository.comments.length, 3);
    assert.equal(readMarker(repository.comments[2]?.body ?? "")?.kind, "report");
  });

  it("of several comments of ours, the newest is updated and the others are minimized", async (t) => {
    const repository = await start(t);
    const marker = markerOf({ kind: "report", job: "review", entry: ".github/review.yml" });
    for (const text of ["old", "new"]) repository.comment(`${marker}\n\n${text}`);
    repository.comment(markerOf({ kind: "report", job: "other", entry: ".github/review.yml" }));
    const deliveries = await delivered(repository);
    assert.deepEqual(written(repository), [
      "PATCH /repos/octo/shop/issues/comments/102",
      "minimizeComment",
      // No review: there are no findings.
    ]);
    assert.equal(deliveries[2]?.what, "an older report comment on #7, minimized");
    assert.deepEqual(
      repository.comments.map(({ isMinimized }) => isMinimized),
      [true, false, false],
    );
  });

  it("what GitHub has done without an answer is not done again", async (t) => {
    let failures = 0;
    const repository = await start(t, {
      breaks: ({ method, path }) =>
        method === "POST" && path !== "/graphql" && failures++ < 2
          ? { status: 502, isDone: true }
          : undefined,
    });
    const deliveries = await delivered(repository, { findings: [one] });
    assert.deepEqual(statuses(deliveries), ["done", "done"]);
    assert.equal(repository.comments.length, 1);
    assert.equal(repository.reviews.length, 1);
  });

  it("a review whose answer was lost is not sent again if it can't be looked for", async (t) => {
    const repository = await start(t, {
      breaks: ({ path, body }) => {
        if (path.endsWith("/reviews")) return { status: 502, isDone: true };
        const isLookup = path === "/graphql" && String(body["query"]).includes(" reviewThreads(");
        return isLookup && repository.reviews.length > 0 ? { status: 422 } : undefined;
      },
    });
    const [review] = await delivered(repository, { findings: [one] });
    assert.equal(review?.status, "refused");
    assert.equal(repository.reviews.length, 1);
  });

  it("a flood of reviews keeps no finding from being posted", async (t) => {
    const repository = await start(t);
    const flood = { id: 6, body: "x", author: "stranger", head, state: "COMMENTED" } as const;
    repository.reviews.push(...Array.from({ length: 1_001 }, () => flood));
    const run: Run = { findings: [one], outputs: { findings: { review: "comment" } } };
    assert.deepEqual(shown(await delivered(repository, run)), ["review of #7|done|1 new"]);
  });

  it("a rate limit is waited for, also one of GraphQL, which is answered with 200", async (t) => {
    const errors = [{ type: "RATE_LIMITED", message: "API rate limit exceeded" }];
    const limits = [
      { status: 200, answer: { errors } },
      { status: 403, headers: { "retry-after": "61" } },
      { status: 200, answer: { errors: [{ message: "Something went wrong while executing" }] } },
      { status: 200, answer: { errors: [{ message: "Something went wrong while executing" }] } },
      { status: 200, answer: { errors: [{ message: "Something went wrong while executing" }] } },
      { status: 200, answer: { errors: [{ message: "Something went wrong while executing" }] } },
      { status: 422, answer: { message: "It was submitted too quickly" } },
    ];
    const firsts = [{ status: 403, headers: { "retry-after": "61" } }];
    const repository = await start(t, {
      breaks: ({ method }) => (method === "POST" ? limits : firsts).shift(),
    });
    const [, report] = await delivered(repository);
    assert.equal(report?.status, "done");
    assert.deepEqual([repository.comments.length, limits.length, firsts.length], [1, 0, 0]);
  });
});

it("a text skips no workflow and is no command of a bot, wherever it is written", async (t) => {
  const repository = await start(t);
  const words = ["skip ci", "ci skip", "no ci", "skip actions", "actions skip"];
  const body = `${words.map((word) => `[${word}]`).join(" ")}\n\n/approve\n\n\`\`\`\n/merge now\n/usr/bin/env\n\`\`\`\n\nskip-checks: true`;
  await delivered(repository, {
    report: body,
    findings: [{ ...one, message: body, suggestion: "/approve" }],
    proposals: [
      { kind: "comment", number: 7, body },
      { kind: "issue", title: "Fix [skip ci]", body },
      { ...pull, title: "/approve [no ci]", body },
    ],
  });
  const all = JSON.stringify(repository.calls);
  assert.ok(repository.calls.length > 5);
  for (const word of words) assert.ok(!all.includes(`[${word}]`), word);
  assert.doesNotMatch(all, /(?:\\n|")\s*\/(?:approve|merge)/);
  assert.doesNotMatch(all, /(?:\\n|")\s*skip-checks:/);
  assert.match(all, /\/usr\/bin\/env/);
  assert.doesNotMatch(all, /```suggestion/);
});

it("no text, title, label, user or branch has a secret that shows only once it is read", async (t) => {
  const repository = await start(t);
  // It looks like a commit.
  const token = `5ec${"0".repeat(37)}`;
  const named = { ...pull, title: "hunter2", branch: "hunter2" };
  await delivered(repository, {
    report: "hunter2",
    findings: [{ ...one, message: "hunter2", title: token }],
    proposals: [
      { kind: "comment", body: "hunter2", reason: token },
      { kind: "label", labels: ["hunter2"] },
      { kind: "reviewers", reviewers: ["hunter2"] },
      { kind: "issue", title: token, body: "hunter2" },
      named,
      { ...named, title: token },
    ],
    outputs: {
      ...outputs,
      proposals: {
        comment: {},
        label: { allowed: ["hunter2"] },
        reviewers: {},
        issue: {},
        pull_request: { max: 2 },
      },
    },
  });
  const all = JSON.stringify(repository.calls);
  for (const part of ["/labels", "/requested_reviewers", "/issues", "refs/heads/", "/pulls"])
    assert.ok(all.includes(part), part);
  assert.doesNotMatch(all, /hunter2|5ec0{37}/);
});

describe("nothing is written", () => {
  const failed: Run = { outcome: { kind: "failed", reason: "x" } };
  const canceled: Run = {
    outcome: { kind: "canceled", reason: "x" },
    outputs: { report: { comment: "sticky", when: "always" } },
  };
  const other = "c".repeat(40);
  const outdated = `outdated: the head of #7 is ${head} by now, not ${other}`;
  const issue: Proposal = { kind: "issue", title: "x", body: "y" };
  const staged = ["review of #7|skipped|no findings", "report comment on #7|staged|"];
  const cases: readonly (readonly [string, Run, string[]])[] = [
    ["if the job failed", failed, ["everything|skipped|the job failed"]],
    [
      "if it was canceled, whatever the report",
      canceled,
      ["everything|skipped|the job was canceled"],
    ],
    ["if the head has moved on", { origin: { head: other } }, [`everything|skipped|${outdated}`]],
    [
      "if everything is only staged",
      { staged: true, proposals: [issue] },
      [...staged, 'issue "x"|staged|'],
    ],
    ["if nothing is asked for", { outputs: { findings: { max: 3 } } }, []],
  ];
  for (const [name, run, expected] of cases) {
    it(name, async (t) => {
      const repository = await start(t);
      assert.deepEqual(shown(await delivered(repository, run)), expected);
      assert.deepEqual(repository.calls, []);
    });
  }

  it("of a failed job with `when: always`, only the report is written", async (t) => {
    const repository = await start(t);
    const deliveries = await delivered(repository, {
      outcome: { kind: "failed", reason: "x" },
      outputs: { ...outputs, report: { comment: "sticky", when: "always" } },
      findings: [one],
      proposals: [{ kind: "comment", body: "x" }],
    });
    assert.deepEqual(shown(deliveries), ["report comment on #7|done|"]);
  });

  it("without permission, which is named, and the others are tried", async (t) => {
    const repository = await start(t, {
      breaks: ({ path }) => (path.endsWith("/comments") ? { status: 403 } : undefined),
    });
    const deliveries = await delivered(repository, { findings: [one] });
    assert.match(shown(deliveries)[1] ?? "", /\|refused\|needs `pull-requests: write`: GitHub/);
    assert.equal(deliveries[0]?.status, "done");
  });

  const locked = refusing(403, "/comments", "Unable to create comment because issue is locked.");
  const limited = refusing(403, "/comments", "Forbidden", { "retry-after": "901" });
  const ruled = refusing(
    422,
    "/git/refs",
    "Repository rule violations found\n\nCannot create ref.",
  );
  const old = refusing(401, "/comments", "Bad credentials");
  const ruleset = /^a branch protection or ruleset forbids it: .*violations found/;
  const causes: readonly (readonly [
    string,
    Partial<RepositoryOptions>,
    "comment" | "pull",
    RegExp,
  ])[] = [
    ["no `contents`", { writes: ["pull-requests"] }, "pull", /^needs `contents: write`/],
    ["a token that only reads", { writes: [] }, "comment", /^needs `issues: write`, on a pull/],
    ["the setting", { mayProposePulls: false }, "pull", /^the setting “Allow GitHub Actions to cr/],
    ["a locked conversation", { breaks: locked }, "comment", /^the conversation is locked: GitHub/],
    ["a rate limit", { breaks: limited }, "comment", /^a rate limit .*asked to wait 901 s/],
    ["a ruleset for branches", { breaks: ruled }, "pull", ruleset],
    ["an old token", { breaks: old }, "comment", /^the token/],
  ];
  for (const [name, options, kind, reason] of causes)
    it(`refused because of ${name}, which is said`, async (t) => {
      const repository = await start(t, options);
      const proposal: Proposal = kind === "pull" ? pull : { kind: "comment", body: "x" };
      const [made, ...others] = await delivered(repository, {
        proposals: [proposal],
        outputs: { proposals: { pull_request: {}, comment: {} } },
      });
      assert.deepEqual([made?.status, others], ["refused", []]);
      assert.match(made?.reason ?? "", reason);
      // A branch without a pull request helps nobody.
      assert.deepEqual([...repository.branches.keys()], []);
    });

  it("but a branch stays that an earlier attempt has made, or whose pull request may be there", async (t) => {
    const run: Run = { proposals: [pull], outputs: { proposals: { pull_request: {} } } };
    for (const later of [403, 502]) {
      const answers = [502, 502, 502, later, later, later, later];
      const repository = await start(t, {
        breaks: ({ method, path }) =>
          method === "POST" && path.endsWith("/pulls")
            ? { status: answers.shift() ?? later }
            : undefined,
      });
      const [first] = await delivered(repository, run);
      const [second] = await delivered(repository, { ...run, origin: { attempt: 2 } });
      assert.deepEqual([first?.status, second?.status], ["refused", "refused"]);
      assert.equal(repository.branches.size, 1, String(later));
    }
  });

  it("and a branch that can't be deleted is named", async (t) => {
    const repository = await start(t, {
      mayProposePulls: false,
      breaks: ({ method }) => (method === "DELETE" ? { status: 422 } : undefined),
    });
    const [made] = await delivered(repository, {
      proposals: [pull],
      outputs: { proposals: { pull_request: {} } },
    });
    const [branch = ""] = repository.branches.keys();
    assert.match(
      made?.reason ?? "",
      /^the setting .*Its branch agent-jobs\/update-77-\w+ stays: Git/,
    );
    assert.ok(made?.reason?.includes(branch));
  });

  it("without a token, which is said", async (t) => {
    const [all] = await delivered(await start(t), { token: undefined });
    assert.equal(all?.status, "refused");
    assert.match(all.reason ?? "", /there is no GitHub token/);
  });

  it("after the time that all of it may take", async (t) => {
    const repository = await start(t);
    const now = (): number => repository.calls.length * 16 * 60_000;
    const deliveries = await delivered(repository, {
      findings: [one],
      proposals: [{ kind: "issue", title: "x", body: "y" }],
      now,
    });
    assert.deepEqual(statuses(deliveries), ["done", "refused", "refused"]);
    assert.equal(repository.calls.length, 1);
  });
});

describe("proposals", () => {
  it("are done within what is allowed, and not twice for a further attempt", async (t) => {
    const repository = await start(t);
    const proposals: readonly Proposal[] = [
      { kind: "comment", number: 7, body: "Hello @everyone, &#104;unter2" },
      { kind: "label", labels: ["bug", "docs"] },
      { kind: "reviewers", reviewers: ["mona"] },
      { kind: "issue", title: "Broken\nfixes #3", body: "see ![x](https://evil.example/x.png)" },
      pull,
      { kind: "close", reason: "It is a duplicate." },
    ];
    const run: Run = { proposals, outputs: { proposals: outputs.proposals ?? {} } };
    const first = await delivered(repository, run);
    assert.deepEqual(statuses(first), Array<string>(6).fill("done"));
    const [issue, made] = repository.items;
    assert.equal(issue?.title, "[nightly] Broken fixes #\u20603");
    assert.doesNotMatch(issue.body, /!\[/);
    assert.match(made?.head ?? "", /^agent-jobs\/update-77-[0-9a-f]{12}$/);
    assert.equal(made?.isDraft, true);
    assert.deepEqual(repository.branches.get(made.head ?? ""), {
      "src/a.ts": Buffer.from("new\n"),
      "src/b.png": Buffer.from([0xff, 0, 1]),
      "src/old.ts": null,
    });
    assert.deepEqual([repository.labels, repository.reviewers], [["bug", "docs"], ["mona"]]);
    assert.deepEqual(repository.closed, [7]);
    const texts = [...repository.comments, ...repository.items].map(({ body }) => body).join("\n");
    // An entity spells it out only when the text is parsed.
    assert.match(texts, /\*\*\*/);
    // Mentions and references are code.
    assert.doesNotMatch(texts.replace(/`[^`]*`/g, ""), /@everyone|#[123]\b/);
    const later = { number: 0, title: "x", body: "y", author: "mona", isPullRequest: false };
    repository.items.push(...Array.from({ length: 250 }, () => later));
    const before = [repository.comments.length, repository.items.length];
    await delivered(repository, { ...run, origin: { attempt: 2 } });
    assert.deepEqual([repository.comments.length, repository.items.length], before);
  });

  it("with the same branch have a branch each, and the same in a further attempt", async (t) => {
    const repository = await start(t);
    const other = { ...pull, files: [{ ...file, content: "other\n" }] };
    const run: Run = {
      proposals: [pull, other],
      outputs: { proposals: { pull_request: { max: 2 } } },
    };
    await delivered(repository, run);
    await delivered(repository, { ...run, origin: { attempt: 2 } });
    const heads = repository.items.map((item) => item.head);
    assert.equal(new Set(heads).size, 2);
    const [first, second] = heads.map((name) => repository.branches.get(name ?? "")?.["src/a.ts"]);
    assert.deepEqual([String(first), String(second)], ["new\n", "other\n"]);
  });

  it("are looked at up to a number, whatever their count says", async (t) => {
    const repository = await start(t);
    const proposals = Array.from({ length: 3_000 }, (_, index): Proposal[] => [
      { kind: "label", labels: [] },
      { kind: "reviewers", reviewers: [] },
      { ...pull, branch: `x${index}`, base: "f".repeat(40) },
    ]).flat();
    const deliveries = await delivered(repository, {
      proposals,
      outputs: { proposals: outputs.proposals ?? {} },
    });
    assert.deepEqual(repository.calls, []);
    assert.ok(repository.asked.length < 200, String(repository.asked.length));
    assert.equal(deliveries[0]?.what, "8800 of 9000 proposals");
    assert.equal(deliveries.length, 201);
  });

  const label = { allowed: ["bug", "docs"] };
  const pulls = { pull_request: {} };
  const inSources = { pull_request: { paths: ["src/**"] } };
  const withFile = (path: string): Proposal => ({ ...pull, files: [file, { ...file, path }] });
  const toMallory: Proposal = { kind: "reviewers", reviewers: ["mallory"] };
  const refusals: readonly (readonly [string, Proposal, Outputs["proposals"]])[] = [
    ["a kind that the entry doesn't allow", { kind: "close" }, {}],
    ["another issue", { kind: "comment", number: 8, body: "x" }, { comment: {} }],
    ["another label", { kind: "label", labels: ["bug\n", "x"] }, { label: { ...label, max: 5 } }],
    ["more labels than allowed", { kind: "label", labels: ["bug", "docs"] }, { label }],
    ["another reviewer", toMallory, { reviewers: { allowed: ["mona"] } }],
    ["a file outside of the globs", withFile("docs/a.md"), inSources],
    ["a commit that is not in the default branch", { ...pull, base: "f".repeat(40) }, pulls],
    ["a branch that is a path", { ...pull, branch: "x/../../../issues/1" }, pulls],
    ["a workflow", withFile(".github/workflows/x.yml"), pulls],
  ];
  for (const [name, proposal, proposals = {}] of refusals) {
    it(`${name} is not done, though the journal says otherwise`, async (t) => {
      const repository = await start(t);
      // Something else is allowed.
      const all: Outputs = { proposals: { issue: {}, ...proposals } };
      const [delivery] = await delivered(repository, { proposals: [proposal], outputs: all });
      const status = name.startsWith("more") ? "skipped" : "refused";
      assert.equal(delivery?.status, status, JSON.stringify(delivery));
      assert.deepEqual(repository.calls, []);
    });
  }

  it("of an issue's event need no pull request, and a schedule has no target", async (t) => {
    const repository = await start(t);
    const proposals: readonly Proposal[] = [{ kind: "label", labels: ["bug"] }];
    const { isPullRequest: _, ...issue } = origin;
    const run = { proposals, outputs: { proposals: outputs.proposals ?? {} }, origin: issue };
    assert.deepEqual(statuses(await delivered(repository, run)), ["done"]);
  });
});
