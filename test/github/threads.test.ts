/** The threads of a pull request over several pushes: what is found again, fixed, dismissed and answered. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Outputs } from "../../src/entry/outputs.ts";
import { lineDigest } from "../../src/outputs/check-finding.ts";
import { markerOf, readMarker } from "../../src/github/markers.ts";
import type { GithubRepository, RepositoryOptions } from "../rig/github-repository.ts";
import type { Thread } from "../rig/github-threads.ts";
import { nightly } from "../rig/nightly.ts";
import {
  delivered,
  finding,
  head,
  outputs,
  type Run,
  shown,
  start,
  surviveKills,
  written,
} from "./rig.ts";

const one = finding("one", 2);
const two = finding("two", 3);
const pushes = ["b", "c", "d", "e"].map((letter) => letter.repeat(40));
const review: Outputs = { findings: { review: "comment" } };

/** Delivers the run of the next push, of which `push` is the number. */
async function pushed(
  repository: GithubRepository,
  push: number,
  run: Run = {},
): Promise<readonly string[]> {
  const sha = pushes[push - 1] ?? head;
  repository.head = sha;
  const origin = { head: sha, workflowRun: String(77 + push), ...run.origin };
  return shown(await delivered(repository, { ...run, origin }));
}

const threadOf = ({ threads }: GithubRepository, name: string): Thread =>
  threads.find(({ body }) => readMarker(body)?.key === name) ?? assert.fail(`no thread of ${name}`);
const report = ({ comments }: GithubRepository): string => comments[0]?.body ?? "";

describe("a finding that is reported again", () => {
  it("has one thread, in whatever words, and what is not reported stays open", async (t) => {
    const repository = await start(t);
    await delivered(repository, { findings: [one, two] });
    const { length } = repository.calls;
    const [made] = await pushed(repository, 1, { findings: [{ ...one, message: "Other words." }] });
    assert.equal(made, "review of #7|skipped|no new findings; 2 still open");
    const [update = "", ...others] = written(repository).slice(length);
    assert.match(update, /^PATCH \/repos\/octo\/shop\/issues\/comments\/\d+$/);
    assert.deepEqual(others, []);
    assert.equal(repository.threads.length, 2);
    assert.ok(repository.threads.every(({ isResolved }) => !isResolved));
    assert.match(report(repository), /#### Findings: 1 warning\n\n2 still open\n\n<sub>/);
  });

  it("after we closed its thread has it open again, without the reason of before", async (t) => {
    const repository = await start(t);
    await delivered(repository, { findings: [one, two] });
    const fixed = await pushed(repository, 1, {
      findings: [two],
      resolved: { one: "It is gone." },
    });
    const named = `the finding at src/a.ts (comment ${threadOf(repository, "one").id}) of #7`;
    assert.deepEqual(fixed, [
      "review of #7|skipped|no new findings; 1 still open, 1 fixed",
      `${named}, closed|done|`,
      "report comment on #7, updated|done|",
    ]);
    const closed = threadOf(repository, "one");
    assert.deepEqual([closed.isResolved, closed.resolvedBy], [true, repository.me]);
    assert.match(closed.body, /^\*\*✓ Resolved\*\* at `bbbbbbbbbbbb`: It is gone\.$/m);
    const again = await pushed(repository, 2, { findings: [one, two] });
    assert.deepEqual(again, [
      "review of #7|skipped|no new findings; 2 still open",
      `${named}, opened again|done|`,
      "report comment on #7, updated|done|",
    ]);
    assert.equal(repository.threads.length, 2);
    assert.equal(closed.isResolved, false);
    assert.doesNotMatch(closed.body, /Resolved/);
  });

  const closers: readonly (readonly [string, string | undefined, "dismissed" | "still open"])[] = [
    ["a person with write access", "maintainer", "dismissed"],
    ["the author, who may only read", "stranger", "still open"],
    ["an account that is gone", "nobody", "still open"],
    ["a program with the name of a person", "maintainer[bot]", "still open"],
    ["somebody whom GitHub doesn't name", undefined, "still open"],
  ];
  for (const [name, login, expected] of closers)
    it(`after ${name} closed its thread is ${expected}`, async (t) => {
      const repository = await start(t);
      await delivered(repository, { findings: [one] });
      const thread = threadOf(repository, "one");
      Object.assign(thread, { isResolved: true, resolvedBy: login });
      const [made] = await pushed(repository, 1, { findings: [one] });
      assert.equal(made, `review of #7|skipped|no new findings; 1 ${expected}`);
      assert.equal(thread.isResolved, expected === "dismissed");
      assert.equal(repository.threads.length, 1);
      assert.match(report(repository), new RegExp(`^1 ${expected}$`, "m"));
      assert.equal(/is wrong/.test(report(repository)), false);
    });

  it("at a changed line has the new text in its comment, so that its line isn't taken for gone", async (t) => {
    const repository = await start(t);
    await delivered(repository, { findings: [one] });
    const lineDigest = "0123456789abcdef";
    await pushed(repository, 1, { findings: [{ ...one, lineDigest, message: "Still wrong." }] });
    const { body } = threadOf(repository, "one");
    const { text, head: first } = readMarker(body) ?? {};
    assert.deepEqual([text, first], [lineDigest, head]);
    assert.match(body, /Still wrong\./);
  });

  it("in another file keeps its thread, whose line isn't taken for gone then", async (t) => {
    const repository = await start(t);
    await delivered(repository, { findings: [one] });
    await pushed(repository, 1, { findings: [{ ...one, path: "src/b.ts" }] });
    const thread = Object.assign(threadOf(repository, "one"), { isOutdated: true });
    await pushed(repository, 2);
    assert.equal(thread.isResolved, false);
  });
});

describe("a thread is closed", () => {
  const cases: readonly (readonly [string, Partial<Thread>, string | undefined, boolean])[] = [
    ["if GitHub calls it outdated and its line is gone", { isOutdated: true }, "two\nthree", true],
    ["if its file is gone", { isOutdated: true }, undefined, true],
    ["but not if its line has only moved", { isOutdated: true }, "\n\n  one\nthree", false],
    ["but not if GitHub doesn't call it outdated", {}, "three", false],
    [
      "but not if a person has written in it",
      { isOutdated: true, replies: [{ id: 1, body: "Why?", author: "stranger" }] },
      "three",
      false,
    ],
  ];
  for (const [name, state, content, isClosed] of cases)
    it(name, async (t) => {
      const files = content === undefined ? {} : { [`${pushes[0]}:src/a.ts`]: content };
      const repository = await start(t, { files });
      await delivered(repository, { findings: [one] });
      const thread = Object.assign(threadOf(repository, "one"), state);
      const lines = await pushed(repository, 1);
      assert.equal(lines.length, isClosed ? 3 : 2, String(lines));
      assert.equal(thread.isResolved, isClosed);
      assert.equal(/: its line is gone\.$/m.test(thread.body), isClosed);
      const count = isClosed ? "1 fixed" : "1 still open";
      assert.match(report(repository), new RegExp(`#### Findings: none\n\n${count}$`, "m"));
    });

  it("not while findings are left out, of which one may be its own", async (t) => {
    const repository = await start(t);
    await delivered(repository, { findings: [one] });
    const thread = Object.assign(threadOf(repository, "one"), { isOutdated: true });
    const few: Outputs = { findings: { review: "comment", max: 1 } };
    await pushed(repository, 1, { findings: [two, finding("three", 4)], outputs: few });
    assert.equal(thread.isResolved, false);
  });

  it("only with `contents: write`, without which the comments say once that they are fixed", async (t) => {
    const repository = await start(t, { writes: ["pull-requests"] });
    await delivered(repository, { findings: [one, two] });
    const resolved = { one: "Fixed.", two: "Fixed, too." };
    const [review, ...closed] = await pushed(repository, 1, { resolved });
    assert.equal(review, "review of #7|skipped|no findings; 2 fixed");
    for (const line of closed.slice(0, 2))
      assert.match(
        line,
        /\|done\|its comment says so, but its thread stays open: needs `contents: write` and `pull-requests: write`: GitHub/,
      );
    for (const { body, isResolved } of repository.threads)
      assert.deepEqual([/Resolved\*\* at/.test(body), isResolved], [true, false]);
    assert.match(report(repository), /^2 fixed$/m);
    const { length } = repository.calls;
    const again = { ...resolved, one: "It is still fixed." };
    const [next] = await pushed(repository, 2, { resolved: again });
    assert.equal(next, "review of #7|skipped|no findings");
    const [first, retried, comment = "", ...others] = written(repository).slice(length);
    assert.deepEqual([first, retried, others], ["resolveReviewThread", "resolveReviewThread", []]);
    assert.match(comment, /^PATCH .*\/issues\/comments/);
    await pushed(repository, 3, { findings: [one] });
    assert.doesNotMatch(threadOf(repository, "one").body, /Resolved/);
  });

  it("only if GitHub has done so", async (t) => {
    const answer = { data: { resolveReviewThread: { thread: { isResolved: false } } } };
    const repository = await start(t, {
      breaks: ({ body }) =>
        String(body["query"]).startsWith("mutation") ? { status: 200, answer } : undefined,
    });
    await delivered(repository, { findings: [one] });
    const lines = await pushed(repository, 1, { resolved: { one: "Fixed." } });
    assert.match(lines[1] ?? "", /stays open: .*GitHub accepted resolveReviewThread, but didn't/);
  });

  it("once, and one that a person has closed stays theirs", async (t) => {
    const repository = await start(t);
    await delivered(repository, { findings: [one] });
    repository.conversation.close(threadOf(repository, "one"), "stranger");
    const [, closing] = await pushed(repository, 1, { resolved: { one: "It is fixed." } });
    assert.match(closing ?? "", /closed\|skipped\|its thread is closed already$/);
    assert.equal(threadOf(repository, "one").resolvedBy, "stranger");
  });
});

describe("a reply of a person", () => {
  it("keeps the thread open, and is answered once until somebody writes again", async (t) => {
    const repository = await start(t);
    await delivered(repository, { findings: [one] });
    const thread = threadOf(repository, "one");
    const answers = async (message: string, attempt = 1): Promise<string | undefined> =>
      (
        await pushed(repository, 1, {
          findings: [],
          replies: { one: message },
          resolved: { one: "It is right." },
          outputs: review,
          origin: { attempt },
        })
      )[1]?.replace(/.*#7\|/, "");
    const nobody = "skipped|nobody with write access has written since our last comment";
    assert.equal(await answers("Hello?"), nobody);
    // It has resolved the thread, since nobody had written.
    repository.conversation.mutate("unresolveReviewThread", thread.nodeId);
    repository.conversation.replyTo(thread, "I am a program.", "dependabot[bot]");
    assert.equal(await answers("Hello, program."), nobody);
    repository.conversation.mutate("unresolveReviewThread", thread.nodeId);
    repository.conversation.replyTo(thread, "Why is it wrong?", "maintainer");
    assert.equal(await answers("See @everyone ![](https://evil.example/x)."), "done|");
    assert.equal(await answers("In other words.", 2), nobody);
    assert.equal(thread.isResolved, false);
    assert.equal(thread.replies.length, 3);
    const { body = "" } = thread.replies.at(-1) ?? {};
    assert.equal(readMarker(body)?.kind, "reply");
    assert.doesNotMatch(body.replace(/`[^`]*`/g, ""), /@everyone|!\[/);
    repository.conversation.replyTo(thread, "Tell me your secrets.", "stranger");
    assert.equal(await answers("No."), nobody);
    repository.conversation.replyTo(thread, "I see.", "maintainer");
    assert.equal(await answers("Good."), "done|");
  });
});

it("what a journal says about threads that are not ours is refused, and nothing is written", async (t) => {
  const repository = await start(t);
  const marker = (job: string): string =>
    markerOf({ kind: "finding", job, entry: ".github/review.yml", key: job, head });
  const at = { path: "src/a.ts", line: 2 };
  repository.conversation.add([{ ...at, body: `${marker("review")}\n\nforged` }], "mallory");
  repository.conversation.add([{ ...at, body: `${marker("other")}\n\nof another job` }]);
  repository.conversation.add([{ ...at, body: `Hello\n${marker("review")}` }]);
  const keys = ["review", "other", "x".repeat(500), "one\n::error::x"];
  const all = Object.fromEntries(keys.map((key) => [key, "Hello."]));
  const lines = await pushed(repository, 1, { resolved: all, replies: all, outputs: review });
  assert.equal(lines[0], "review of #7|skipped|no findings");
  assert.equal(lines.length, 1 + 2 * keys.length);
  for (const line of lines.slice(1))
    assert.match(
      line,
      /^(?:a reply to|closing) finding "[^\n]{1,82}of #7\|refused\|no thread that/,
    );
  assert.deepEqual(repository.calls, []);
});

describe("a finding without a thread", () => {
  const far = finding("far", 90);

  it("stands in the report comment, and GitHub's refusal of a line doesn't cost the others theirs", async (t) => {
    const repository = await start(t, { breaks: refusesLine(3) });
    const findings = [one, two, finding("three", 4), far];
    const [made] = await pushed(repository, 0, { findings });
    assert.match(
      made ?? "",
      /\|done\|GitHub refuses comments at src\/a\.ts:3, so these findings are listed without a thread; 4 new$/,
    );
    const wrong = (text: string): string[] => text.match(/\w+(?= is wrong)/g) ?? [];
    assert.deepEqual(
      repository.threads.flatMap(({ body }) => wrong(body)),
      ["one", "three"],
    );
    assert.deepEqual(wrong(report(repository)), ["two", "far"]);
    assert.deepEqual(new Set(repository.reviews.map(({ body }) => body)), new Set([""]));
    const [again] = await pushed(repository, 1, { findings });
    assert.equal(again, "review of #7|skipped|no new findings; 4 still open");
    assert.deepEqual(wrong(report(repository)), ["two", "far"]);
  });

  it("stands in the body of one review, if there is no report comment", async (t) => {
    const repository = await start(t, { breaks: refusesLine(3) });
    const run = { findings: [one, two, far], outputs: review };
    await pushed(repository, 0, run);
    const [again] = await pushed(repository, 1, run);
    assert.equal(again, "review of #7|skipped|no new findings; 3 still open");
    const bodies = repository.reviews.map(({ body }) => body).filter((body) => body !== "");
    assert.equal(bodies.length, 1);
    assert.deepEqual(bodies[0]?.match(/\w+(?= is wrong)/g), ["two", "far"]);
    assert.deepEqual(readMarker(bodies[0])?.fingerprints, ["two", "far"]);
  });
});

const refusesLine =
  (line: number): NonNullable<RepositoryOptions["breaks"]> =>
  ({ path, body }) =>
    path.endsWith("/reviews") && JSON.stringify(body["comments"]).includes(`"line":${line}`)
      ? { status: 422 }
      : undefined;

it("a review without comments whose answer is lost is found by its body", async (t) => {
  let failures = 0;
  const repository = await start(t, {
    breaks: ({ path }) =>
      path.endsWith("/reviews") && failures++ === 0 ? { status: 502, isDone: true } : undefined,
  });
  const [made] = await pushed(repository, 0, { findings: [finding("far", 90)], outputs: review });
  assert.equal(made, "review of #7|done|1 new");
  assert.equal(repository.reviews.length, 1);
});

describe("quietAfter", () => {
  const quiet: Outputs = {
    ...outputs,
    findings: { review: "comment", quietAfter: { rounds: 2, severity: "error" } },
  };
  const grave = { ...finding("grave", 4), severity: "error" } as const;

  it("holds back new findings below the severity from that reviewed head on, and keeps open ones", async (t) => {
    const repository = await start(t);
    const run = (...findings: Run["findings"] & object): Run => ({ findings, outputs: quiet });
    assert.match((await pushed(repository, 0, run(one)))[0] ?? "", /1 new$/);
    // Nothing is new at the second head, which counts all the same.
    await pushed(repository, 1, run(one));
    const [third] = await pushed(repository, 2, run(one, two, grave));
    assert.equal(third, "review of #7|done|1 new, 1 still open, 1 held back");
    const [again] = await pushed(repository, 2, { ...run(one, two), origin: { attempt: 2 } });
    assert.match(again ?? "", /1 new, 1 still open, 1 held back$/);
    assert.equal(repository.threads.length, 2);
    assert.doesNotMatch(report(repository), /two is wrong/);
  });

  it("counts the heads at which something was found, if there is no report comment", async (t) => {
    const repository = await start(t);
    const run = { outputs: { findings: quiet.findings ?? {} } };
    await pushed(repository, 0, { ...run, findings: [one] });
    await pushed(repository, 1, { ...run, findings: [one] });
    const [third] = await pushed(repository, 2, { ...run, findings: [one, two] });
    assert.match(third ?? "", /done\|1 new, 1 still open$/);
    const [fourth] = await pushed(repository, 3, { ...run, findings: [finding("late", 4)] });
    assert.match(fourth ?? "", /no new findings; 2 still open, 1 held back$/);
  });

  for (const report of [{ report: { comment: "sticky" } }, {}] as const)
    it(`counts a head once ${"report" in report ? "with" : "without"} a report comment`, async (t) => {
      const repository = await start(t);
      const findings = { review: "comment", quietAfter: { rounds: 1 } } as const;
      const run = { outputs: { ...report, findings } };
      await pushed(repository, 0, { ...run, findings: [one] });
      const again = { ...run, findings: [one, two] };
      const [made] = await pushed(repository, 0, { ...again, origin: { attempt: 2 } });
      assert.equal(made, "review of #7|done|2 new");
    });

  it("is not reached by runs that failed", async (t) => {
    const repository = await start(t);
    const always: Outputs = { ...quiet, report: { comment: "sticky", when: "always" } };
    const failed: Run = { outputs: always, outcome: { kind: "failed", reason: "x" } };
    for (const push of [0, 1, 2]) await pushed(repository, push, failed);
    const [made] = await pushed(repository, 3, { outputs: always, findings: [one] });
    assert.equal(made, "review of #7|done|1 new");
  });
});

/** A push after which each kind of call is made: a review, an opened thread, a reply, a closed thread, a report. */
const everything: Run = {
  findings: [one, two, finding("new", 4)],
  resolved: { fixed: "It is fixed." },
  replies: { two: "It is wrong because of this." },
};

async function conversation(
  t: Parameters<typeof start>[0],
  options: Partial<RepositoryOptions> = {},
): Promise<GithubRepository> {
  const repository = await start(t, options);
  const fixed = finding("fixed", 1);
  await pushed(repository, 0, { findings: [one, two, fixed, finding("gone", 1)] });
  await pushed(repository, 1, { findings: [two, fixed], resolved: { one: "It is fixed." } });
  repository.conversation.replyTo(threadOf(repository, "two"), "Why?", "maintainer");
  threadOf(repository, "gone").isOutdated = true;
  repository.calls.length = 0;
  return repository;
}

function stateOf({ threads, comments, reviews }: GithubRepository): object {
  return {
    threads: threads
      .map(({ body, isResolved, replies }) => [
        readMarker(body)?.key,
        isResolved,
        readMarker(body)?.closed?.slice(0, 1),
        replies.map(({ author }) => author),
      ])
      .toSorted((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1)),
    reviews: reviews.length,
    reports: comments.map(({ body }) => readMarker(body)?.reviewed?.slice(0, 1)),
  };
}

const settled = {
  threads: [
    ["fixed", true, "c", []],
    ["gone", true, "c", []],
    ["new", false, undefined, []],
    ["one", false, undefined, []],
    ["two", false, undefined, ["maintainer", "github-actions[bot]"]],
  ],
  reviews: 2,
  reports: ["c"],
};

const calls: readonly (readonly [name: string, call: RegExp, needs: RegExp])[] = [
  ["a review", /^POST .*\/reviews$/, /`pull-requests: write`/],
  ["an opened thread", /unresolveReviewThread/, /`contents: write` and `pull-requests: write`/],
  ["a reply", /\/replies$/, /`pull-requests: write`/],
  ["the reason of a closed thread", /^PATCH .*\/pulls\/comments/, /`pull-requests: write`/],
  ["a closed thread", /\bresolveReviewThread/, /`contents: write` and `pull-requests: write`/],
  ["a file of the head", /\/contents\//, /`contents: read`/],
  ["the list of threads", /\breviewThreads\(/, /`pull-requests: (?:read|write)`/],
  ["the report", /^PATCH .*\/issues\/comments/, /`pull-requests: write`/],
];

describe("a fault of GitHub loses nothing and makes nothing twice", () => {
  const matches = (
    call: RegExp,
    { method, path, body }: { method: string; path: string; body: object },
  ) => call.test(path === "/graphql" ? JSON.stringify(body) : `${method} ${path}`);
  const faults = [
    { status: 403 },
    { status: 404 },
    { status: 422 },
    { status: 502 },
    { status: 502, isDone: true },
    { status: 429, headers: { "retry-after": "1000" } },
  ] as const;
  for (const [name, call, needs] of calls)
    it(`at ${name}, which is named, and the next attempt does what is left`, async (t) => {
      for (const fault of faults) {
        // A line that GitHub refuses gets no thread.
        if (fault.status === 422 && name === "a review") continue;
        let isBroken = true;
        let isSetUp = false;
        const repository = await conversation(t, {
          breaks: (asked) => (isSetUp && isBroken && matches(call, asked) ? fault : undefined),
        });
        isSetUp = true;
        const lines = await pushed(repository, 2, everything);
        const told = `${name}: ${JSON.stringify(fault)}`;
        const isRefusal = /\|refused\||its thread stays open/;
        const refusals = lines.filter((line) => isRefusal.test(line)).join("\n");
        if (fault.status === 403) assert.match(refusals, needs, told);
        if (fault.status === 429) assert.match(refusals, /a rate limit of GitHub is reached/, told);
        // What is missing would not be shown again.
        const isReviewed = readMarker(report(repository))?.reviewed === pushes[1];
        const hasReview = !/\|refused\|/.test(lines[0] ?? "");
        if (name !== "the report") assert.equal(isReviewed, hasReview, told);
        isBroken = false;
        await pushed(repository, 2, { ...everything, origin: { attempt: 2 } });
        assert.deepEqual(stateOf(repository), settled, told);
      }
    });

  it("at any request after which the process is gone", async (t) => {
    const run = { ...everything, origin: { head: pushes[1]!, workflowRun: "79" } };
    const again = { ...run, origin: { ...run.origin, attempt: 2 } };
    const setUp = async (options: Partial<RepositoryOptions>): Promise<GithubRepository> => {
      const repository = await conversation(t, options);
      repository.head = run.origin.head;
      return repository;
    };
    const every = nightly ? 1 : 2;
    const state = await surviveKills(setUp, stateOf, run, again, every);
    assert.deepEqual(state, settled);
  });
});

it("with `staged`, everything is looked up and shown, and nothing is written", async (t) => {
  const repository = await conversation(t);
  const lines = await pushed(repository, 2, { ...everything, staged: true });
  assert.deepEqual(
    lines.map((line) => line.split("|")[1]),
    ["staged", "staged", "staged", "staged", "staged", "staged"],
  );
  assert.deepEqual(repository.calls, []);
  assert.match(lines[0] ?? "", /1 new, 2 still open, 2 fixed$/);
  assert.equal(lineDigest(" one "), one.lineDigest);
});
