/** A tool call of the script that fails or is denied is no detail: the script has to say so. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { runCli, type CliResult } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";

type Call = Readonly<Record<string, unknown>>;

const permissions = { preset: "read-only", shell: ["false", "npm test && npm run lint"] };
const entry = {
  models: { driving: "gpt-5-mini" },
  permissions,
  tasks: { a: { model: { category: "driving" }, prompt: "Say A" } },
  jobs: { job: { work: { kind: "Ref", taskId: "a" } } },
};

const neverMatches = {
  name: "bash",
  arguments: { command: "npm test && npm run lint", description: "d" },
};
const fails = { name: "view", arguments: { path: "${workingDirectory}/nope.md" } };
const outside = { name: "view", arguments: { path: "/etc/hostname" } };
const nonZero = { name: "bash", arguments: { command: "false", description: "d" } };
const works = { name: "view", arguments: { path: "${workingDirectory}/e.json" } };
const wrongJobTool = { name: "job_boolean_true", arguments: { reason: "x" } };

function scriptOf(calls: readonly Call[]): string {
  return JSON.stringify({
    entry: "e.json",
    sessions: [{ turns: [{ replies: [{ tools: calls }, "A"] }] }],
  });
}

async function rehearse(t: TestContext, calls: readonly Call[]): Promise<CliResult> {
  const workspace = await makeWorkspace(t, {
    "e.json": JSON.stringify(entry),
    "r.json": scriptOf(calls),
  });
  return runCli(["rehearse", "r.json"], { cwd: workspace.path });
}

const at = (file: string): string =>
  String.raw`sessions\[0\]\.turns\[0\]\.replies\[0\]\.tools\[\d\] \(${file}:1:\d+\): the call of `;

describe("the tool calls of a rehearsal", () => {
  const red: readonly (readonly [string, Call, RegExp])[] = [
    [
      "is denied",
      neverMatches,
      /"bash" was denied: "shell of npm test && npm run lint.*add "denied: true" to the call/s,
    ],
    ["fails", fails, /"view" failed: "Path does not exist"\. .*add "fails: TEXT" to the call/],
    ["is a job tool with wrong arguments", wrongJobTool, /"job_boolean_true" failed: "job_boolean/],
    ["has arguments that are no JSON", { name: "view", arguments: '{"path":' }, /"view" failed: /],
    ["fails otherwise", { ...fails, fails: "no space" }, /failed with "no space", but its error/],
    ["fails, not denied", { ...fails, denied: true }, /been denied, but it failed: "Path does/],
    ["works, not denied", { ...works, denied: true }, /been denied, but it succeeded/],
    ["exits with 1, which is no failure", { ...nonZero, fails: "x" }, /but it succeeded/],
    ["is known after all", { ...works, unknown: true }, /should have failed, but it succeeded/],
  ];
  it("make it red, each for its own reason", async (t) => {
    const scripts = red.map(
      ([, call], index) => [`${index}.json`, scriptOf([works, call])] as const,
    );
    const workspace = await makeWorkspace(t, {
      "e.json": JSON.stringify(entry),
      ...Object.fromEntries(scripts),
    });
    const { code, stdout } = await runCli(["rehearse", ...scripts.map(([name]) => name)], {
      cwd: workspace.path,
    });
    assert.equal(code, 1, stdout);
    const results = stdout.split(/^(?=FAIL|ok)/m);
    for (const [index, [what, , why]] of red.entries()) {
      const result = results[index] ?? "";
      assert.match(result, new RegExp(`^FAIL  ${index}\\.json`), what);
      assert.match(result, new RegExp(`${at(`${index}.json`)}.*${why.source}`, "s"), what);
    }
  });

  it("are green as the script says, in whatever order they end", async (t) => {
    const { code, stdout } = await rehearse(t, [
      { name: "bash", arguments: { command: "false", description: "d" } },
      { ...neverMatches, denied: true },
      { ...fails, fails: "does not exist" },
      // As the model reads it.
      { ...fails, fails: "${workingDirectory}/nope.md does not exist" },
      works,
      { ...outside, fails: "outside the working directory" },
      { ...wrongJobTool, fails: "takes one parameter" },
      { name: "nonsense", unknown: true },
      { name: "view", arguments: '{"path":', fails: "" },
    ]);
    assert.equal(code, 0, stdout);
  });

  it("of a sub-agent count too", async (t) => {
    const sub = (calls: readonly Call[]): object => ({
      entry: "e.json",
      sessions: [
        {
          turns: [
            {
              replies: [
                {
                  tools: [
                    {
                      name: "task",
                      arguments: {
                        agent_type: "general-purpose",
                        description: "d",
                        name: "sub",
                        prompt: "Do it",
                      },
                    },
                  ],
                },
                "A",
              ],
            },
          ],
        },
        { subAgent: true, turns: [{ replies: [{ tools: calls }, "B"] }] },
      ],
    });
    const npm = { name: "bash", arguments: { command: "npm test", description: "d" } };
    const workspace = await makeWorkspace(t, {
      "e.json": JSON.stringify({ ...entry, permissions: { preset: "all", shell: ["!npm *"] } }),
      "red.json": JSON.stringify(sub([fails, npm, works])),
      "green.json": JSON.stringify(
        sub([{ ...fails, fails: "not exist" }, { ...npm, denied: true }, works]),
      ),
    });
    const options = { cwd: workspace.path };
    const red = await runCli(["rehearse", "red.json"], options);
    assert.equal(red.code, 1, red.stdout);
    assert.match(red.stdout, /sessions\[1\].*"view" failed: /);
    assert.match(red.stdout, /sessions\[1\].*"bash" was denied: /);
    assert.equal(red.stdout.match(/the call of/g)?.length, 2, red.stdout);
    const green = await runCli(["rehearse", "green.json"], options);
    assert.equal(green.code, 0, green.stdout);
  });

  it("are recorded with how they ended, and replay green", async (t) => {
    const workspace = await makeWorkspace(t, {
      "e.json": JSON.stringify(entry),
      "r.json": JSON.stringify({
        entry: "e.json",
        sessions: [
          {
            turns: [
              {
                replies: [
                  {
                    tools: [
                      works,
                      neverMatches,
                      fails,
                      nonZero,
                      { name: "nonsense", unknown: true },
                      wrongJobTool,
                      { name: "grep", arguments: { pattern: "(" } },
                    ],
                  },
                  "A",
                ],
              },
            ],
          },
        ],
      }),
    });
    const options = { cwd: workspace.path };
    const run = await runCli(
      ["run", "e.json", "--rehearse", "r.json", "--record", "made.rehearsal.yml"],
      options,
    );
    assert.equal(run.code, 1, run.stdout);
    const made = await workspace.read("made.rehearsal.yml");
    assert.match(made, /result: succeeded/);
    assert.equal(made.match(/denied: true/g)?.length, 1, made);
    assert.equal(made.match(/fails: /g)?.length, 3, made);
    assert.equal(made.match(/unknown: true/g)?.length, 1, made);
    const replay = await runCli(["rehearse", "made.rehearsal.yml"], options);
    assert.equal(replay.code, 0, replay.stdout + made);
  });

  it("are denied or fail, not both", async (t) => {
    const { code, stdout } = await rehearse(t, [{ ...fails, denied: true, fails: "x" }]);
    assert.equal(code, 2, stdout);
    assert.match(stdout, /tools\[0\]\.fails: A call that is "denied" does not run/);
  });
});
