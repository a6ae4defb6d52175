import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { PassThrough } from "node:stream";
import { describe, it, type TestContext } from "node:test";
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
  for (const args of [["--version"], [...run, "--quiet"]]) {
    it(`fails the command: ${args.join(" ")}`, async (t) => {
      if (process.platform !== "linux") return t.skip("needs /dev/full");
      const files = { "entry.json": entry, "r.json": rehearsal([{ text: "done" }]) };
      const workspace = await makeWorkspace(t, files);
      const script = 'exec "$@" > /dev/full';
      const { status, stderr } = spawnSync(
        "/bin/sh",
        ["-c", script, "sh", process.execPath, commandLine, ...args],
        { cwd: workspace.path, encoding: "utf8" },
      );
      assert.match(stderr, /the output is incomplete: .*ENOSPC/);
      assert.equal(status, 1);
    });
  }
});

describe("a run whose journal or recording has a hole", () => {
  const done = { text: "done" };
  const cases: [string, readonly string[], readonly object[], RegExp][] = [
    ["on a full disk", ["--journal", "/dev/full"], [done], /journal is incomplete: .*ENOSPC/],
    [
      "deleted",
      ["--journal", "out.jsonl"],
      [bash("rm out.jsonl"), done],
      /journal is incomplete: .*was deleted/,
    ],
  ];
  for (const [name, flags, replies, told] of cases) {
    it(`exits with 1 and says so: ${name}`, async (t) => {
      const workspace = await makeWorkspace(t, {
        "entry.json": entry,
        "r.json": rehearsal(replies),
      });
      const { code, stdout, stderr } = await runCli([...run, ...flags], { cwd: workspace.path });
      assert.match(stdout, /^job j succeeded$/m);
      assert.match(stderr, told);
      assert.equal(code, 1);
    });
  }

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

  it("stays a success where neither was asked for", async (t) => {
    const workspace = await makeWorkspace(t, {
      "entry.json": entry,
      "r.json": rehearsal([done]),
    });
    const { code, stderr } = await runCli(run, { cwd: workspace.path });
    assert.equal(stderr, "");
    assert.equal(code, 0);
  });
});

describe("a reader of stdout that stalls", () => {
  // More than a pipe holds, less than makes the runtime compact the session.
  const lots = Array.from({ length: 80 }, (_, index) => ({
    text: `${index} ${"word ".repeat(800)}`,
    tools: [{ name: "view", arguments: { path: "${workingDirectory}/entry.json" } }],
  }));

  it("loses nothing when it goes on, seconds after the run has ended", async (t) => {
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
    await new Promise((resolve) => setTimeout(resolve, 4_000));
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
  const hostile = JSON.stringify({
    models: { driving: "m" },
    permissions: "all",
    promptVariables: Object.fromEntries(evil.map((text) => [`${text}\n${text}`, ["x"]])),
    tasks: Object.fromEntries(evil.map((text) => [text, { prompt: evil.join("\n") }])),
    jobs: Object.fromEntries(
      evil.map((text) => [text, { work: { kind: "Ref", taskId: text, modelOverride: {} } }]),
    ),
  });
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
  const commands: [string, readonly string[]][] = [
    ["run", ["run", "valid.json", "--rehearse", "r.json", "--verbose"]],
    ["rehearse", ["rehearse", "r.json", "hostile.json", "--verbose"]],
    ["an unknown command", ["::error::x\n::error::y"]],
  ];
  for (const [name, args] of commands) {
    it(`no line is a command: ${name}`, async (t) => {
      const workspace = await makeWorkspace(t, {
        "hostile.json": hostile,
        "valid.json": valid,
        "r.json": script,
      });
      const { stdout, stderr } = await runCli(args, {
        cwd: workspace.path,
        env: { GITHUB_ACTIONS: "true", CI: "true" },
      });
      assert.notEqual(stdout + stderr, "");
      // As lenient as the comparisons of a language are: what is not seen may stand anywhere.
      const seen = `${stdout}\n${stderr}`.replace(/[^\P{Cc}\n\r]|[\p{Cf}\p{Mn}\uFFFD]/gu, "");
      for (const line of seen.split(/\r\n|\r|\n/)) {
        assert.doesNotMatch(line, /^\s*::|##\[/u, line);
      }
    });
  }

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

  it("validate --format github prints one command for each problem, whatever it says", async (t) => {
    const workspace = await makeWorkspace(t, { "hostile.json": hostile });
    const { stdout } = await runCli(["validate", "hostile.json", "--format", "github"], {
      cwd: workspace.path,
      env: { GITHUB_ACTIONS: "true" },
    });
    for (const line of stdout.trimEnd().split(/\r\n|\r|\n/)) {
      assert.match(line, /^::error file=hostile\.json,[^:]*::/);
      assert.doesNotMatch(line, /##\[/);
    }
  });

  it("what is JSON stays the same JSON", async (t) => {
    const workspace = await makeWorkspace(t, { "valid.json": valid });
    const list = async (env: Readonly<Record<string, string>>): Promise<unknown> =>
      JSON.parse(
        (await runCli(["list", "valid.json", "--json"], { cwd: workspace.path, env })).stdout,
      );
    assert.deepEqual(await list({ GITHUB_ACTIONS: "true" }), await list({}));
  });
});

describe("the looks of a run", () => {
  const look = async (
    t: TestContext,
    flags: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<string> => {
    const workspace = await makeWorkspace(t, {
      "entry.json": entry,
      "r.json": rehearsal([{ text: "done" }]),
    });
    const { code, stdout, stderr } = await runCli([...run, ...flags], { cwd: workspace.path, env });
    assert.equal(code, 0, stderr);
    return stdout;
  };

  it("has the chart as text with --chart only", async (t) => {
    assert.doesNotMatch(await look(t, []), /flowchart|-->/);
    assert.match(await look(t, ["--chart"]), /^flowchart TD\n[^]*-->[^]*\njob j succeeded\n$/m);
  });
});

describe("what a terminal and the environment want", () => {
  const looks = (isTTY: boolean, environment: Readonly<Record<string, string>>): Looks =>
    createOutput(Object.assign(new PassThrough(), { isTTY }), process.stderr, environment).looks;
  const cases: [boolean, Readonly<Record<string, string>>, boolean, boolean][] = [
    [true, {}, true, true],
    [false, {}, false, false],
    [true, { TERM: "xterm" }, true, true],
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
