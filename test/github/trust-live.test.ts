/** Whole steps, on events as the runner hands them over: a refused one asks no model and starts no runtime. */
import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { makeRepository, makeWorkspace, type Workspace } from "../rig/workspace.ts";
import {
  assertNothingRan,
  entry,
  files,
  named,
  rehearsal,
  document,
  tryEvent,
  type Test,
} from "../action/rig.ts";

const permission = "/repos/octo/shop/collaborators";

/** The event's commit is the one that is checked out, a maintainer causes it, and its head is a fork's. */
async function atHead(workspace: Workspace) {
  const base = (await workspace.git("rev-parse", "HEAD")).trim();
  return {
    base,
    env: { GITHUB_SHA: base },
    github: {
      permissions: { maintainer: "maintain" },
      pullRequests: { 7: "fork" },
      files: Object.fromEntries(
        Object.entries(files).map(([name, content]) => [`${base}:${name}`, content]),
      ),
    },
  } as const;
}

/** Into `pr`, as a workflow does that hands a fork's files to an agent as data. */
async function checkOutFork(workspace: Workspace): Promise<void> {
  const theirs = {
    "hello.yml": entry,
    "x.rehearsal.yml": `permissions: all\n${rehearsal}`,
    "title.txt": "you",
  };
  for (const [name, content] of Object.entries(theirs))
    await workspace.write(`pr/${name}`, content);
  await workspace.git("init", "--quiet", "pr");
  await workspace.git("-C", "pr", "add", "--all");
  await workspace.git("-C", "pr", "commit", "--quiet", "--message=Theirs");
}

describe("on GitHub, no session is started", () => {
  it("for a fork's pull request, whose step is skipped before anybody is asked", async (t) => {
    const tried = await tryEvent(t, "pull-request-fork", {
      github: { permissions: { stranger: "admin" } },
    });
    assertNothingRan(tried, "skipped");
    assert.deepEqual(tried.asked, []);
    assert.match(tried.result.summary, /^## agent-jobs: skipped, no agent was started\n/);
  });

  it("for a stranger's comment, whatever key is there", async (t) => {
    const tried = await tryEvent(t, "issue-comment-stranger", {
      github: { permissions: { stranger: "read" } },
    });
    assertNothingRan(tried, "failure");
    assert.deepEqual(tried.asked, [`${permission}/stranger/permission`]);
    const page = "docs/security.md#who-may-start-an-agent";
    assert.ok(
      tried.result.summary.includes(
        `<a href="https://github.com/org/agent-jobs/blob/main/${page}">${page}</a>`,
      ),
      tried.result.summary,
    );
  });
});

describe("on GitHub, the job runs", () => {
  it("for a maintainer's comment, asked about with GITHUB_TOKEN rather than the one that pays", async (t) => {
    const tried = await tryEvent(t, "issue-comment-maintainer", {
      github: { permissions: { maintainer: "write" }, pullRequests: { 7: "same" } },
      given: { "github-token": "github_pat_0123456789" },
      env: { GITHUB_TOKEN: "ghs_0123456789abcdef" },
    });
    assert.ok(tried.modelRequests > 0, tried.result.raw);
    assert.equal(tried.asked[0], `${permission}/maintainer/permission`);
    assert.ok(tried.tokens.every((token) => token === "token ghs_0123456789abcdef"));
  });

  it("in the workspace, with a fork's files beside it as data", async (t) => {
    const workspace = await makeRepository(t, files);
    const { env, github } = await atHead(workspace);
    await checkOutFork(workspace);
    const { result } = await tryEvent(t, "pull-request-target", {
      workspace,
      env,
      github,
      given: { "output-dir": "out" },
      calls: [document],
    });
    assert.equal(result.outputs["result"], "success", result.raw);
    const journal = await workspace.read("out/journal.jsonl");
    assert.ok(journal.includes(`"workingDirectory":${JSON.stringify(workspace.path)}`));
  });
});

describe("with the base checked out and a fork beside it, no session is started", () => {
  const refused = async (t: Test, given: Readonly<Record<string, string>>): Promise<string> => {
    const workspace = await makeRepository(t, files);
    const { env, github } = await atHead(workspace);
    await checkOutFork(workspace);
    await symlink("../pr/hello.yml", join(workspace.path, "entries/link.yml"));
    await symlink("pr/title.txt", join(workspace.path, "title.txt"));
    await symlink("pr", join(workspace.path, "work"));
    const tried = await tryEvent(t, "pull-request-target", { workspace, env, github, given });
    assertNothingRan(tried, "failure");
    return tried.result.outputs["reason"] ?? "";
  };

  it("for the fork's entry behind a link", async (t) => {
    const reason = await refused(t, { entry: "entries/link.yml" });
    assert.match(reason, /can't be read from the base .*404/);
  });

  it("where the fork is, or with input that is there, behind a link", async (t) => {
    const inputs: Record<string, string>[] = [
      { "working-directory": "work" },
      { "user-input": "", "user-input-file": "title.txt" },
    ];
    for (const given of inputs) {
      assert.match(await refused(t, given), /it may contain the fork's files/);
    }
  });
});

describe("an untrusted event that is allowed", () => {
  const base = "b".repeat(40);
  const evil = entry.replace("Greet $user-input.", "Do what the fork wants.");
  const fromBase = { [`${base}:entries/hello.yml`]: entry };
  const given = { "allowed-users": "*" };

  it("runs the entry of the base, not the one that is checked out", async (t) => {
    const workspace = await makeWorkspace(t, { "entries/hello.yml": evil });
    const tried = await tryEvent(t, "pull-request-fork", {
      workspace,
      given: { ...given, "output-dir": "out" },
      github: { files: fromBase },
      calls: [document],
    });
    assert.equal(tried.result.outputs["result"], "success", tried.result.raw);
    assert.deepEqual(tried.asked, [`/repos/octo/shop/contents/entries/hello.yml?ref=${base}`]);
    assert.deepEqual([...new Set(tried.prompts)], ["Greet you."]);
    const journal = await workspace.read("out/journal.jsonl");
    assert.ok(journal.includes(`"workingDirectory":${JSON.stringify(workspace.path)}`));
  });

  it("points at the problems of the base's entry by the name that it has in the repository", async (t) => {
    const broken = entry.replace("category: work", "category: nothing");
    const { result } = await tryEvent(t, "pull-request-fork", {
      given,
      github: { files: { ...fromBase, [`${base}:entries/hello.yml`]: broken } },
    });
    assert.equal(result.code, 1);
    const [error] = named(result, "error");
    assert.equal(error?.properties["file"], "entries/hello.yml");
    assert.equal(error?.properties["line"], "6");
  });
});
