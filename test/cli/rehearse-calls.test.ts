/** A tool call of the script that fails or is denied is no detail: the script has to say so. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cliExits } from "../rig/cli.ts";
import { makeRepository, makeWorkspace } from "../rig/workspace.ts";
import { bash, calls, entryOf, scriptOf } from "./rig.ts";

type Call = object;

const permissions = { preset: "read-only", shell: ["false", "npm test && npm run lint"] };
const entry = entryOf({ permissions }, { prompt: "Say A, with job_boolean_true" });

const neverMatches = bash("npm test && npm run lint");
const fails = { name: "view", arguments: { path: "${workingDirectory}/nope.md" } };
const outside = { name: "view", arguments: { path: "/etc/hostname" } };
const nonZero = bash("false");
const works = { name: "view", arguments: { path: "${workingDirectory}/e.json" } };
const wrongJobTool = { name: "job_boolean_true", arguments: { reason: "x" } };

describe("the tool calls of a rehearsal", () => {
  const red: readonly (readonly [string, Call, RegExp])[] = [
    [
      "is denied",
      neverMatches,
      /"bash" was denied: "shell of npm test && npm run lint.*add "denied: true" to the call/,
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
  const green: readonly Call[] = [
    nonZero,
    { ...neverMatches, denied: true },
    { ...fails, fails: "does not exist" },
    // This is the text that the model reads.
    { ...fails, fails: "${workingDirectory}/nope.md does not exist" },
    works,
    { ...outside, fails: "outside the working directory" },
    { ...wrongJobTool, fails: "takes one parameter" },
    { name: "nonsense", unknown: true },
    { name: "view", arguments: '{"path":', fails: "" },
  ];
  it("make it red, each for its own reason, or green as the script says, in whatever order they end", async (t) => {
    const { path: cwd } = await makeWorkspace(t, {
      "e.json": entry,
      "red.json": scriptOf([calls(works, ...red.map(([, call]) => call)), "A"]),
      "green.json": scriptOf([calls(...green), "A"]),
    });
    const { stdout } = await cliExits(1, "rehearse red.json green.json", { cwd });
    assert.match(stdout, /^ok {4}green\.json/m);
    const at = /tools\[(\d)\] \(red\.json:1:\d+\): the call of (.*)/g;
    const reasons = new Map([...stdout.matchAll(at)].map(([, index, why]) => [index, why]));
    assert.equal(reasons.size, red.length, stdout);
    for (const [index, [what, , why]] of red.entries())
      assert.match(reasons.get(`${index + 1}`) ?? "", why, what);
  });

  it("of a sub-agent count too", async (t) => {
    const agent = { agent_type: "general-purpose", description: "d", name: "sub", prompt: "Do it" };
    const sub = (tools: readonly Call[]): string =>
      scriptOf([], {
        sessions: [
          { turns: [{ replies: [calls({ name: "task", arguments: agent }), "A"] }] },
          { subAgent: true, turns: [{ replies: [calls(...tools), "B"] }] },
        ],
      });
    const npm = bash("npm test");
    const { path: cwd } = await makeWorkspace(t, {
      "e.json": entryOf({ permissions: { preset: "all", shell: ["!npm *"] } }),
      "red.json": sub([fails, npm, works]),
      "green.json": sub([{ ...fails, fails: "not exist" }, { ...npm, denied: true }, works]),
    });
    const { stdout } = await cliExits(1, "rehearse red.json green.json", { cwd });
    assert.match(stdout, /sessions\[1\].*"view" failed: /);
    assert.match(stdout, /sessions\[1\].*"bash" was denied: /);
    assert.equal(stdout.match(/the call of/g)?.length, 2, stdout);
    assert.match(stdout, /^ok {4}green\.json/m);
  });

  it("are recorded with how they ended, and replay green", async (t) => {
    const workspace = await makeWorkspace(t, {
      "e.json": entry,
      "r.json": scriptOf([
        calls(
          works,
          neverMatches,
          fails,
          nonZero,
          { name: "nonsense", unknown: true },
          wrongJobTool,
          { name: "grep", arguments: { pattern: "(" } },
        ),
        "A",
      ]),
    });
    const options = { cwd: workspace.path };
    await cliExits(1, "run e.json --rehearse r.json --record made.rehearsal.yml", options);
    const made = await workspace.read("made.rehearsal.yml");
    assert.match(made, /result: succeeded/);
    assert.equal(made.match(/denied: true/g)?.length, 1, made);
    assert.equal(made.match(/fails: /g)?.length, 3, made);
    assert.equal(made.match(/unknown: true/g)?.length, 1, made);
    await cliExits(0, "rehearse made.rehearsal.yml", options);
  });

  it("are only possible where a session of the task has the tool, as in a real run", async (t) => {
    const fileOf = (name: string): string => scriptOf([calls({ name }), "A"]);
    const names = ["job_report", "job_boolean_true", "job_result", "job_propose", "view_all"];
    const files = Object.fromEntries(names.map((name) => [`${name}.json`, fileOf(name)]));
    const { path: cwd } = await makeWorkspace(t, { ...files, "e.json": entryOf() });
    const { stdout } = await cliExits(1, ["rehearse", ...Object.keys(files)], { cwd });
    const name = (tool: string): RegExp =>
      RegExp(
        `calls the tool "${tool}", which this session of task "a" doesn't offer.*: name ${tool} in the prompt, or in the criteria\\.`,
      );
    for (const tool of ["job_report", "job_boolean_true", "job_result", "job_propose"])
      assert.match(stdout, name(tool));
    assert.match(stdout, /"view_all", which this.*: [^:]*view[^:.]*\. \(To rehearse/);
  });

  it("propose what the task has changed, not the entry that isn't committed yet", async (t) => {
    const workspace = await makeRepository(t, { "a.txt": "a\n" });
    const outputs = { proposals: { pull_request: { paths: ["src/**"] } } };
    const more = { permissions: "workspace", outputs };
    await workspace.write("e.json", entryOf(more, { prompt: "Say A, then job_propose" }));
    await workspace.write("src/mine.txt", "mine\n");
    const proposal = { kind: "pull_request", title: "T", body: "B", branch: "b" };
    const turns = [
      calls(bash("echo b > src/b.txt")),
      calls({ name: "job_propose", arguments: proposal }),
      "A",
    ];
    const expect = { proposals: [{ kind: "pull_request", files: ["src/b.txt"] }] };
    await workspace.write("r.json", scriptOf(turns, { expect }));
    await cliExits(0, "rehearse r.json", { cwd: workspace.path });
  });

  it("are denied or fail, not both", async (t) => {
    const both = { ...fails, denied: true, fails: "x" };
    const files = { "e.json": entry, "r.json": scriptOf([calls(both), "A"]) };
    const { path: cwd } = await makeWorkspace(t, files);
    const { stdout } = await cliExits(2, "rehearse r.json", { cwd });
    assert.match(stdout, /tools\[0\]\.fails: A call that is "denied" does not run/);
  });
});
