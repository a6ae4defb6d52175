import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { PassThrough } from "node:stream";
import { text as readAll } from "node:stream/consumers";
import { describe, it, test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { createOutput, type Looks, type Output } from "../../src/cli/process.ts";
import { anyCharacter } from "../rig/any-character.ts";
import { type CliChild, runCli, startCli } from "../rig/cli.ts";
import { commandLine } from "../rig/dist.ts";
import { holds } from "../rig/fuzz.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";
import { bash, calls, entryOf, scriptOf } from "./rig.ts";

const entry = entryOf({ permissions: "all" });
const run = ["run", "e.json", "--rehearse", "r.json", "--in-place"];

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
      "e.json": entry,
      "r.json": scriptOf([calls(bash("until [ -e go ]; do sleep 0.1; done")), done]),
    });
    const files = ["--journal", "j.jsonl", "--record", "r.yml"];
    const child = startCli([...run, ...files], { cwd: workspace.path });
    await workspace.holds("j.jsonl", "until");
    // Only this process: the runtime writes files of its own.
    execFileSync("prlimit", ["--pid", String(child.pid), "--fsize=400"]);
    await workspace.write("go", "");
    const { code, stdout, stderr } = await child.ended;
    assert.match(stdout, /^job job succeeded \(rehearsal\), but the exit code is 1: the /m);
    assert.match(stderr, /warning: the journal is incomplete: .*after \d+ lines: EFBIG/);
    assert.match(stderr, /warning: the recording is incomplete: .*EFBIG/);
    assert.equal(code, 1);
  });
});

describe("a reader of stdout that stalls", () => {
  const lines = 1_500;

  /** A workflow that prints more than a pipe holds, and then runs the command. Its output is not read. */
  async function stalled(t: TestContext, command: string): Promise<CliChild & Workspace> {
    const chart = workflowText(`START --> EXECUTE_A["sh lots.sh"] --> EXECUTE_B["${command}"]`);
    const settings = "permissions: { shell: true }\nlimits: { outputCharacters: 1000000 }";
    const workspace = await makeWorkspace(t, {
      "lots.sh": `seq -f "line %.0f $(printf %0200d 0)" ${lines}`,
      "a.wf.md": `---\n${settings}\n---\n${chart}`,
    });
    const args = ["run", "a.wf.md", "--verbose", "--journal", "j.jsonl"];
    const child = startCli(args, { cwd: workspace.path });
    child.pauseOutput();
    return { ...workspace, ...child };
  }

  it("loses nothing when it goes on, after the run has ended", async (t) => {
    const child = await stalled(t, "true");
    await child.holds("j.jsonl", '"type":"run.ended"');
    // Over the second that a process had to end, and over what a pipe holds.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    child.resumeOutput();
    const { code, stdout, stderr } = await child.ended;
    assert.equal(code, 0, `${stdout.slice(-2000)}${stderr}`);
    assert.ok(stdout.length > 250_000, `${stdout.length}`);
    assert.equal(stdout.trimEnd().split("\n").at(-1), "job a.wf.md succeeded");
    // A piece of the output may end within a line; a space at its end is not shown.
    const whole = stdout.replaceAll(/\n.* \| /g, "").replaceAll(" ", "");
    const numbers = Array.from({ length: lines }, (_, index) => index + 1);
    const zeros = "0".repeat(200);
    const missing = numbers.filter((number) => !whole.includes(`line${number}${zeros}`));
    assert.deepEqual(missing, []);
  });

  it("does not hold up a cancel, and is told what it lost", async (t) => {
    const child = await stalled(t, "sleep 3000");
    await child.holds("j.jsonl", '"activity":"EXECUTE_B"');
    child.signal("SIGINT");
    assert.equal(await child.exited, 130);
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
    sessions: evil.map((task, index) => ({
      task,
      turns: [
        {
          replies: [
            { text: evil.join("\n"), ...(index === 0 && calls(bash("echo '::error::x'"))) },
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
    assert.doesNotMatch(stdout, /flowchart|-->/);
    // Invisible characters may stand anywhere.
    const seen = `${stdout}\n${stderr}`.replace(/[^\P{Cc}\n\r]|[\p{Cf}\p{Mn}\uFFFD]/gu, "");
    for (const line of seen.split(/\r\n|\r|\n/)) assert.doesNotMatch(line, /^\s*::|##\[/u, line);
  });

  it("no line is a command, and none holds a secret: an error that nothing catches", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "throws.cjs": `process.on("SIGUSR2", () => { throw new Error("x\\n::error::y\\n" + process.env.MY_TOKEN); });`,
    });
    const child = startCli("serve --port 0", {
      cwd,
      env: {
        GITHUB_ACTIONS: "true",
        MY_TOKEN: "##[error]hunter2-hunter2",
        NODE_OPTIONS: `--require=${cwd}/throws.cjs`,
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
  const files = { "e.json": entry, "r.json": scriptOf([{ text: "done" }]) };
  const { path: cwd } = await makeWorkspace(t, files);
  const { stdout } = await runCli([...run, "--chart"], { cwd });
  assert.match(stdout, /^flowchart TD\n[^]*-->[^]*\njob job succeeded \(rehearsal\)\n$/m);
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

// The command line's own output has no control sequence, no secret, no workflow command.

const secret = "hunter2-hunter2";

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

async function printed(
  { isTTY = false, inActions = false },
  print: (output: Output) => unknown,
): Promise<Printed> {
  const stdout = Object.assign(new PassThrough(), { isTTY });
  let stderr = "";
  const output = createOutput(
    stdout,
    { write: (text: string) => (stderr += text) },
    { DB_PWD: secret, ...(inActions ? { GITHUB_ACTIONS: "true" } : {}) },
  );
  const read = readAll(stdout);
  await print(output);
  await output.end(1000);
  stdout.end();
  return { stdout: await read, stderr };
}

const part = fc.oneof(
  fc.constantFrom(
    secret,
    "\n",
    "\r",
    "\t",
    "::error::x",
    "##[error]x",
    "\u001b]8;;http://a.b\u001b\\link",
    "\u001b]52;c;aGk=\u0007",
    "\u001bP1$r\u001b\\",
    "\u001b[200~pasted\u001b[201~",
    "\u001b[2J\u001b[1;1H",
    "\u001b[?1049h",
    "\u009b2J",
    "\u009d0;title\u009c",
    "\u001bc",
    "\u202e",
    "\u2066",
    "\u200f",
    "\u0007",
    "\b\b\b",
    "\ud83d",
  ),
  fc.string({ unit: anyCharacter, maxLength: 6 }),
);
const hostile = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(""));

/** Each way of printing, with what is foreign in it. */
const ways: readonly (readonly [string, (output: Output, text: string) => unknown])[] = [
  ["print", (output, text) => output.print(text)],
  ["printError", (output, text) => output.printError(text)],
  ["printData", (output, text) => output.printData(text)],
  ["printJson", (output, text) => output.printJson({ [text]: [text] })],
  ["printFile", (output, text) => output.printFile([text])],
];

for (const [name, print] of ways) {
  test(`on a terminal, nothing that is printed moves the cursor or reorders text: ${name}`, async (t) => {
    const property = fc.asyncProperty(hostile, async (text) => {
      const { stdout, stderr } = await printed({ isTTY: true }, (output) => print(output, text));
      assert.doesNotMatch(
        stdout + stderr,
        /[^\P{Cc}\n]|[\u061C\u200E\u200F\u2028-\u202E\u2060-\u206F]|\p{Surrogate}/u,
      );
    });
    await holds(t, property, 100);
  });

  if (name === "printFile") continue;
  test(`no secret of the environment is printed: ${name}`, async () => {
    const { stdout, stderr } = await printed({}, (output) => print(output, `a ${secret}\nb`));
    assert.match(stdout + stderr, /a \*\*\*/);
    assert.doesNotMatch(stdout + stderr, /hunter2/);
  });

  test(`in GitHub Actions, no line is a command: ${name}`, async (t) => {
    const property = fc.asyncProperty(hostile, async (text) => {
      const { stdout, stderr } = await printed({ inActions: true }, (output) =>
        print(output, text),
      );
      const seen = `${stdout}\n${stderr}`.replace(/[^\P{Cc}\n\r]|[\p{Cf}\p{Mn}\uFFFD]/gu, "");
      for (const line of seen.split(/\r\n|\r|\n/)) assert.doesNotMatch(line, /^\s*::|##\[/u);
    });
    await holds(t, property, 100);
  });
}

test("on a pipe, data keeps its control characters, and JSON is the same JSON", async () => {
  const text = "a\tb\u001b[31mred\u009b\u202e";
  assert.equal((await printed({}, (output) => output.printData(text))).stdout, `${text}\n`);
  for (const [inActions, data] of [
    [false, text],
    [true, "::error::x\n##[error]x\r::notice::x"],
  ] as const) {
    const { stdout } = await printed({ inActions }, (output) => output.printJson([data]));
    assert.deepEqual(JSON.parse(stdout), [data]);
  }
});

test("what is meant as a command has no secret, control sequence or second command in it", async () => {
  const { stdout } = await printed({ inActions: true }, (output) =>
    output.printCommand(`::error file=a::before ${secret} \u001b[2J ##[error]x \u202e after`),
  );
  assert.match(stdout, /^::error file=a::before .* after\n$/u);
  assert.ok(!stdout.includes(secret) && !stdout.includes("##["), stdout);
  // eslint-disable-next-line no-control-regex
  assert.doesNotMatch(stdout, /[\u001b\u202e]/u);
});
