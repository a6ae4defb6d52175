import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, symlink } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { ServerProgram } from "../../src/tools/mcp/transports.ts";
import { childEnvironment } from "../../src/platform/environment.ts";
import { runGit } from "../../src/git/git.ts";
import { runToEnd } from "../../src/platform/programs.ts";
import {
  fileNames,
  findProgram,
  isBareName,
  resolveCommand,
} from "../../src/platform/search-path.ts";
import { makeRepository, makeWorkspace, type Workspace } from "../rig/workspace.ts";

async function program(workspace: Workspace, name: string, text = "exit 0"): Promise<string> {
  const path = await workspace.write(name, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
  return path;
}

function enter(t: TestContext, folder: string): void {
  const before = process.cwd();
  process.chdir(folder);
  t.after(() => process.chdir(before));
}

describe("a program that we start", () => {
  it("is looked for in neither the working directory nor the GitHub workspace", async (t) => {
    const [here, workspace] = [await makeWorkspace(t), await makeWorkspace(t)];
    const tools = await makeWorkspace(t);
    await program(here, "bin/git");
    await program(workspace, "bin/git");
    await mkdir(join(tools.path, "git"));
    await symlink(join(workspace.path, "bin"), join(tools.path, "linked"));
    await tools.write("plain/git", "");
    await mkdir(join(tools.path, "leads"));
    await symlink(join(workspace.path, "bin/git"), join(tools.path, "leads/git"));
    const good = await program(tools, "bin/git");
    enter(t, here.path);
    const HOME = tools.path;
    const GITHUB_WORKSPACE = workspace.path;
    const bad = [
      "",
      ".",
      "bin",
      "../bin",
      "./bin",
      ...[here, workspace].flatMap(({ path }) => [path, join(path, "bin"), `${path}/bin/../bin/`]),
      ...["", "linked", "plain", "leads", "none"].map((name) => join(tools.path, name)),
    ];
    const found = (...folders: string[]): string | undefined =>
      findProgram("git", { HOME, GITHUB_WORKSPACE, PATH: folders.join(delimiter) });
    assert.equal(found(...bad), undefined);
    assert.equal(found(...bad, join(tools.path, "bin")), good);
    assert.equal(findProgram("git", { HOME, GITHUB_WORKSPACE }), undefined);
  });

  it("may be below a working directory that holds the home directory: that is no checkout", async (t) => {
    const home = await makeWorkspace(t);
    const git = await program(home, ".local/bin/git");
    enter(t, home.path);
    const PATH = join(home.path, ".local/bin");
    const environment = { PATH, HOME: home.path };
    assert.equal(findProgram("git", environment), git);
    const inWorkspace = { ...environment, GITHUB_WORKSPACE: home.path };
    assert.equal(findProgram("git", inWorkspace), undefined);
  });
});

describe("what a command names", () => {
  it("is found in the absolute folders of PATH only, never in the folder that it starts in", async (t) => {
    const [here, tools] = [await makeWorkspace(t), await makeWorkspace(t)];
    await program(here, "lint");
    await program(here, "bin/lint");
    await tools.write("plain/lint", "");
    await mkdir(join(tools.path, "folder/lint"), { recursive: true });
    const good = await program(tools, "bin/lint");
    const found = (...folders: string[]): string | undefined =>
      resolveCommand("lint", here.path, { PATH: folders.join(delimiter) });
    const bad = ["", ".", "bin", "./bin", join(tools.path, "plain"), join(tools.path, "folder")];
    assert.equal(found(...bad), undefined);
    assert.equal(found(...bad, join(tools.path, "bin")), good);
    for (const PATH of [undefined, ""]) {
      assert.equal(resolveCommand("lint", here.path, { PATH }), undefined);
      assert.match(resolveCommand("sh", here.path, { PATH }) ?? "", /^\/(usr\/)?bin\/sh$/);
    }
    assert.equal(resolveCommand("./lint", here.path, {}), join(here.path, "lint"));
    assert.equal(resolveCommand("bin/lint", here.path, {}), join(here.path, "bin/lint"));
    assert.equal(resolveCommand(good, here.path, {}), good);
  });

  it("is what is started, for tools and for servers: nothing of a relative or an empty folder", async (t) => {
    const here = await makeWorkspace(t);
    await program(here, "lint", "echo ran > ran");
    for (const PATH of [".", "", `${delimiter}/usr/bin`, `bin/..${delimiter}/usr/bin`]) {
      const common = { cwd: here.path, env: { PATH } };
      const { signal } = new AbortController();
      const ended = await runToEnd("lint", [], { ...common, signal });
      assert.equal(ended.kind === "not-started" && ended.code, "ENOENT");
      const options = { ...common, command: "lint", args: [], graceMs: 100 };
      const server = new ServerProgram(options);
      await assert.rejects(server.start(), /ENOENT/);
    }
    assert.ok(!existsSync(join(here.path, "ran")));
  });

  it("is a program with an ending on Windows, and none that needs a shell", () => {
    assert.deepEqual(fileNames("npm", "win32"), ["npm.com", "npm.exe"]);
    assert.deepEqual(fileNames("node.EXE", "win32"), ["node.EXE"]);
    assert.deepEqual(fileNames("npm.cmd", "win32"), ["npm.cmd.com", "npm.cmd.exe"]);
    assert.deepEqual(fileNames("npm.cmd", "linux"), ["npm.cmd"]);
    for (const name of ["bin\\a", "bin/a", "C:a", "c:\\a"])
      assert.ok(!isBareName(name, "win32"), name);
    for (const name of ["a", "C:a", "a\\b"]) assert.ok(isBareName(name, "linux"), name);
    assert.ok(!isBareName("./a", "linux"));
  });
});

describe("what a program that we start sees", () => {
  it("has a PATH without the working directory in CI, and never an empty one", async (t) => {
    const here = await makeWorkspace(t);
    enter(t, here.path);
    const inside = join(here.path, "node_modules/.bin");
    const PATH = [inside, "/usr/bin"].join(delimiter);
    const HOME = "/nowhere";
    const pathWith = (more: object): string | undefined =>
      childEnvironment({ HOME, PATH, ...more })["PATH"];
    assert.equal(pathWith({ CI: "true" }), "/usr/bin");
    assert.equal(pathWith({ CI: "1" }), "/usr/bin");
    for (const CI of [undefined, "", "false", "0"]) assert.equal(pathWith({ CI }), PATH);
    for (const PATH of ["", ".", `bin${delimiter}`]) {
      assert.equal(pathWith({ PATH }), ["/usr/bin", "/bin"].join(delimiter));
    }
  });

  it("has no home directory and no shell that is in the GitHub workspace", async (t) => {
    const workspace = await makeWorkspace(t);
    const GITHUB_WORKSPACE = workspace.path;
    const given = { HOME: workspace.path, SHELL: join(workspace.path, "sh"), TMPDIR: "/tmp" };
    assert.deepEqual(childEnvironment({ ...given, GITHUB_WORKSPACE }), { TMPDIR: "/tmp" });
    assert.deepEqual(childEnvironment(given), given);
  });

  it("has a PATH without what is relative, empty or in the GitHub workspace", async (t) => {
    const [workspace, tools] = [await makeWorkspace(t), await makeWorkspace(t)];
    await symlink(workspace.path, join(tools.path, "link"));
    const GITHUB_WORKSPACE = join(tools.path, "link");
    const inside = [join(workspace.path, "bin"), GITHUB_WORKSPACE];
    const PATH = ["", ".", "bin", ...inside, "/usr/bin", ""].join(delimiter);
    assert.deepEqual(childEnvironment({ PATH, GITHUB_WORKSPACE }), { PATH: "/usr/bin" });
  });

  it("has no token, and nothing that makes it load or run something else", () => {
    const names =
      "GITHUB_TOKEN GH_TOKEN ANTHROPIC_API_KEY OPENAI_API_KEY AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN NPM_TOKEN " +
      "NODE_AUTH_TOKEN NODE_OPTIONS NODE_PATH LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES BASH_ENV ENV " +
      "PERL5OPT PYTHONSTARTUP RUBYOPT GIT_DIR GIT_EXEC_PATH GIT_CONFIG_COUNT GIT_SSH_COMMAND GIT_EXTERNAL_DIFF " +
      "TAR_OPTIONS GZIP PAGER EDITOR IFS SHELLOPTS BASHOPTS PROMPT_COMMAND INPUT_X ACTIONS_RUNTIME_TOKEN " +
      "ACTIONS_ID_TOKEN_REQUEST_TOKEN ACTIONS_ID_TOKEN_REQUEST_URL GITHUB_ENV GITHUB_PATH GITHUB_OUTPUT GITHUB_STATE " +
      "GITHUB_STEP_SUMMARY GITHUB_WORKSPACE RUNNER_TEMP npm_config_script_shell npm_config_node_options NPM_CONFIG_GIT " +
      "npm_config_userconfig PYTHONPATH PYTHONHOME PERL5LIB RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS CLASSPATH LD_AUDIT " +
      "LUA_INIT ZDOTDIR GIT_CONFIG_GLOBAL GIT_CONFIG_PARAMETERS GIT_ASKPASS SSH_ASKPASS SSH_AUTH_SOCK DOCKER_HOST " +
      "DOCKER_CONFIG XDG_CONFIG_HOME COPILOT_CLI_PATH COPILOT_HOME RIPGREP_CONFIG_PATH NODE_REPL_EXTERNAL_MODULE " +
      "COPILOT_GITHUB_TOKEN HTTPS_PROXY_PASSWORD MY_PATH constructor";
    const given = Object.fromEntries(names.split(" ").map((name) => [name, "x"]));
    assert.deepEqual(childEnvironment({ ...given, LANG: "C", LC_ALL: "C" }), {
      LANG: "C",
      LC_ALL: "C",
    });
  });

  it("has the address of a proxy, without the name and the password in it", () => {
    for (const [given, seen] of [
      ["http://me:secret@proxy:3128", "http://proxy:3128"],
      ["me:p@ss@proxy:3128/", "proxy:3128/"],
      ["http://proxy:3128/a@b", "http://proxy:3128/a@b"],
    ] as const) {
      for (const name of ["HTTP_PROXY", "https_proxy", "ALL_PROXY"])
        assert.deepEqual(childEnvironment({ [name]: given }), { [name]: seen });
    }
    assert.deepEqual(childEnvironment({ NO_PROXY: "a@b" }), { NO_PROXY: "a@b" });
  });
});

describe("git", () => {
  it("is not the one of the checkout, and runs nothing that the repository's settings name", async (t) => {
    const repository = await makeRepository(t);
    const canary = join(repository.path, "..", `canary-${process.pid}`);
    const touch = `touch '${canary}'`;
    await program(repository, "bin/git", touch);
    const hook = await program(repository, "run", `${touch}; cat`);
    const { git } = repository;
    for (const [name, value] of [
      ["core.fsmonitor", hook],
      ["core.hooksPath", join(repository.path, "hooks")],
      ["core.pager", hook],
      ["commit.gpgSign", "true"],
      ["gpg.program", hook],
      ["core.sshCommand", hook],
    ] as const) {
      await git("config", name, value);
    }
    for (const name of ["pre-commit", "post-commit", "post-index-change", "reference-transaction"])
      await program(repository, `hooks/${name}`, touch);
    const PATH = [join(repository.path, "bin"), process.env["PATH"]].join(delimiter);
    enter(t, repository.path);
    const environment = {
      PATH,
      GIT_DIR: "/no/such",
      GIT_EXTERNAL_DIFF: hook,
      GIT_AUTHOR_NAME: "from outside",
    };
    const variables = Object.fromEntries(
      ["AUTHOR", "COMMITTER"].flatMap((who) => [
        [`GIT_${who}_NAME`, "a"],
        [`GIT_${who}_EMAIL`, "a@example.invalid"],
      ]),
    );
    const options = { cwd: repository.path, environment, variables };
    await repository.write("new.txt", "new");
    await runGit(["add", "new.txt"], options);
    await runGit(["commit", "--quiet", "--message=x"], options);
    assert.match(await runGit(["status", "--short"], options), /\?\? run/);
    assert.equal(await runGit(["log", "-1", "--format=%an"], options), "a\n");
    execFileSync("test", ["!", "-e", canary]);
  });
});
