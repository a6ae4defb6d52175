/** A delivery that is killed and repeated, with what its agents have proposed in another order or number, and legs of a matrix. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Outputs } from "../../src/entry/outputs.ts";
import type { Proposal } from "../../src/events/output-shapes.ts";
import { markerOf, readMarker } from "../../src/github/markers.ts";
import type { GithubRepository, RepositoryOptions } from "../rig/github-repository.ts";
import { nightly } from "../rig/nightly.ts";
import {
  delivered,
  file,
  finding,
  head,
  outputs,
  pull,
  type Run,
  shown,
  start,
  statuses,
  surviveKills,
} from "./rig.ts";

const limits = { max: 9 };
const several: Outputs = {
  ...outputs,
  proposals: {
    ...outputs.proposals,
    comment: limits,
    issue: limits,
    pull_request: { ...limits, paths: ["src/**"] },
  },
};
const issue = (name: string): Proposal => ({ kind: "issue", title: name, body: `${name} fails.` });
const update = { ...pull, title: "Update" };
const other = { ...pull, title: "Other", files: [{ ...file, content: "other\n" }] };
const proposals: readonly Proposal[] = [
  issue("one"),
  { kind: "comment", body: "Hello." },
  update,
  issue("two"),
  { kind: "label", labels: ["bug"] },
  // Its branch and its comment are those of others.
  other,
  { kind: "comment", body: "Hello." },
  { kind: "reviewers", reviewers: ["mona"] },
  { kind: "close", reason: "It is done." },
];
const run: Run = {
  findings: [finding("one", 2), finding("two", 3), finding("far", 90)],
  proposals,
  outputs: several,
};
const again = { attempt: 2 };

/** Everything that stands on GitHub, in the order of its text. */
function state(repository: GithubRepository): object {
  const kinds = repository.comments.map(({ body }) => String(readMarker(body)?.kind)).sort();
  const places = repository.threads.map(({ path, line }) => `${path}:${line}`).sort();
  const items = repository.items.map(({ title, head: branch = "" }) => {
    const content = repository.branches.get(branch)?.["src/a.ts"];
    return [title, ...(content == null ? [] : [String(content)])].join(": ");
  });
  const { reviews, labels, closed, reviewers } = repository;
  return {
    kinds,
    places,
    items: items.sort(),
    reviews: reviews.length,
    labels,
    isClosed: closed.includes(7),
    reviewers: new Set(reviewers),
  };
}

describe("a further attempt after a delivery that was killed", () => {
  it("at any request, before or after GitHub has carried it out, publishes each thing once, in whatever order", async (t) => {
    const again = { ...run, proposals: proposals.toReversed(), origin: { attempt: 2 } };
    const setUp = (options: Partial<RepositoryOptions>) => start(t, options);
    const every = nightly ? 1 : 3;
    assert.deepEqual(await surviveKills(setUp, state, run, again, every), {
      kinds: ["close", "comment", "comment", "report"],
      places: ["src/a.ts:2", "src/a.ts:3"],
      items: ["Other: other\n", "Update: new\n", "one", "two"],
      reviews: 1,
      labels: ["bug"],
      isClosed: true,
      reviewers: new Set(["mona"]),
    });
  });

  const three = ["one", "two", "three"].map(issue);
  const orders: readonly (readonly [string, readonly Proposal[], readonly string[]])[] = [
    ["in another order", three.toReversed(), ["one", "two", "three"]],
    ["with one fewer", three.slice(1), ["one", "two", "three"]],
    ["with one more, first", [issue("zero"), ...three], ["one", "two", "three", "zero"]],
    ["with one of them twice", [...three, issue("two")], ["one", "two", "three", "two"]],
  ];
  for (const [name, proposed, titles] of orders) {
    it(`whose agents propose ${name}, publishes only what is new`, async (t) => {
      const repository = await start(t);
      await delivered(repository, { proposals: three, outputs: several });
      await delivered(repository, { proposals: proposed, outputs: several, origin: again });
      const found = repository.items.map(({ title }) => title);
      assert.deepEqual(found, titles);
    });
  }

  it("keeps to the `max` of the entry, also if an agent has chosen other words", async (t) => {
    const repository = await start(t);
    const two = { outputs: { proposals: { issue: { max: 2 } } } };
    await delivered(repository, { ...two, proposals: three.slice(0, 1) });
    const next = { ...two, proposals: [issue("uno"), issue("dos"), issue("one")], origin: again };
    assert.deepEqual(shown(await delivered(repository, next)), [
      'issue "uno"|done|',
      'issue "dos"|skipped|`outputs.proposals.issue.max` is 2',
      'issue "one"|skipped|it is there already',
    ]);
    const later = { ...next, origin: { workflowRun: "78" } };
    assert.deepEqual(statuses(await delivered(repository, later)), ["done", "done", "skipped"]);
  });

  it("tells apart the same proposal for two items", async (t) => {
    const repository = await start(t);
    const proposed = { outputs: { proposals: { issue: limits } }, proposals: [issue("one")] };
    const given = [["a"], ["b"], ["a"]].map((items) => ({ ...proposed, items }));
    const all: string[] = [];
    for (const one of given) all.push(...statuses(await delivered(repository, one)));
    assert.deepEqual(all, ["done", "done", "skipped"]);
  });
});

describe("legs of a matrix", () => {
  const leg = (name: string, more: Run = {}): Run => ({
    ...more,
    outputs: several,
    origin: { leg: name, ...more.origin },
  });

  it("have a report and threads each, and resolve only their own", async (t) => {
    const repository = await start(t);
    const findings = { a: [finding("one", 2)], b: [finding("one", 2), finding("two", 3)] };
    await delivered(repository, leg("a", { findings: findings.a, proposals: [pull] }));
    await delivered(repository, leg("b", { findings: findings.b, proposals: [pull] }));
    assert.equal(repository.comments.length, 2);
    assert.equal(repository.threads.length, 3);
    assert.equal(new Set(repository.items.map((item) => item.head)).size, 2);
    // After a push, `a` calls its finding resolved.
    const pushed = "b".repeat(40);
    repository.head = pushed;
    await delivered(
      repository,
      leg("a", {
        resolved: { one: "It is fixed." },
        origin: { head: pushed, workflowRun: "78" },
      }),
    );
    assert.deepEqual(
      repository.threads.map(({ isResolved }) => isResolved),
      [true, false, false],
    );
    const reports = repository.comments.map(({ body }) => readMarker(body));
    assert.deepEqual(
      reports.map((marker) => [marker?.leg, marker?.head]),
      [
        ["a", pushed],
        ["b", head],
      ],
    );
  });

  it("take over the comment of a version without legs, the first of them, and one leg its threads", async (t) => {
    const repository = await start(t);
    const old = { job: "review", entry: ".github/review.yml", head: "c".repeat(40) } as const;
    for (const key of ["1/1", "2/1"])
      repository.comment(markerOf({ ...old, kind: "report", key, fingerprints: ["gone"] }));
    await delivered(repository, { findings: [finding("one", 2)] });
    const next = { workflowRun: "78" };
    await delivered(repository, leg("a", { resolved: { one: "Fixed." }, origin: next }));
    assert.equal(repository.comments.length, 2);
    assert.deepEqual(
      repository.comments.map(({ isMinimized }) => isMinimized),
      [true, false],
    );
    assert.equal(readMarker(repository.comments[1]?.body ?? "")?.leg, "a");
    assert.equal(repository.threads[0]?.isResolved, true);
    await delivered(repository, leg("b", { origin: next }));
    assert.equal(repository.comments.length, 3);
    await delivered(repository, leg("a", { origin: { ...next, attempt: 2 } }));
    assert.equal(repository.comments.length, 3);
  });
});
