import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";
import { createOutput, type Looks } from "../../src/cli/output.ts";
import { runCli, startCli } from "../rig/cli.ts";
import { commandLine } from "../rig/dist.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const entry = JSON.stringify({
  models: { driving: "m" },
  permissions: "all",
  tasks: { t: { prompt: "Go", model: { category: "driving" } } },
  jobs: { j: { work: { kind: "Ref", taskId: "t" } } },
});

function rehearsal(replies: readonly object[]): string {
  return JSON.stringify({ entry: "entry.json", sessions: [{ task: "t", turns: [{ replies }] }] });
}

function bash(command: string): object {
  return { tools: [{ name: "bash", arguments: { command, description: "d" } }] };
}

const run = ["run", "entry.json", "--rehearse", "r.json", "--in-place"];

describe("an output that can't be written", () => {
  it("fails the command", async (t) => {
    if (process.platform !== "linux") return t.skip("needs /dev/full");
    const script = 'exec "$@" --version > /dev/full';
    const args = ["-c", script, "sh", process.execPath, commandLine];
    const { status, stderr } = spawnSync("/bin/sh", args, { encoding: "utf8" });
    assert.match(stderr, /the output is incomplete: .*ENOSPC/);
    assert.equal(status, 1);
  });
});

describe("a run whose journal or recording has a hole", () => {
  const done = { text: "done" };
  it("exits with 1 and says so: the disk is full midway", async (t) => {
    const workspace = await makeWorkspace(t, {
      "entry.json": entry,
      "r.json": rehearsal([bash("until [ -e go ]; do sleep 0.1; done"), done]),
    });
    const files = ["--journal", "j.jsonl", "--record", "r.yml"];
    const child = startCli([...run, ...files], { cwd: workspace.path });
    await workspace.holds("j.jsonl", "until");
    // Of this process alone: the runtime writes files of its own.
    execFileSync("prlimit", ["--pid", String(child.pid), "--fsize=400"]);
    await workspace.write("go", "");
    const { code, stdout, stderr } = await child.ended;
    assert.match(stdout, /^job j succeeded$/m);
    assert.match(stderr, /warning: the journal is incomplete: .*after \d+ lines: EFBIG/);
    assert.match(stderr, /warning: the recording is incomplete: .*EFBIG/);
    assert.equal(code, 1);
  });
});

describe("a reader of stdout that stalls", () => {
  // More than a pipe holds, less than makes the runtime compact the session.
  const lots = Array.from({ length: 80 }, (_, index) => ({
    text: `${index} ${"word ".repeat(800)}`,
    tools: [{ name: "view", arguments: { path: "${workingDirectory}/entry.json" } }],
  }));

  it("loses nothing when it goes on, after the run has ended", async (t) => {
    const workspace = await makeWorkspace(t, {
      "entry.json": entry,
      "r.json": rehearsal([...lots, { text: "the very end" }]),
    });
    const child = startCli([...run, "--verbose", "--journal", "j.jsonl"], {
      cwd: workspace.path,
    });
    child.pauseOutput();
    await workspace.holds("j.jsonl", '"type":"run.ended"');
    // Over the second that a process had to end, and over what a pipe holds.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    child.resumeOutput();
    const { code, stdout, stderr } = await child.ended;
    assert.equal(code, 0, `${stdout.slice(-2000)}${stderr}`);
    assert.ok(stdout.length > 250_000, `${stdout.length}`);
    assert.equal(stdout.trimEnd().split("\n").at(-1), "job j succeeded");
    for (let index = 0; index < lots.length; index += 1) {
      assert.ok(stdout.includes(`message: ${index} word`), `message ${index} is missing`);
    }
  });

  it("does not hold up a cancel, and is told what it lost", async (t) => {
    const workspace = await makeWorkspace(t, {
      "entry.json": entry,
      "r.json": rehearsal([...lots, bash("sleep 300"), { text: "end" }]),
    });
    const child = startCli([...run, "--verbose", "--journal", "j.jsonl"], {
      cwd: workspace.path,
    });
    child.pauseOutput();
    await workspace.holds("j.jsonl", "sleep 300");
    const start = performance.now();
    child.signal("SIGINT");
    const code = await child.exited;
    assert.equal(code, 130);
    assert.ok(performance.now() - start < 30_000);
    child.resumeOutput();
    const { stderr } = await child.ended;
    assert.match(stderr, /the output is incomplete: the reader read nothing for 0.5 s/);
  });
});

describe("in GitHub Actions, whatever an agent, an entry or a server says", () => {
  const evil = [
    "::error::x",
    "  ::error::x",
    "\u00a0::stop-commands::t",
    "##[error]x",
    "a ##[set-output name=x]y",
    "\u200b::add-mask::x",
    "#\u200b#[warning]x",
    "\r::notice::x",
    "\u001b[0m::debug::x",
  ];
  const valid = JSON.stringify({
    models: { driving: evil.join("\n") },
    permissions: "all",
    tasks: Object.fromEntries(
      evil.map((text) => [text, { prompt: "Go", model: { category: "driving" } }]),
    ),
    jobs: {
      [evil.join("\n")]: {
        work: { kind: "Seq", works: evil.map((taskId) => ({ kind: "Ref", taskId })) },
      },
    },
  });
  const script = JSON.stringify({
    entry: "valid.json",
    sessions: evil.map((task) => ({
      task,
      turns: [
        {
          replies: [
            { text: evil.join("\n"), ...bash("echo '::error::x'") },
            { text: evil.join("\n") },
          ],
        },
      ],
    })),
  });
  it("no line of a run is a command", async (t) => {
    const { path: cwd } = await makeWorkspace(t, { "valid.json": valid, "r.json": script });
    const args = ["run", "valid.json", "--rehearse", "r.json", "--verbose"];
    const { stdout, stderr } = await runCli(args, { cwd, env: { GITHUB_ACTIONS: "true" } });
    assert.notEqual(stdout + stderr, "");
    // As lenient as the comparisons of a language are: what is not seen may stand anywhere.
    const seen = `${stdout}\n${stderr}`.replace(/[^\P{Cc}\n\r]|[\p{Cf}\p{Mn}\uFFFD]/gu, "");
    for (const line of seen.split(/\r\n|\r|\n/)) assert.doesNotMatch(line, /^\s*::|##\[/u, line);
  });

  it("no line is a command, and none holds a secret: an error that nothing catches", async (t) => {
    const workspace = await makeWorkspace(t, {
      "throws.cjs": `process.on("SIGUSR2", () => { throw new Error("x\\n::error::y\\n" + process.env.MY_TOKEN); });`,
    });
    const child = startCli(["serve", "--port", "0"], {
      cwd: workspace.path,
      env: {
        GITHUB_ACTIONS: "true",
        MY_TOKEN: "##[error]hunter2-hunter2",
        NODE_OPTIONS: `--require=${workspace.path}/throws.cjs`,
      },
    });
    await child.printed("The API is at");
    child.signal("SIGUSR2");
    const { code, stderr } = await child.ended;
    assert.equal(code, 1);
    assert.match(stderr, /this is a bug in agent-jobs[^]*Error: x\n\| ::error::y\n\*\*\*/);
    assert.doesNotMatch(stderr, /hunter2|^::/m);
  });
});

it("has the chart as text with --chart only", async (t) => {
  const files = { "entry.json": entry, "r.json": rehearsal([{ text: "done" }]) };
  const { path: cwd } = await makeWorkspace(t, files);
  assert.doesNotMatch((await runCli(run, { cwd })).stdout, /flowchart|-->/);
  const { stdout } = await runCli([...run, "--chart"], { cwd });
  assert.match(stdout, /^flowchart TD\n[^]*-->[^]*\njob j succeeded\n$/m);
});

describe("what a terminal and the environment want", () => {
  const looks = (isTTY: boolean, environment: Readonly<Record<string, string>>): Looks =>
    createOutput(Object.assign(new PassThrough(), { isTTY }), process.stderr, environment).looks;
  const cases: [boolean, Readonly<Record<string, string>>, boolean, boolean][] = [
    [true, {}, true, true],
    [false, {}, false, false],
    [true, { TERM: "dumb" }, false, false],
    [true, { TERM: "dumb", FORCE_COLOR: "" }, true, false],
    [true, { NO_COLOR: "1" }, false, true],
    [true, { NO_COLOR: "" }, true, true],
    [true, { NO_COLOR: "1", FORCE_COLOR: "1" }, true, true],
    [true, { FORCE_COLOR: "0" }, false, true],
    [true, { FORCE_COLOR: "false" }, false, true],
    [false, { FORCE_COLOR: "3" }, true, false],
    [true, { CI: "true" }, true, false],
    [true, { CI: "false" }, true, true],
  ];
  for (const [isTTY, environment, colors, live] of cases) {
    it(`${isTTY ? "a terminal" : "a pipe"} with ${JSON.stringify(environment)}`, () => {
      assert.deepEqual(looks(isTTY, environment), { colors, live });
    });
  }
});
