/** Rehearsal files that somebody wrote who means no good: they neither stop us nor start anything. */
import assert from "node:assert/strict";
import { access } from "node:fs/promises";
import { describe, it, type TestContext } from "node:test";
import { runCli, type CliResult } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const hung = "a".repeat(5000) + "b";
const entry = {
  models: { driving: "m" },
  tasks: { a: { model: { category: "driving" }, prompt: hung } },
  jobs: { job: { work: { kind: "Ref", taskId: "a" } } },
};

async function rehearse(t: TestContext, fields: object): Promise<CliResult> {
  const { path: cwd } = await makeWorkspace(t, {
    "e.json": JSON.stringify(entry),
    "r.json": JSON.stringify({ entry: "e.json", sessions: [{ turns: ["A"] }], ...fields }),
  });
  return runCli(["rehearse", "r.json"], { cwd });
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

describe("agent-jobs rehearse, with a hostile file", () => {
  it("answers for an expression that would backtrack, wherever it stands", async (t) => {
    const matches = "^(a+)+$";
    const { code, stdout } = await rehearse(t, {
      sessions: [{ turns: [{ prompt: { matches }, text: hung }] }],
      expect: {
        reason: { matches },
        result: "failed",
        decisions: { include: [{ matches }], exclude: [{ matches }] },
      },
    });
    assert.equal(code, 1, stdout);
    assert.ok(stdout.includes(`does not match /${matches}/`), stdout);
  });

  it("says where an expression is that takes more than linear time", async (t) => {
    const all = ["(?=a)b", "(?<!a)b", "^(a+)\\1$", "(?<n>a)\\k<n>"];
    const { code, stdout } = await rehearse(t, {
      sessions: all.map((matches) => ({ turns: [{ prompt: { matches }, text: "A" }] })),
    });
    assert.equal(code, 2, stdout);
    for (const index of all.keys()) {
      const place = `r\\.json:1:\\d+: rehearsal\\.sessions\\[${index}\\]\\.turns\\[0\\]\\.prompt\\.matches`;
      assert.match(stdout, new RegExp(`${place}: .*look-around and back-references`));
    }
  });

  const starter = (canary: string): string =>
    `[core]\n\tfsmonitor = "touch ${canary}; false"\n\thooksPath = .\n[gpg]\n\tprogram = ./evil\n` +
    `[commit]\n\tgpgSign = true\n[filter "f"]\n\tclean = "touch ${canary}; cat"\n`;
  it("starts nothing that .gitconfig or .config/git/config of the workspace names", async (t) => {
    const elsewhere = await makeWorkspace(t);
    const canary = `${elsewhere.path}/canary`;
    const evil = starter(canary);
    const homes = { ".gitconfig": evil, ".config/git/config": evil };
    const files = { ...homes, ".gitattributes": "* filter=f\n", "a.txt": "a" };
    const { code, stdout } = await rehearse(t, { workspace: { git: true, files } });
    assert.equal(code, 0, stdout);
    assert.equal(await isThere(canary), false);
  });

  it("starts nothing that a repository without a work tree names", async (t) => {
    const elsewhere = await makeWorkspace(t);
    const canary = `${elsewhere.path}/canary`;
    const { code, stdout } = await rehearse(t, {
      workspace: {
        git: true,
        files: {
          HEAD: "ref: refs/heads/main\n",
          config: starter(canary),
          "objects/info/packs": "",
          "refs/heads/x": "",
        },
      },
    });
    assert.equal(code, 0, stdout);
    assert.equal(await isThere(canary), false);
  });
});
