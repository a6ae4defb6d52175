import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { describe, it, type TestContext } from "node:test";
import { strToU8, zipSync } from "fflate";
import type { Conversation } from "../../src/events/output-shapes.ts";
import type { RunEvent, RunEventBody, WorkOutcome } from "../../src/events/event.ts";
import { sealed } from "../journal/rig.ts";
import { readReport } from "../reports/rig.ts";
import { cliExits, runCli } from "../rig/cli.ts";
import { previousFinding } from "../rig/conversation.ts";
import { modelUsed } from "../rig/fake-sessions.ts";
import { startGithubServer, type GithubServerOptions } from "../rig/github-server.ts";
import { plannedTasks } from "../rig/plan.ts";
import { makeWorkspace } from "../rig/workspace.ts";

interface Told {
  readonly day: number;
  readonly task: "succeeded" | "retried" | "failed";
  /** Undefined: it is unknown. */
  readonly cost?: number;
  /** Of the task. */
  readonly version?: string;
  readonly findings?: Conversation["findings"];
  readonly rehearsed?: true;
}

/** The journal of a job with one task. */
function journal(runId: string, told: Told): string {
  const { day, task, version = "v1", findings, rehearsed } = told;
  const work = { workId: 0, taskId: "review", iteration: 1 };
  const [sessionId, turnId] = ["s", "t"];
  const of = { work, sessionId, turnId };
  const turn = (attempt: number): RunEventBody => ({
    ...of,
    type: "turn.started",
    modelId: "gpt-5",
    purpose: "prompt",
    retry: 0,
    attempt,
    prompt: "Review it.",
  });
  const outcome: WorkOutcome =
    task === "failed" ? { kind: "failed", reason: "no" } : { kind: "succeeded" };
  const { cost: _, ...used } = modelUsed(1500);
  const origin = {
    repository: "octo/shop",
    server: "https://github.com",
    workflowRun: "1",
    attempt: 1,
    event: "pull_request",
    head: "c0ffee",
    number: 7,
  };
  const bodies: RunEventBody[] = [
    {
      type: "run.started",
      jobName: "nightly",
      workingDirectory: "/w",
      ...plannedTasks([["review", "gpt-5"]]),
      fingerprints: { work: "w", tasks: { review: version } },
      ...(rehearsed && { rehearsed }),
      ...(findings && { origin, conversation: { findings, round: 1 } }),
    },
    { type: "work.started", work, modelId: "gpt-5" },
    turn(1),
    ...(task === "retried" ? [turn(2)] : []),
    { ...of, type: "activity", activity: { ...used, modelId: "gpt-5", cost: told.cost } },
    { type: "work.ended", work, outcome },
    { type: "run.ended", outcome },
  ];
  const start = Date.UTC(2026, 10, day, 3);
  const events = bodies.map((body, at): RunEvent => ({ ...body, at: start + at * 1000, runId }));
  return sealed(events).join("");
}

const nights = {
  "one.jsonl": journal("aaaa-1111", { day: 1, task: "succeeded", cost: 12.4 }),
  "two.jsonl": journal("bbbb-2222", { day: 2, task: "failed", cost: 20 }),
  "three.jsonl": journal("cccc-3333", { day: 3, task: "retried", cost: 30 }),
};

async function inFolder(t: TestContext, files: Readonly<Record<string, string>>) {
  const workspace = await makeWorkspace(t, files);
  const { path: cwd } = workspace;
  return { ...workspace, history: (...args: string[]) => runCli(["history", ...args], { cwd }) };
}

describe("the history of a folder", () => {
  it("is a table of runs with their cost, and of tasks that are flaky", async (t) => {
    const { history } = await inFolder(t, nights);
    const { stdout, stderr, code } = await history(".");
    assert.deepEqual([stderr, code], ["", 0]);
    assert.deepEqual(stdout.replaceAll("\u00A0", " ").trimEnd().split("\n"), [
      "START (UTC)       JOB      RESULT     COST                     DURATION  TOKENS  RETRIES  RUN",
      "2026-11-03 03:00  nightly  succeeded  30 credits (0.30 USD)    6.0 s     1.5k    0        cccc-333",
      "2026-11-02 03:00  nightly  failed     20 credits (0.20 USD)    5.0 s     1.5k    0        bbbb-222",
      "2026-11-01 03:00  nightly  succeeded  12.4 credits (0.12 USD)  5.0 s     1.5k    0        aaaa-111",
      "",
      "3 runs: 2 succeeded, 62.4 credits (0.62 USD)",
      "",
      "FLAKY TASK  JOB      RUNS  RETRIED  FAILED",
      "review      nightly  3     1        1",
    ]);
  });

  it("does not call a task flaky that was changed in between, or only rehearsed", async (t) => {
    const { history } = await inFolder(t, {
      "1.jsonl": journal("a", { day: 1, task: "failed", cost: 1 }),
      "2.jsonl": journal("b", { day: 2, task: "succeeded", cost: 1, version: "v2" }),
      "3.jsonl": journal("c", { day: 3, task: "retried", cost: 0, rehearsed: true }),
    });
    const { stdout } = await history(".");
    assert.ok(!stdout.includes("FLAKY"), stdout);
    assert.match(stdout, /succeeded \(rehearsal\)/);
  });

  it("says of the findings on a pull request what has become of them by its latest run", async (t) => {
    const closed = { thread: "resolved", rule: "style" } as const;
    const { history } = await inFolder(t, {
      "1.jsonl": journal("a", {
        day: 1,
        task: "succeeded",
        findings: [previousFinding("F1"), previousFinding("F2"), previousFinding("F3")],
      }),
      "2.jsonl": journal("b", {
        day: 2,
        task: "succeeded",
        findings: [
          previousFinding("F1", { ...closed, byPerson: true }),
          previousFinding("F2", closed),
          previousFinding("F3"),
        ],
      }),
    });
    const { stdout } = await history(".");
    assert.match(
      stdout,
      /^Findings on pull requests: 1 open, 1 resolved, 1 dismissed by people \(style 1\)$/m,
    );
    assert.match(stdout, /^2 runs: 2 succeeded, no price for gpt-5$/m);
  });

  it("compares two runs, writes the report, and prints JSON", async (t) => {
    const workspace = await inFolder(t, nights);
    const { history } = workspace;
    const { stdout, stderr } = await history(".", "--compare", "aaaa..cccc", "--html", "out.html");
    assert.match(stdout, /^COMPARED +aaaa-111 +cccc-333 +DIFFERENCE$/m);
    assert.match(stdout, /^Credits +12\.4 +30 +\+17\.6 \(\+142 %\)$/m);
    assert.match(stdout, /^Tokens +1\.5k +1\.5k +same$/m);
    assert.equal(stderr, "out.html: 3 runs\n");
    assert.equal(readReport(await workspace.read("out.html")).boot.runs.length, 3);
    const json: { runs: { runId: string; cost: number }[]; flaky: unknown[] } = JSON.parse(
      (await history(".", "--json")).stdout,
    );
    assert.deepEqual(
      json.runs.map(({ runId, cost }) => [runId, cost]),
      [
        ["aaaa-1111", 12.4],
        ["bbbb-2222", 20],
        ["cccc-3333", 30],
      ],
    );
    assert.equal(json.flaky.length, 1);
  });

  for (const [name, args, says] of [
    ["without journals or a workflow", [], /Name either journals/],
    ["with both", [".", "--workflow", "x.yml"], /Name either journals/],
    ["of a run that isn't there", [".", "--compare", "aaaa..dddd"], /0 runs have an id.*"dddd"/],
    ["of one run alone", [".", "--compare", "aaaa"], /needs the ids of two runs/],
  ] as const) {
    it(`${name} is refused`, async (t) => {
      const { history } = await inFolder(t, nights);
      const { stderr, code } = await history(...args);
      assert.equal(code, 2);
      assert.match(stderr, says);
    });
  }
});

const runsPath = "/repos/octo/shop/actions/workflows/review.yml/runs?per_page=30";
const artifactsPath = (run: number): string =>
  `/repos/octo/shop/actions/runs/${run}/artifacts?per_page=100`;

async function ofWorkflow(t: TestContext, options: GithubServerOptions) {
  const { url } = await startGithubServer(t, options);
  const { path: cwd } = await makeWorkspace(t);
  const env = { GITHUB_TOKEN: "ghs_0123456789abcdef", GITHUB_API_URL: url };
  const args = ["history", "--workflow", ".github/workflows/review.yml"];
  return () => runCli([...args, "--repository", "octo/shop"], { cwd, env });
}

const zip = (files: Readonly<Record<string, string>>): Buffer =>
  Buffer.from(
    zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)]))),
  );

describe("the history of a workflow", () => {
  it("is read from the artifacts of its runs, wherever their files want to go", async (t) => {
    const artifact = (id: number, name: string, more: object = {}): object => ({
      id,
      name,
      expired: false,
      size_in_bytes: 1000,
      ...more,
    });
    const run = await ofWorkflow(t, {
      answers: {
        [runsPath]: { workflow_runs: [{ id: 91 }, { id: 92 }, { id: 93 }] },
        [artifactsPath(91)]: {
          artifacts: [
            artifact(1, "agent-jobs-0a1b2c3d-review-1"),
            artifact(2, "coverage"),
            artifact(3, "agent-jobs-0a1b2c3d-review-2", { expired: true }),
          ],
        },
        [artifactsPath(92)]: { artifacts: [artifact(4, "journal")] },
        [artifactsPath(93)]: {
          artifacts: [artifact(5, "agent-jobs-../../etc", { size_in_bytes: 60_000_000 })],
        },
        "/repos/octo/shop/actions/artifacts/1/zip": zip({
          "../../../out.jsonl": nights["one.jsonl"],
          "report.html": "<p>",
        }),
        "/repos/octo/shop/actions/artifacts/4/zip": zip({
          "agent-jobs/journal.jsonl": nights["two.jsonl"],
          "agent-jobs/results.jsonl": '{"type":"run"}\n',
        }),
      },
    });
    const left = async (): Promise<string[]> =>
      (await readdir(tmpdir())).filter((name) => name.startsWith("agent-jobs-history-"));
    const before = await left();
    const { stdout, stderr, code } = await run();
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^2 runs: 1 succeeded, 32\.4 credits \(0\.32 USD\)$/m);
    assert.equal(
      stderr,
      "The journals of the run 93 can't be read: the artifact has 60000000 bytes (at most 50000000 are read)\n",
    );
    assert.deepEqual(await left(), before);
  });

  it("believes no journal of a fork's run, and reads a bounded number of bytes", async (t) => {
    const of = (id: number, head: number, event = "pull_request"): object => ({
      id,
      event,
      head_repository: { id: head },
      repository: { id: 1001 },
    });
    const large = { id: 1, name: "agent-jobs", expired: false, size_in_bytes: 49_000_000 };
    const run = await ofWorkflow(t, {
      answers: {
        [runsPath]: { workflow_runs: [of(91, 2002), of(92, 1001), of(93, 2002, "push")] },
        [artifactsPath(91)]: { artifacts: [{ ...large, size_in_bytes: 1 }] },
        [artifactsPath(92)]: { artifacts: Array.from({ length: 21 }, () => large) },
        [artifactsPath(93)]: { artifacts: [large] },
        "/repos/octo/shop/actions/artifacts/1/zip": zip({ "one.jsonl": nights["one.jsonl"] }),
      },
    });
    const { stdout, stderr } = await run();
    assert.match(stdout, /^1 run: /m);
    assert.deepEqual(stderr.trimEnd().split("\n"), [
      "Ignored: 1 run from forks, whose journals may be forged.",
      "The journals of the run 92 and those before it are not read: artifacts and journals have more than 1000000000 bytes",
    ]);
  });

  it("shows hostile names in its table as text on one line", async (t) => {
    const evil = "x\n::error::y\u001b]0;z\u0007\u202e";
    const plain = journal("dddd-4444", { day: 4, task: "retried" });
    const names = plain.replaceAll(/"(?:nightly|review|gpt-5)"/g, JSON.stringify(evil));
    const { history } = await inFolder(t, { "four.jsonl": names });
    const { stdout } = await history(".");
    assert.match(stdout, /no price for x ⏎ ::error::y/);
    assert.doesNotMatch(stdout, /^::|(?!\n)\p{Cc}|\u202e/mu);
  });

  for (const [name, options, says] of [
    [
      "whose runs left none",
      { answers: { [runsPath]: { workflow_runs: [{ id: 91 }] }, [artifactsPath(91)]: {} } },
      /1 run of review\.yml has left no journal.*contains `agent-jobs` or `journal`/,
    ],
    [
      "that the token may not read",
      { broken: { status: 403 } },
      /Can't list the runs of review\.yml: .*403.*needs `actions: read`/,
    ],
    ["that isn't there", { broken: { status: 404 } }, /404.*needs `actions: read`/],
  ] as const) {
    it(`${name} is refused with the reason`, async (t) => {
      const { stderr, code } = await (await ofWorkflow(t, options))();
      assert.equal(code, 2, stderr);
      assert.match(stderr, says);
    });
  }

  it("without a repository says what is missing", async (t) => {
    const { path: cwd } = await makeWorkspace(t);
    const { stderr } = await cliExits(2, "history --workflow review.yml", { cwd });
    assert.match(stderr, /--workflow needs its repository: --repository, or GITHUB_REPOSITORY/);
  });
});
