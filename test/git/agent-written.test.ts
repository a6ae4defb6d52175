/** Git of ours looks at what an agent wrote. Each trap names a program in every way that a repository has. */
import assert from "node:assert/strict";
import { chmod, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { ChangeUnknown } from "../../src/git/change.ts";
import { changeFromGit } from "../../src/git/git-change.ts";
import { SourceTree } from "../../src/git/source-tree.ts";
import { processEnvironment } from "../../src/platform/environment.ts";
import { makeRepository, makeWorkspace, type Workspace } from "../rig/workspace.ts";

const environment = processEnvironment();

interface Trap {
  readonly program: string;
  /** Turns a folder into a repository whose settings, attributes and hooks name the program. */
  readonly set: (folder: string) => Promise<void>;
  /** Only settings, hooks and attributes, for a folder that is a repository already. */
  readonly arm: (gitFolder: string, folder: string) => Promise<void>;
  readonly ran: () => Promise<string>;
}

async function makeTrap(t: TestContext): Promise<Trap> {
  const { path, git: anywhere } = await makeWorkspace(t);
  const [program, log] = [join(path, "program.sh"), join(path, "log")];
  await writeFile(program, `#!/bin/sh\necho "$0 $*" >>${log}\ncat\n`, { mode: 0o755 });
  const run = (text: string): string => `"${program} ${text}"`;
  const config = `
[core]
  fsmonitor = ${run("fsmonitor")}
  hooksPath = hooks-of-agent
  alternateRefsCommand = ${run("alternates")}
  sshCommand = ${run("ssh")}
  askPass = ${program}
  pager = ${run("pager")}
  editor = ${run("editor")}
[filter "x"]
  clean = ${run("clean")}
  smudge = ${run("smudge")}
[filter "y"]
  process = ${run("process")}
  required = true
[diff]
  external = ${run("external")}
[diff "x"]
  textconv = ${run("textconv")}
  command = ${run("command")}
[merge "x"]
  driver = ${run("driver")}
[gpg]
  program = ${program}
[log]
  showSignature = true
[pager]
  diff = ${run("pager")}
[credential]
  helper = ${run("!helper")}
[protocol "ext"]
  allow = always
[remote "origin"]
  url = "ext::${program} promisor %S"
  promisor = true
  partialclonefilter = blob:none
  fetch = +refs/heads/*:refs/remotes/origin/*
[extensions]
  partialClone = origin
[uploadpack]
  packObjectsHook = ${run("pack")}
`;
  const hooks = ["post-index-change", "fsmonitor-watchman", "reference-transaction", "pre-commit"];
  const arm = async (gitFolder: string, folder: string): Promise<void> => {
    const before = await readFile(join(gitFolder, "config"), "utf8").catch(() => "");
    await writeFile(join(gitFolder, "config"), before + config);
    for (const place of [join(gitFolder, "hooks"), join(folder, "hooks-of-agent")]) {
      await mkdir(place, { recursive: true });
      for (const name of hooks) {
        await writeFile(join(place, name), `#!/bin/sh\nexec ${program} hook\n`);
        await chmod(join(place, name), 0o755);
      }
    }
    await writeFile(join(folder, ".gitattributes"), "* filter=x diff=x merge=x\n*.y filter=y\n");
  };
  return {
    program,
    arm,
    async set(folder) {
      await mkdir(folder, { recursive: true });
      const git = (...args: string[]): Promise<string> => anywhere("-C", folder, ...args);
      await git("init", "--quiet");
      for (const name of ["made.txt", "made.y"]) await writeFile(join(folder, name), "one\n");
      await git("add", "--all");
      await git("commit", "--quiet", "--message=By the agent");
      for (const name of ["made.txt", "made.y"]) await writeFile(join(folder, name), "two\n");
      await arm(join(folder, ".git"), folder);
    },
    ran: () => readFile(log, "utf8").catch(() => ""),
  };
}

interface SetUp {
  /** Creates the files that exist before the run. Returns the working directory. */
  readonly start: (t: TestContext) => Promise<{ workspace: Workspace; folder: string }>;
  readonly attack: (trap: Trap, workspace: Workspace, folder: string) => Promise<void>;
}

const plain = async (t: TestContext): Promise<{ workspace: Workspace; folder: string }> => {
  const workspace = await makeRepository(t, { "a.txt": "one\n", "sub/b.y": "one\n" });
  await workspace.write("a.txt", "two\n");
  return { workspace, folder: workspace.path };
};
const inSubfolder: SetUp["start"] = async (t) => {
  const { workspace } = await plain(t);
  return { workspace, folder: join(workspace.path, "sub") };
};
const withGitlink: SetUp["start"] = async (t) => {
  const made = await plain(t);
  const link = `160000,${"a".repeat(40)},vendor/lib`;
  await made.workspace.git("update-index", "--add", "--cacheinfo", link);
  await made.workspace.git("commit", "--quiet", "--message=A submodule");
  await mkdir(join(made.workspace.path, "vendor/lib"), { recursive: true });
  return made;
};
const withSubmodule: SetUp["start"] = async (t) => {
  const library = await makeRepository(t, { "c.txt": "one\n" });
  const made = await plain(t);
  const add = ["submodule", "--quiet", "add", library.path, "lib"];
  await made.workspace.git("-c", "protocol.file.allow=always", ...add);
  await made.workspace.git("commit", "--quiet", "--message=A submodule");
  await made.workspace.write("lib/c.txt", "two\n");
  return made;
};

const setUps: Readonly<Record<string, SetUp>> = {
  "a nested repository": {
    start: plain,
    attack: (trap, { path }) => trap.set(join(path, "nested")),
  },
  "a nested repository in a folder that is tracked": {
    start: plain,
    attack: (trap, { path }) => trap.set(join(path, "sub")),
  },
  "a submodule that isn't checked out": {
    start: withGitlink,
    attack: (trap, { path }) => trap.set(join(path, "vendor/lib")),
  },
  "a submodule that is checked out": {
    start: withSubmodule,
    attack: (trap, { path }) => trap.arm(join(path, ".git/modules/lib"), join(path, "lib")),
  },
  "a submodule whose file .git names another repository": {
    start: withSubmodule,
    async attack(trap, { path }) {
      await trap.set(join(path, "elsewhere"));
      await writeFile(join(path, "lib/.git"), `gitdir: ${join(path, "elsewhere/.git")}\n`);
    },
  },
  "a working directory that is a subfolder": {
    start: inSubfolder,
    attack: (trap, _, folder) => trap.set(folder),
  },
  "a subfolder with a file .git": {
    start: inSubfolder,
    async attack(trap, { path }, folder) {
      await trap.set(join(path, "elsewhere"));
      await writeFile(join(folder, ".git"), "gitdir: ../elsewhere/.git\n");
    },
  },
  "a working directory without git": {
    async start(t) {
      const workspace = await makeWorkspace(t, { "a.txt": "one\n" });
      return { workspace, folder: workspace.path };
    },
    attack: (trap, _, folder) => trap.set(folder),
  },
  "the repository itself": {
    start: plain,
    attack: (trap, { path }) => trap.arm(join(path, ".git"), path),
  },
  "settings that the repository's own include": {
    start: plain,
    async attack(trap, { path, git }) {
      await git("config", "include.path", "../included");
      await trap.arm(path, path);
      await rename(join(path, "config"), join(path, "included"));
    },
  },
  ...Object.fromEntries(
    ["objectformat", "refstorage"].map((name): [string, SetUp] => [
      `a setting ${name} that holds more settings`,
      {
        start: plain,
        async attack(trap, { path, git }) {
          await git("config", "include.path", "../included");
          const first = name === "objectformat" ? "sha1" : "files";
          const filter = ['[filter \\"x\\"]', `clean = ${trap.program}`];
          const more = [first, ...filter, "[core]", `fsmonitor = ${trap.program}`, "[diff]"];
          const value = [...more, `external = ${trap.program} #`].join("\\n");
          await writeFile(join(path, ".gitattributes"), "* filter=x\n");
          await writeFile(join(path, "included"), `[extensions]\n${name} = "${value}"\n`);
        },
      },
    ]),
  ),
  "a folder of settings named by commondir": {
    start: plain,
    async attack(trap, { path }) {
      await trap.set(join(path, "elsewhere"));
      await writeFile(join(path, ".git/commondir"), "../elsewhere/.git\n");
    },
  },
  "another repository in place of its own": {
    start: plain,
    async attack(trap, { path }) {
      await rm(join(path, ".git"), { recursive: true });
      await trap.set(path);
    },
  },
};

describe("what an agent wrote for git starts no program", () => {
  for (const [name, { start, attack }] of Object.entries(setUps)) {
    for (const sandbox of [undefined, "off"] as const) {
      const where = sandbox === undefined ? "" : ", with the sandbox off";
      it(`in ${name}${where}`, async (t) => {
        const trap = await makeTrap(t);
        const { workspace, folder } = await start(t);
        const repository = { folder, environment, sandbox };
        const before = new SourceTree(repository, undefined);
        await before.prepare();
        await attack(trap, workspace, folder);
        const outcomes = await Promise.allSettled([
          // A proposal of the run in which the agent wrote.
          before.changed([]),
          before.read("a.txt"),
          // A later run.
          changeFromGit(repository, { base: "HEAD", uncommitted: true }),
          changeFromGit(repository, { base: "f".repeat(40) }),
          changeFromGit(repository, { base: "HEAD~1" }),
          changeFromGit(repository, {}),
          new SourceTree(repository, undefined).changed([]),
        ]);
        assert.equal(await trap.ran(), "");
        const [proposed] = outcomes;
        const isFound = proposed.status === "fulfilled" && proposed.value.files.length > 0;
        const isRefused = proposed.status === "rejected" && /repository/.test(proposed.reason);
        assert.ok(isFound || isRefused, JSON.stringify(proposed));
      });
    }
  }

  describe("and no message or note quotes a file that a link leads to in place of a list of git:", () => {
    const places: Readonly<Record<string, (folder: string, file: string) => Promise<void>>> = {
      alternates: (folder, file) => symlink(file, join(folder, ".git/objects/info/alternates")),
      async "alternates of alternates"(folder, file) {
        await mkdir(join(folder, "more/info"), { recursive: true });
        await symlink(file, join(folder, "more/info/alternates"));
        const alternates = join(folder, ".git/objects/info/alternates");
        await writeFile(alternates, `${join(folder, "more")}\n`);
      },
      attributes: (folder, file) => symlink(file, join(folder, ".git/info/attributes")),
      async "attributes by a setting"(folder, file) {
        const settings = `[core]\n  attributesFile = ${file}\n`;
        await writeFile(join(folder, ".git/config"), settings, { flag: "a" });
      },
      async exclude(folder, file) {
        await rm(join(folder, ".git/info/exclude"), { force: true });
        await symlink(file, join(folder, ".git/info/exclude"));
      },
      "packed-refs": (folder, file) => symlink(file, join(folder, ".git/packed-refs")),
      shallow: (folder, file) => symlink(file, join(folder, ".git/shallow")),
    };
    for (const [name, put] of Object.entries(places)) {
      it(name, async (t) => {
        const { workspace, folder } = await plain(t);
        const outside = await makeWorkspace(t, { credentials: "secret of/the@user+=-\n" });
        await workspace.write("odd.utf16", "one\n");
        await workspace.write(".gitattributes", "*.utf16 working-tree-encoding=UTF-16\n");
        const blob = (await workspace.git("rev-parse", "HEAD:a.txt")).trim();
        await rm(join(folder, ".git/objects", blob.slice(0, 2), blob.slice(2)));
        await put(folder, join(outside.path, "credentials"));
        for (const sandbox of ["off", undefined] as const) {
          const repository = { folder, environment, sandbox };
          const outcomes = await Promise.allSettled([
            changeFromGit(repository, {}),
            changeFromGit(repository, { base: "HEAD~1" }),
            changeFromGit(repository, { base: "HEAD", uncommitted: true }),
            new SourceTree(repository, undefined).changed([]),
            new SourceTree(repository, undefined).read("a.txt"),
          ]);
          const said = outcomes.map((one) =>
            one.status === "rejected" ? String(one.reason) : JSON.stringify(one.value),
          );
          assert.doesNotMatch(said.join("\n"), /secret|@user/);
          // No list of git is read through a link.
          if (!name.includes(" ")) assert.match(said[0] ?? "", /is a link/);
          assert.ok(
            outcomes.some(({ status }) => status === "rejected") || /Left out/.test(said.join()),
          );
        }
      });
    }
  });

  it("and a filter that the user has set up converts in a sandbox, or is refused by name", async (t) => {
    const trap = await makeTrap(t);
    const workspace = await makeRepository(t, { "a.txt": "one\n" });
    await trap.arm(join(workspace.path, ".git"), workspace.path);
    await workspace.write("a.txt", "two\n");
    const open = { folder: workspace.path, environment, sandbox: "off" } as const;
    await assert.rejects(
      changeFromGit(open, { base: "HEAD", uncommitted: true }),
      (error) =>
        error instanceof ChangeUnknown && /"a\.txt".*: the filter "x" only/.test(error.message),
    );
    assert.equal(await trap.ran(), "");
  });
});
