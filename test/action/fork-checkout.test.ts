/** Whole steps in a work tree that may be a fork's: none of its files says what is run, none of its programs is started. */
import assert from "node:assert/strict";
import { chmod, readFile, symlink } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { describe, it } from "node:test";
import type { GithubServerOptions } from "../rig/github-server.ts";
import { bash } from "../rig/model-server.ts";
import { makeRepository, makeWorkspace, type Workspace } from "../rig/workspace.ts";
import {
  assertNothingRan,
  document,
  entry,
  files,
  tryEvent,
  type Test,
  type Tried,
} from "./rig.ts";

const evil = entry.replace("models:", "permissions: all\nmodels:").replace("Greet", "Obey");
const maintainer = { permissions: { maintainer: "write", stranger: "write" } } as const;

/** The dispatch came for a commit of the default branch; then a step has checked out a fork's. */
async function slashCommand(t: Test): Promise<{
  readonly workspace: Workspace;
  readonly env: { readonly GITHUB_SHA: string };
  readonly github: GithubServerOptions;
}> {
  const workspace = await makeRepository(t, files);
  const base = (await workspace.git("rev-parse", "HEAD")).trim();
  await workspace.git("checkout", "--quiet", "-b", "fork");
  await workspace.write("entries/hello.yml", evil);
  const theirs = "entry: hello.yml\nsessions: []\n";
  await workspace.write("entries/hello.rehearsal.yml", theirs);
  await workspace.git("commit", "--quiet", "--all", "--message=Theirs");
  const named = Object.entries(files).map(([name, text]) => [`${base}:${name}`, text] as const);
  return {
    workspace,
    env: { GITHUB_SHA: base },
    github: { ...maintainer, files: Object.fromEntries(named) },
  };
}

describe("where a step before us has checked out another commit", () => {
  it("the entry is that of GITHUB_SHA, or nothing runs", async (t) => {
    const { workspace, env, github } = await slashCommand(t);
    const options = { workspace, env, calls: [document] };
    const tried = await tryEvent(t, "workflow-dispatch", { ...options, github });
    assert.equal(tried.result.code, 0, tried.result.raw);
    assert.equal(tried.result.outputs["reported-document"], "docs/greeting.md");
    assert.deepEqual([...new Set(tried.prompts)], ["Greet you."]);
    const without = await tryEvent(t, "workflow-dispatch", { ...options, github: maintainer });
    assertNothingRan(without, "failure");
    assert.match(
      without.result.outputs["reason"] ?? "",
      /hello\.yml can't be read from the base .*404.*`contents: read`.*actions\/checkout without `ref`/,
    );
  });

  it("a work tree that git did not make is not believed either", async (t) => {
    const workspace = await makeWorkspace(t, { "entries/hello.yml": evil });
    const { env, github } = await slashCommand(t);
    const options = { workspace, env, github, checkedOut: false, calls: [document] } as const;
    const tried = await tryEvent(t, "workflow-dispatch", options);
    assert.deepEqual([...new Set(tried.prompts)], ["Greet you."], tried.result.raw);
  });

  it("no rehearsal is run, because its files may be theirs", async (t) => {
    const { workspace, env, github } = await slashCommand(t);
    const given = { files: "entries/hello.rehearsal.yml" };
    const tried = await tryEvent(t, "workflow-dispatch", { workspace, env, github, given });
    assertNothingRan(tried, "failure");
    assert.match(tried.result.outputs["reason"] ?? "", /^Rehearsals are read from the workspace/);
  });

  it("an entry in a second checkout is read under the name that the repository has for it", async (t) => {
    const { workspace, env, github } = await slashCommand(t);
    await workspace.git("checkout", "--quiet", "main");
    await workspace.git("worktree", "add", "--quiet", "pr", "fork");
    const inputs: Record<string, string>[] = [
      { entry: "pr/entries/hello.yml" },
      { "working-directory": "pr" },
    ];
    for (const given of inputs) {
      const tried = await tryEvent(t, "workflow-dispatch", {
        workspace,
        env,
        github,
        given,
        calls: [document],
      });
      assert.equal(tried.result.outputs["reported-document"], "docs/greeting.md", tried.result.raw);
      assert.deepEqual([...new Set(tried.prompts)], ["Greet you."]);
      assert.deepEqual(tried.asked, [
        `/repos/octo/shop/contents/entries/hello.yml?ref=${env.GITHUB_SHA}`,
      ]);
    }
  });

  it("no runtime of the work tree is started, by its name or through a link", async (t) => {
    const { workspace, env, github } = await slashCommand(t);
    await chmod(await workspace.write("bin/runtime", "#!/bin/sh\n"), 0o755);
    await symlink(process.execPath, join(workspace.path, "bin/link"));
    const variables: Record<string, string>[] = [
      { AGENT_JOBS_RUNTIME_PATH: "bin/runtime" },
      { COPILOT_CLI_PATH: "bin/link" },
    ];
    for (const more of variables) {
      const tried = await tryEvent(t, "workflow-dispatch", {
        workspace,
        github,
        env: { ...env, ...more },
      });
      assertNothingRan(tried, "failure");
      assert.match(tried.result.outputs["reason"] ?? "", /leads into the workspace/);
    }
  });
});

/** Every program that we, npm, tar or the Copilot runtime might start. */
const programs =
  "git npm npx node tar gzip bash sh dash zsh env rg grep ps pgrep pkill gh which uname id getconf ldd cat tr sleep sed stty locale hostname secret-tool dbus-launch xdg-open python3 make tput";

/** Plants programs that record how they were started and which environment they saw. */
async function plantPrograms(workspace: Workspace, folder: string): Promise<string> {
  const canary = join(workspace.path, "canary");
  for (const name of programs.split(" ")) {
    const text = `#!/bin/bash\necho ${name} "$@" >> '${canary}'\n/usr/bin/tr '\\0' '\\n' < /proc/$PPID/environ >> '${canary}'\n`;
    await chmod(await workspace.write(join(folder, name), text), 0o755);
  }
  return canary;
}

it("programs of the work tree are never started, though a link to them is first in PATH", async (t) => {
  const { workspace, env, github } = await slashCommand(t);
  const { path } = workspace;
  const holder = await makeWorkspace(t);
  await symlink(path, join(holder.path, "link"));
  const canary = await plantPrograms(workspace, "bin");
  const PATH = [join(holder.path, "link/bin"), process.env["PATH"]].join(delimiter);
  const assertNoneRan = async ({ result }: Tried): Promise<void> => {
    const seen = await readFile(canary, "utf8").catch(() => "");
    assert.equal(seen, "", result.raw);
  };
  const fork = await tryEvent(t, "pull-request-target", {
    workspace,
    env: { ...env, PATH },
    github,
  });
  assertNothingRan(fork, "failure");
  await assertNoneRan(fork);
  // With an agent that uses a shell, on what is trusted: the runtime itself runs git, and so may the agent.
  await workspace.git("checkout", "--quiet", "--force", "main");
  await workspace.write("entries/hello.yml", `permissions: all\n${entry}`);
  const trusted = await tryEvent(t, "workflow-dispatch", {
    workspace,
    env: { ...env, PATH },
    calls: [
      bash("git status; tr a b < /dev/null; echo $PATH"),
      { name: "grep", arguments: { pattern: "x" } },
      document,
    ],
  });
  assert.equal(trusted.result.code, 0, trusted.result.raw);
  assert.match(trusted.result.log, /On branch main/);
  await assertNoneRan(trusted);
});
