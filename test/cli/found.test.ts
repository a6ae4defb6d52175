/** Entries that are found by their names, from any folder of a repository. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { cliExits } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const entry = (run: string): string =>
  `models: { driving: m }\ntasks: {}\njobs: { j: { work: { kind: Run, run: ${run} } } }\n`;

async function repository(t: TestContext, more: Readonly<Record<string, string>> = {}) {
  const { path } = await makeWorkspace(t, {
    ".git/HEAD": "",
    ".github/agent-jobs/review.yml": entry("pwd"),
    ".github/agent-jobs/release.rehearsal.yml":
      "entry: review.yml\njob: j\nsessions: []\nexpect: { result: succeeded }\n",
    ".github/agent-jobs/prompts/part.md": "A part",
    ".github/agent-jobs/baseline.json": "{}",
    "src/deep/a.ts": "",
    ...more,
  });
  return { path, cwd: join(path, "src/deep") };
}

const flow = "# Workflow\n\n```mermaid\nflowchart TD\n    START --> SUCCESS\n```\n";
const others = {
  ".github/agent-jobs/triage.json": JSON.stringify({ models: {}, tasks: {}, jobs: {} }, null, 1),
  ".github/agent-jobs/flow.wf.md": flow,
  ".github/agent-jobs/look.prompt.md": "Look.",
};

describe("an entry", () => {
  it("is run by its name, in the root of the repository", async (t) => {
    const { path, cwd } = await repository(t);
    const { stdout } = await cliExits(0, "run review --verbose", { cwd });
    assert.ok(stdout.includes(`1 step in ${path}`), stdout);
    const own = ["run", "review", "--working-directory", "."];
    assert.ok((await cliExits(0, own, { cwd })).stdout.includes(`1 step in ${cwd}`));
  });

  it("is any kind of file that can be run", async (t) => {
    const { cwd } = await repository(t, others);
    for (const name of ["flow", "look"]) await cliExits(0, ["chart", name], { cwd });
    await cliExits(0, "validate flow look review", { cwd });
    assert.match((await cliExits(2, "chart triage", { cwd })).stderr, /triage\.json:/);
  });

  it("that isn't there is missed with the places where it was looked for", async (t) => {
    const { cwd } = await repository(t);
    const { stderr } = await cliExits(2, "run reveiw", { cwd });
    assert.equal(
      stderr,
      'agent-jobs: There is no entry "reveiw" (did you mean "review"?). Looked for a file reveiw here, and for reveiw.yml, reveiw.yaml, reveiw.json, reveiw.wf.md, reveiw.prompt.md in ../../.github/agent-jobs.\n',
    );
  });

  it("must be the only one of its name", async (t) => {
    const { cwd } = await repository(t, { ".github/agent-jobs/review.prompt.md": "Look." });
    const { stderr } = await cliExits(2, "run review", { cwd });
    assert.match(stderr, /Several entries are named review: .*review\.yml, .*review\.prompt\.md\./);
  });
});

describe("without a name", () => {
  it("the whole folder is listed, checked and rehearsed", async (t) => {
    const { cwd } = await repository(t, others);
    const place = "../../.github/agent-jobs";
    const validated = await cliExits(2, "validate", { cwd });
    const files = [...validated.stdout.matchAll(/^(\S+?):/gm)].map(([, file = ""]) => file);
    assert.deepEqual(
      [...new Set(files)],
      ["flow.wf.md", "look.prompt.md", "release.rehearsal.yml", "review.yml", "triage.json"].map(
        (name) => `${place}/${name}`,
      ),
    );
    const rehearsed = await cliExits(0, "rehearse", { cwd });
    assert.match(rehearsed.stdout, /release\.rehearsal\.yml \(j, .*\n1 passed, 0 failed/);
  });

  it("every entry is listed, and an only one alone", async (t) => {
    const { cwd } = await repository(t, { ".github/agent-jobs/look.prompt.md": "Look." });
    const { stdout } = await cliExits(0, "list", { cwd });
    assert.match(stdout, /^\S+look\.prompt\.md\nJOB .*\nprompt .*\n\n\S+review\.yml\nJOB .*\nj /);
    const json: unknown = JSON.parse((await cliExits(0, "list --json", { cwd })).stdout);
    assert.ok(Array.isArray(json) && json.length === 2);
  });

  it("a server needs to know which of several it serves", async (t) => {
    const { cwd } = await repository(t, others);
    const { stderr } = await cliExits(2, "serve --port 0", { cwd });
    assert.match(stderr, /has several entries: flow, look, review, triage\. Name one of them\./);
  });

  for (const command of ["list", "validate"])
    it(`${command} says where there is nothing`, async (t) => {
      const { path: cwd } = await makeWorkspace(t, {});
      const { stderr } = await cliExits(2, [command], { cwd });
      assert.match(stderr, /^agent-jobs: Name .*: there is none in \.github\/agent-jobs\.\n$/);
    });
});
