/** The check run of a job on the fake API, which has GitHub's limits. */
import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { newCheck } from "../../src/github/deliver-check.ts";
import { delivered, finding, head, origin, shown, start, written, type Run } from "./rig.ts";

const outputs = { check: true } as const;
const made = "POST /repos/octo/shop/check-runs";
const many = Array.from({ length: 120 }, (_, index) => finding(`f${index}`, index + 1));
const needsWork = { verdict: "needs-work", reason: "The error is swallowed." } as const;
const reject = { verdict: "reject", reason: "It loses data." } as const;

describe("the check run of a job", () => {
  const findings = [finding("one", 2)];
  const failOn = { ...outputs, findings: { failOn: "warning" } } as const;
  const ending = (kind: "failed" | "canceled" | "skipped", reason: string): Run => ({
    outcome: { kind, reason },
  });
  const incomplete = "The journal is incomplete: the disk is full.";
  const ends: readonly (readonly [string, Run, conclusion: string, title: string])[] = [
    ["that found nothing", {}, "success", "No findings"],
    ["with findings", { findings }, "success", "1 warning"],
    ["whose findings reach `failOn`", { findings, outputs: failOn }, "failure", "1 warning"],
    ["that passes", { verdict: needsWork }, "success", "Needs work: The error is swallowed."],
    ["that rejects", { verdict: reject }, "failure", "Rejected: It loses data."],
    ["that failed", ending("failed", "A crash."), "failure", "The job failed: A crash."],
    ["canceled", ending("canceled", "SIGTERM"), "cancelled", "The job was canceled: SIGTERM"],
    ["without a change", ending("skipped", "none"), "neutral", "The job was skipped: none"],
    ["whose journal is incomplete", { faults: [incomplete] }, "failure", incomplete],
  ];
  for (const failOn of ["never", "warning"] as const)
    it(`shows no finding that is held back, with failOn: ${failOn}`, async (t) => {
      const findings = { review: "comment", quietAfter: { rounds: 1 }, failOn } as const;
      const repository = await start(t);
      const run = { outputs: { ...outputs, findings } };
      await delivered(repository, { ...run, findings: [finding("one", 2)] });
      repository.head = "b".repeat(40);
      const pushed = { head: repository.head, workflowRun: "78" };
      await delivered(repository, { ...run, findings: [finding("two", 3)], origin: pushed });
      const { conclusion, title, annotations, summary } = repository.checks.all[1] ?? {};
      assert.deepEqual(
        [conclusion, title, annotations],
        failOn === "never"
          ? ["success", "No findings", []]
          : [
              "failure",
              "1 finding is a warning or worse (`outputs.findings.failOn: warning`).",
              [],
            ],
      );
      assert.doesNotMatch(summary ?? "", /two is wrong/);
    });

  for (const [name, run, conclusion, title] of ends) {
    test(name, async (t) => {
      const repository = await start(t);
      const [delivery] = await delivered(repository, { outputs, ...run });
      const [check] = repository.checks.all;
      assert.deepEqual(
        [check?.name, check?.head, check?.status, check?.conclusion, check?.title],
        ["agent-jobs: review", head, "completed", conclusion, title],
      );
      assert.deepEqual(delivery, {
        what: `check "agent-jobs: review": ${conclusion}`,
        status: "done",
        url: `https://github.com/octo/shop/runs/${check?.id}`,
      });
    });
  }

  it("has the name that the entry gives, and that of its leg", async (t) => {
    const repository = await start(t);
    const named = { outputs: { check: { name: "Review" } } };
    await delivered(repository, named);
    await delivered(repository, { ...named, origin: { leg: "b", legName: "de" } });
    assert.deepEqual(
      repository.checks.all.map(({ name }) => name),
      ["Review", "Review (de)"],
    );
  });

  it("has all findings as annotations, in batches of 50, and the report as its summary", async (t) => {
    const repository = await start(t);
    const wanted = { check: true, findings: { max: 200 } } as const;
    const report = `# Done\n\n@octocat, see <img src=x> hunter2. ${"x".repeat(80_000)}`;
    await delivered(repository, { outputs: wanted, findings: many, report });
    const [check, ...others] = repository.checks.all;
    assert.deepEqual([others.length, check?.batches], [0, [50, 50, 20]]);
    assert.deepEqual(check?.annotations[49], {
      path: "src/a.ts",
      start_line: 50,
      end_line: 50,
      annotation_level: "warning",
      title: "review",
      message: "f49 is wrong.",
    });
    assert.equal(new Set(check?.annotations.map((one) => one["start_line"])).size, 120);
    assert.match(check?.summary ?? "", /Done[^]*@\u2060?octocat|`@octocat/);
    assert.doesNotMatch(check?.summary ?? "", /<img|hunter2|\s@octocat/);
    assert.ok((check?.summary.length ?? 0) <= 65_535);
  });

  for (const [event, isAbout] of [
    ["push", true],
    ["merge_group", true],
    ["schedule", true],
    ["issues", false],
    ["issue_comment", false],
    ["workflow_run", false],
  ] as const)
    test(`is ${isAbout ? "" : "not "}made for the event ${event} without a pull request`, () => {
      const { isPullRequest: _is, number: _number, ...place } = origin;
      const about = { job: "review", entry: "review.yml", origin: { ...place, event } };
      assert.equal(newCheck(about, true) !== undefined, isAbout);
    });

  it("is made anew by each attempt and run, since annotations stay, and once by each", async (t) => {
    const repository = await start(t);
    const run = { outputs, findings: [finding("one", 2)] };
    await delivered(repository, run);
    assert.deepEqual(shown(await delivered(repository, run)), [
      'check "agent-jobs: review": success|skipped|already published by this run or a later one',
    ]);
    await delivered(repository, { ...run, origin: { attempt: 2 } });
    await delivered(repository, { ...run, origin: { workflowRun: "78" } });
    assert.deepEqual(
      repository.checks.all.map(({ externalId, batches }) => [
        externalId.replace(/\w+$/, ""),
        batches,
      ]),
      [
        ["agent-jobs/77/1/", [1]],
        ["agent-jobs/77/2/", [1]],
        ["agent-jobs/78/1/", [1]],
      ],
    );
  });

  it("that was made when the job began is completed", async (t) => {
    const repository = await start(t);
    const { id } = repository.checks.add({ name: "agent-jobs: review", head_sha: head });
    await delivered(repository, { outputs, checkId: id });
    assert.deepEqual(
      repository.checks.all.map(({ conclusion }) => conclusion),
      ["success"],
    );
    assert.deepEqual(repository.asked, [`/repos/octo/shop/check-runs/${id}`]);
  });

  it("is completed on its commit, also if the head of the pull request has moved on", async (t) => {
    const repository = await start(t);
    repository.head = "d".repeat(40);
    const both = { outputs: { check: true, report: { comment: "sticky" } } } as const;
    const [first, second] = await delivered(repository, both);
    assert.match(first?.reason ?? "", /^outdated/);
    assert.equal(second?.status, "done");
    assert.deepEqual(
      repository.checks.all.map(({ head: at, conclusion }) => [at, conclusion]),
      [[head, "success"]],
    );
  });

  it("leaves one of another App with its name and id alone", async (t) => {
    const repository = await start(t);
    await delivered(repository, { outputs });
    const [ours] = repository.checks.all.splice(0);
    const forged = { name: ours?.name, head_sha: head, external_id: ours?.externalId };
    repository.checks.add({ ...forged, conclusion: "success" }, "evil");
    await delivered(repository, { outputs, verdict: reject });
    assert.deepEqual(
      repository.checks.all.map(({ app, conclusion }) => [app, conclusion]),
      [
        ["evil", "success"],
        ["github-actions", "failure"],
      ],
    );
  });

  it("is only shown if it is staged", async (t) => {
    const repository = await start(t);
    const [delivery] = await delivered(repository, { outputs, staged: true, verdict: reject });
    assert.equal(delivery?.status, "staged");
    assert.match(
      delivery?.preview ?? "",
      /^Rejected: It loses data\.\n\n\*\*Failure:\*\* The verdict/,
    );
    assert.deepEqual(repository.asked, []);
  });

  const hundred = { check: true, findings: { max: 100 } } as const;
  const whole = { outputs: hundred, findings: many.slice(0, 100) };

  describe("whose requests GitHub answers with a fault", () => {
    const steps = [made, "PATCH 1", "PATCH 2"] as const;
    for (const [index, step] of steps.entries())
      for (const isDone of [false, true])
        for (const status of [500, 502, 504])
          test(`${status} to ${step}, ${isDone ? "after" : "before"} its effect, is made once`, async (t) => {
            let writes = 0;
            const repository = await start(t, {
              breaks({ method }) {
                if (method !== "POST" && method !== "PATCH") return undefined;
                writes += repository.calls.at(-1)?.path === "/graphql" ? 0 : 1;
                return writes === index + 1 ? { status, ...(isDone && { isDone }) } : undefined;
              },
            });
            const [delivery] = await delivered(repository, whole);
            assert.equal(delivery?.status, "done", JSON.stringify(delivery));
            const found = repository.checks.all.map(({ conclusion, batches }) => [
              conclusion,
              batches,
            ]);
            assert.deepEqual(found, [["success", [50, 50]]]);
          });

    const forbidden = "Resource not accessible by integration";
    const refusals: readonly (readonly [string, number, string, RegExp])[] = [
      ["a missing permission", 403, forbidden, /^needs `checks: write`: /],
      ["another token", 403, "You must authenticate via a GitHub App.", /^only the built-in token/],
      ["a hidden repository", 404, "Not Found", /^needs `checks: write`: /],
      ["a rate limit", 429, "API rate limit exceeded", /^a rate limit of GitHub is reached/],
    ];
    for (const [name, status, message, reason] of refusals)
      test(`for ${name} is refused, with the cause`, async (t) => {
        const repository = await start(t, {
          breaks: ({ path }) =>
            path.endsWith("/check-runs") ? { status, answer: { message } } : undefined,
        });
        const [delivery] = await delivered(repository, { outputs });
        assert.equal(delivery?.status, "refused");
        assert.match(delivery?.reason ?? "", reason);
        assert.deepEqual(repository.checks.all, []);
      });

    test("422 to its annotations is completed without them", async (t) => {
      const repository = await start(t, {
        breaks: ({ body }) =>
          "annotations" in Object(body["output"]) ? { status: 422 } : undefined,
      });
      assert.deepEqual(shown(await delivered(repository, whole)), [
        'check "agent-jobs: review": success|done|GitHub refuses its annotations',
      ]);
      assert.equal(repository.checks.all[0]?.conclusion, "success");
    });
  });

  it("that a killed attempt has left unfinished is continued where it was", async (t) => {
    const gone = new AbortController();
    const repository = await start(t, {
      breaks() {
        if (repository.checks.all[0]?.batches.length === 1) gone.abort();
        return undefined;
      },
    });
    await delivered(repository, { ...whole, signal: gone.signal });
    await delivered(repository, whole);
    assert.deepEqual(
      repository.checks.all.map(({ conclusion, batches }) => [conclusion, batches]),
      [["success", [50, 50]]],
    );
  });

  it("needs no other permission", async (t) => {
    const repository = await start(t, { writes: ["checks"] });
    await delivered(repository, { outputs });
    assert.deepEqual(written(repository), [made, expectedPatch(repository.checks.all[0]?.id)]);
  });
});

const expectedPatch = (id: number | undefined): string => `PATCH /repos/octo/shop/check-runs/${id}`;
