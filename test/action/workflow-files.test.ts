/** Whole steps with workflows: which commit their files come from, and what they are given. */
import assert from "node:assert/strict";
import { readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { GithubServerOptions } from "../rig/github-server.ts";
import { makeRepository, type Workspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";
import { assertNothingRan, tryEvent, type Test, type Tried } from "./rig.ts";

/** Runs what it calls in the shell, and puts together what it includes and reads. */
const main = `---
permissions: { shell: [touch *], write: ["**"] }
---
${workflowText(
  `PARAMS["NOTE=file:../docs/note.md"]
  START --> CALL_A[["../lib/called.wf.md"]] --> SET_B["TEXT={{Note}} {{NOTE}} {{GIVEN}}"] --> ASSIGN_C["{{TEXT}}"] --> SUCCESS`,
)}
`;
const files = {
  "flows/main.wf.md": main,
  "lib/called.wf.md": workflowText(
    'START --> EXECUTE_A["touch ran-base"] --> CALL_B[[deep.wf.md]]',
  ),
  "lib/deep.wf.md": workflowText('START --> EXECUTE_A["touch ran-deep-base"]'),
  "docs/note.md": "note of the base",
};
const theirs = {
  "lib/called.wf.md": workflowText('START --> EXECUTE_A["touch evil"] --> CALL_B[[new.wf.md]]'),
  "lib/new.wf.md": workflowText('START --> EXECUTE_A["touch evil-new"]'),
  "lib/deep.wf.md": workflowText('START --> EXECUTE_A["touch evil-deep"]'),
  "docs/note.md": "evil note",
  "docs/given.md": "evil gift",
};
const entry = `models: { driving: m }
tasks: {}
permissions: { shell: [touch *], write: ["**"] }
jobs:
  a: { work: { kind: Flow, file: ../flows/main.wf.md } }
  b: { work: { kind: Flow, file: ../lib/called.wf.md } }
`;

/** The work tree is the fork's; GitHub has the base. */
async function forked(t: Test, base: Readonly<Record<string, string>> = files) {
  const workspace = await makeRepository(t, base);
  const sha = (await workspace.git("rev-parse", "HEAD")).trim();
  await workspace.git("checkout", "--quiet", "-b", "fork");
  for (const [name, text] of Object.entries(theirs)) await workspace.write(name, text);
  await workspace.git("add", ".");
  await workspace.git("commit", "--quiet", "--message=Theirs");
  const github = {
    permissions: { maintainer: "write", stranger: "write" },
    files: Object.fromEntries(Object.entries(base).map(([name, text]) => [`${sha}:${name}`, text])),
  };
  const step = (
    more: Readonly<Record<string, string>> = {},
    api: GithubServerOptions = {},
  ): Promise<Tried> =>
    tryEvent(t, "workflow-dispatch", {
      workspace,
      env: { GITHUB_SHA: sha },
      github: { ...github, ...api },
      given: { entry: "flows/main.wf.md", "output-dir": "out", ...more },
    });
  return { workspace, step };
}

const ran = async ({ path }: Workspace): Promise<string[]> =>
  (await readdir(path)).filter((name) => /^(?:ran|evil)/.test(name)).sort();

/** Exactly the files of the base have run. */
async function assertBase(workspace: Workspace, { result }: Tried): Promise<void> {
  assert.equal(result.outputs["result"], "success", result.raw);
  assert.deepEqual(await ran(workspace), ["ran-base", "ran-deep-base"]);
  assert.doesNotMatch(await workspace.read("out/journal.jsonl"), /evil/);
}

describe("the files of a workflow", () => {
  it("are those of GITHUB_SHA, however far they are called, where another commit is checked out", async (t) => {
    const { workspace, step } = await forked(t);
    const tried = await step();
    await assertBase(workspace, tried);
    assert.match(await workspace.read("out/journal.jsonl"), /note of the base/);
    assert.deepEqual(
      tried.asked.map((path) => path.replace(/.*contents\/(.*)\?ref=.*/, "$1")).sort(),
      ["docs/note.md", "flows/main.wf.md", "lib/called.wf.md", "lib/deep.wf.md"],
    );
  });

  it("are those of GITHUB_SHA for the parameters of a workflow in a job", async (t) => {
    const named = entry.replace(
      "main.wf.md",
      "main.wf.md, params: { GIVEN: 'file:../docs/given.md', MORE: 'file:../docs/$user-input.md' }",
    );
    const base = { ...files, "docs/given.md": "given by the base", "entries/e.yml": named };
    const { workspace, step } = await forked(t, base);
    const tried = await step({ entry: "entries/e.yml", job: "a", "user-input": "given" });
    await assertBase(workspace, tried);
    assert.match(await workspace.read("out/journal.jsonl"), /given by the base/);
    assert.ok(tried.asked.some((path) => path.includes("contents/docs/given.md")));
  });

  it("are those of GITHUB_SHA for the prompts of an entry, too", async (t) => {
    const prompts = entry
      .replace(
        "tasks: {}",
        "tasks: { t: { model: { category: driving }, prompt: { file: p.md } } }",
      )
      .replace("b: {", "t: { work: { kind: Ref, taskId: t } }\n  b: {");
    const base = { ...files, "entries/e.yml": prompts, "entries/p.md": "prompt of the base" };
    const { workspace, step } = await forked(t, base);
    await workspace.write("entries/p.md", "evil prompt");
    const tried = await step({ entry: "entries/e.yml", job: "t" });
    assert.deepEqual(tried.prompts, ["prompt of the base"], tried.result.raw);
    assert.ok(tried.asked.some((path) => path.includes("contents/entries/p.md")));
  });

  it("are not run if the commit lacks one, or GitHub does not show it", async (t) => {
    const { "lib/deep.wf.md": _, ...incomplete } = files;
    const { workspace, step } = await forked(t, incomplete);
    const { result } = await step();
    assert.equal(result.outputs["result"], "failure", result.raw);
    assert.match(result.outputs["reason"] ?? "", /There is no file "deep\.wf\.md"/);
    assert.match(result.log, /Not at the base, .*: lib\/deep\.wf\.md/);
    const broken = [undefined, { status: 403 }, { status: 403 }];
    assertNothingRan(await step({}, { broken }), "failure");
    assert.deepEqual(await ran(workspace), []);
  });

  it("are not those of a second checkout, by its name or through a link", async (t) => {
    for (const link of [false, true]) {
      const call = link ? "called.wf.md" : "../pr/lib/called.wf.md";
      const base = {
        "flows/main.wf.md": main.replace("../lib/called.wf.md", call),
        "docs/note.md": "note",
      };
      const { workspace, step } = await forked(t, base);
      await workspace.git("checkout", "--quiet", "main");
      await workspace.git("worktree", "add", "--quiet", "pr", "fork");
      if (link) {
        await symlink("../pr/lib/called.wf.md", join(workspace.path, "flows/called.wf.md"));
      }
      const { result } = await step();
      assert.equal(result.outputs["result"], "failure", result.raw);
      assert.match(result.outputs["reason"] ?? "", /There is no file/);
      assert.doesNotMatch((await ran(workspace)).join(), /evil/);
    }
  });

  it("are not read out of their repository, nor where credentials are", async (t) => {
    const { workspace, step } = await forked(t);
    await workspace.git("checkout", "--quiet", "main");
    await workspace.write("deploy/.env", "KEY=hunter2hunter2");
    for (const path of ["../.git/config", "../deploy/.env", "../../../etc/passwd"]) {
      const { result } = await step({ inputs: `NOTE=file:${path}` });
      assert.equal(result.outputs["result"], "failure", result.raw);
      assert.doesNotMatch(
        await workspace.read("out/journal.jsonl"),
        /hunter2|repositoryformat|root:/,
      );
    }
  });

  it("are not continued from a journal of an untrusted work tree", async (t) => {
    const { workspace, step } = await forked(t);
    await workspace.write("old.jsonl", "");
    const tried = await step({ resume: "old.jsonl" });
    assertNothingRan(tried, "failure");
    assert.match(tried.result.outputs["reason"] ?? "", /`resume` names a journal.*untrusted files/);
  });
});
