/** Replaying changes nothing of the user's: what may write works in a copy. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { cliExits, runCli } from "../rig/cli.ts";
import { modelServer } from "../rig/model-server.ts";
import { makeRepository, makeWorkspace, type Workspace } from "../rig/workspace.ts";
import { workflowText } from "../workflow/rig.ts";
import { bash, calls, entryOf, scriptOf } from "./rig.ts";

const entry = (permissions: unknown): string => entryOf({ permissions });

const script = (command: string, toolResults: unknown, fields: object = {}): string =>
  scriptOf([calls(bash(command)), { toolResults, text: "A" }], fields);

/** Every file of the folder with its content and mode, `.git` included; what must not change. */
async function everything(folder: string): Promise<Record<string, string>> {
  const all: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) all[path] = `-> ${await readlink(path)}`;
    else if (entry.isFile()) {
      const { mtimeMs, mode, size } = await stat(path);
      // Git gives an object that it would write again a new time, wherever it is: that is no change.
      all[path] = `${mode} ${path.includes("/objects/") ? "" : mtimeMs} ${size}`;
    }
  }
  return all;
}

interface Played {
  readonly code: number | null;
  readonly stdout: string;
  readonly temporary: Workspace;
}

async function play(
  t: TestContext,
  folder: Workspace,
  args: readonly string[],
  { cwd = folder.path, ...env }: { readonly cwd?: string; readonly HOME?: string } = {},
): Promise<Played> {
  const temporary = await makeWorkspace(t);
  const given = { TMPDIR: temporary.path, ...env };
  const { code, stdout, stderr } = await runCli(args, { cwd, env: given });
  return { code, stdout: stdout + stderr, temporary };
}

interface Passing {
  readonly args?: readonly string[];
  /** Folders in which nothing may change. */
  readonly unchanged?: readonly string[];
  readonly cwd?: string;
  readonly HOME?: string;
}

/** Nothing is left in the temporary folder either. */
async function passes(t: TestContext, folder: Workspace, passing: Passing = {}): Promise<void> {
  const { args = ["rehearse", "r.json"], unchanged = [folder.path], ...where } = passing;
  const before = await Promise.all(unchanged.map(everything));
  const { code, stdout, temporary } = await play(t, folder, args, where);
  assert.equal(code, 0, stdout);
  assert.deepEqual(await Promise.all(unchanged.map(everything)), before);
  assert.deepEqual(await readdir(temporary.path), []);
}

const destroy = [
  "echo changed > a.txt",
  "echo new > new.txt",
  "rm b.txt",
  "git add --all",
  "git -c user.name=x -c user.email=x@example.com commit -qm evil",
  "git branch -f other HEAD",
  "git branch -D doomed",
  "git tag evil",
  "git config user.name evil",
  "git gc --prune=now --quiet",
  "git reset -q --hard HEAD~1",
  "git stash list",
].join(" && ");

async function repository(t: TestContext): Promise<Workspace> {
  const folder = await makeRepository(t, {
    "a.txt": "a\n",
    "b.txt": "b\n",
    "run.sh": "#!/bin/sh\necho ran\n",
    ".gitignore": "ignored/\nnode_modules/\n",
    "sub/c.txt": "c\n",
    "e.json": entry("all"),
  });
  await folder.git("branch", "doomed");
  await chmod(join(folder.path, "run.sh"), 0o755);
  await folder.write("ignored/secret.txt", "s\n");
  await folder.write("node_modules/m/index.js", "m\n");
  await folder.write("a.txt", "a, not committed\n");
  await folder.write("staged.txt", "staged\n");
  await folder.git("add", "staged.txt");
  await folder.write("untracked.txt", "u\n");
  await folder.write("r.json", script(destroy, { matches: "exit code 0" }));
  return folder;
}

describe("a rehearsal that may write", () => {
  it("changes nothing of the checkout, and sees what is uncommitted, not what is ignored", async (t) => {
    const folder = await repository(t);
    await folder.git("rm", "-q", "--cached", "b.txt");
    await symlink("sub/c.txt", join(folder.path, "link"));
    await symlink(join(folder.path, "sub"), join(folder.path, "absolute"));
    const look =
      "cat a.txt link absolute/c.txt && ./run.sh && readlink absolute && ls -A && git status --short --branch && git diff && git branch -a && pwd";
    await folder.write(
      "look.json",
      script(look, {
        contains: [
          "a, not committed",
          "\nc\nc\nran\nsub\n",
          "## main",
          " M a.txt",
          "D  b.txt",
          "A  staged.txt",
          "?? untracked.txt",
          "+a, not committed",
          "  doomed",
          "${workingDirectory}",
        ],
        excludes: ["ignored\n", "node_modules", folder.path],
      }),
    );
    await passes(t, folder, { args: ["rehearse", "r.json", "look.json"] });
  });

  it("works in a checkout that can't be written, from another folder", async (t) => {
    const folder = await repository(t);
    const plain = await makeWorkspace(t, {
      "a.txt": "a\n",
      "e.json": entry("all"),
      "r.json": script("echo b > a.txt && cat a.txt", { contains: "b" }),
    });
    const { path: cwd } = await makeWorkspace(t);
    for (const one of [folder, plain]) {
      const chmod = (mode: string) => promisify(execFile)("chmod", ["-R", mode, one.path]);
      await chmod("a-w");
      const args = ["rehearse", join(one.path, "r.json")];
      try {
        await passes(t, one, { args, cwd });
      } finally {
        await chmod("u+w");
      }
    }
  });

  it("leaves out what the user ignores everywhere, and takes no other setting of theirs", async (t) => {
    const folder = await makeRepository(t, { "e.json": entry("workspace") });
    for (const name of ["of-default", "of-config"]) await folder.write(`${name}.txt`, "");
    const homes = {
      "of-default": { ".config/git/ignore": "of-default.txt\n" },
      "of-config": {
        ".gitconfig": `[core]\n\texcludesFile = ~/mine\n\tfsmonitor = "touch ${folder.path}/evil; false"\n`,
        mine: "of-config.txt\n",
      },
    };
    for (const [ignored, files] of Object.entries(homes)) {
      const home = await makeWorkspace(t, files);
      const seen = Object.keys(homes).filter((name) => name !== ignored);
      const expected = { contains: seen, excludes: [ignored] };
      await folder.write("r.json", script("ls", expected));
      await passes(t, folder, { HOME: home.path });
    }
  });

  it("includes ignored folders that the rehearsal names, and nothing is written through to them", async (t) => {
    const elsewhere = await makeWorkspace(t, {
      "index.js": "exports.from = 'elsewhere';\n",
      "bin/cli.js": "",
      ".git/config": "",
    });
    const folder = await makeRepository(t, {
      ".gitignore": "node_modules/\ndist\n",
      "packages/own/index.js": "exports.from = 'own';\n",
      "e.json": entry("workspace"),
      "r.json": script(
        // A link of the original, a file of a package, and one of a linked folder.
        "node -e 'for (const name of [`a`, `own`, `linked`]) console.log(require(name).from)' && ls -A linked dist 2>&1; " +
          "for file in node_modules/a/index.js node_modules/own/index.js node_modules/.bin/a linked/index.js; do echo evil > $file; done; " +
          "rm -r node_modules/a linked/bin",
        { contains: ["installed\nown\nelsewhere", "index.js"] },
        { workspace: { include: ["node_modules", "linked"] } },
      ),
      "dist/out.js": "",
    });
    await folder.write("node_modules/a/index.js", "exports.from = 'installed';\n");
    await mkdir(join(folder.path, "node_modules/.bin"));
    await symlink("../a/index.js", join(folder.path, "node_modules/.bin/a"));
    await symlink("../packages/own", join(folder.path, "node_modules/own"));
    await symlink("../linked", join(folder.path, "node_modules/linked"));
    await symlink(elsewhere.path, join(folder.path, "linked"));
    await passes(t, folder, { unchanged: [folder.path, elsewhere.path] });
  });

  it("says what is wrong with an included path", async (t) => {
    const folder = await makeRepository(t, {
      "e.json": entry("workspace"),
      "r.json": script("ls", "x", { workspace: { include: ["node_modules"] } }),
      "bad.json": script("ls", "x", {
        workspace: { include: ["../x", ".git"], git: true },
        workingDirectory: ".",
      }),
    });
    const missing = await play(t, folder, ["rehearse", "r.json"]);
    assert.equal(missing.code, 2, missing.stdout);
    assert.match(missing.stdout, /workspace\.include names .*node_modules, which does not exist/);
    const bad = await play(t, folder, ["rehearse", "bad.json"]);
    assert.equal(bad.code, 2, bad.stdout);
    assert.match(
      bad.stdout,
      /workspace\.include: `include` adds files to a copy .* not to a new folder\. \(remove git/,
    );
    assert.match(bad.stdout, /workspace\.include\[0\]: This is not a path inside/);
    assert.match(bad.stdout, /workspace\.include\[1\]: On some systems/);
  });

  it("works in the folder itself with --in-place", async (t) => {
    const folder = await repository(t);
    await folder.write("r.json", script("echo new > new.txt; cat ignored/secret.txt", "s"));
    const { code, stdout } = await play(t, folder, ["rehearse", "--in-place", "r.json"]);
    assert.equal(code, 0, stdout);
    assert.equal(await folder.read("new.txt"), "new\n");
    const refused = await play(t, folder, ["run", "e.json", "--in-place"]);
    assert.match(refused.stdout, /--in-place requires --rehearse/);
  });

  it("says what to do about a folder of over 200 MB, and copies nothing", async (t) => {
    const folder = await repository(t);
    await folder.write("large", "");
    // Copied at the same time, and finding its folders takes longer.
    await folder.write(`${"d/".repeat(100)}file`, "");
    await truncate(join(folder.path, "large"), 201 * 1024 * 1024);
    const { code, stdout, temporary } = await play(t, folder, ["rehearse", "r.json"]);
    assert.equal(code, 2, stdout);
    assert.match(stdout, /has over 200 MB\. .*--in-place/);
    assert.deepEqual(await readdir(temporary.path), []);
  });

  it("in a folder of a repository has the whole repository, and works in its counterpart", async (t) => {
    const folder = await repository(t);
    const command = "pwd && cat c.txt && git log --format=%s && echo x > y";
    await folder.write("r.json", script(command, "The first commit"));
    await passes(t, folder, { args: ["rehearse", "r.json", "--working-directory", "sub"] });
  });

  it("without git has everything but node_modules", async (t) => {
    const folder = await makeWorkspace(t, {
      "e.json": entry("all"),
      "deep/x.txt": "x\n",
      "node_modules/m.js": "",
      "r.json": script("find . -type f; echo > deep/x.txt; git status", {
        contains: ["./deep/x.txt", "not a git repository"],
        excludes: ["node_modules"],
      }),
    });
    await passes(t, folder);
  });

  it("in a linked work tree, with a submodule and a repository inside, has them all to itself", async (t) => {
    const library = await makeRepository(t, { "lib.txt": "lib\n" });
    const main = await repository(t);
    const allow = ["-c", "protocol.file.allow=always"];
    await main.git(...allow, "submodule", "--quiet", "add", library.path, "mod");
    await main.git("commit", "-qam", "With a submodule");
    const place = await makeWorkspace(t);
    const tree = join(place.path, "tree");
    await main.git("worktree", "add", "--quiet", tree);
    await mkdir(join(tree, "inner"));
    await main.git("-C", tree, ...allow, "submodule", "--quiet", "update", "--init");
    await main.git("init", "--quiet", join(tree, "inner"));
    await writeFile(join(tree, "inner", "i.txt"), "i\n");
    await writeFile(
      join(tree, "r.json"),
      script(
        [
          "git rev-parse --show-toplevel",
          "git log --format=%s",
          "cat mod/lib.txt inner/i.txt",
          "git -C mod log --format='of the module: %s'",
          "git -C inner add --all",
          "echo x >> mod/lib.txt",
          "git -C mod -c user.name=x -c user.email=x@example.com commit -qam x",
          "git checkout -q -b evil",
          "git -c user.name=x -c user.email=x@example.com commit -qam x",
          "git worktree prune",
        ].join(" && "),
        {
          contains: [
            "${workingDirectory}",
            "With a submodule",
            "lib\ni\n",
            "of the module: The first commit",
          ],
          matches: "exit code 0",
        },
      ),
    );
    const unchanged = [main.path, place.path, library.path];
    await passes(t, main, { cwd: tree, unchanged });
  });

  it("writes nothing through a link that has taken the place of a folder", async (t) => {
    const folder = await repository(t);
    const elsewhere = await makeWorkspace(t, { "c.txt": "elsewhere\n" });
    await rm(join(folder.path, "sub"), { recursive: true });
    await symlink(elsewhere.path, join(folder.path, "sub"));
    await folder.write("r.json", script("cat sub/c.txt", "elsewhere"));
    await passes(t, folder, { unchanged: [elsewhere.path] });
  });

  it("starts nothing that the settings of the repository name", async (t) => {
    const folder = await repository(t);
    const elsewhere = await makeWorkspace(t);
    const canary = join(elsewhere.path, "canary");
    await folder.git("config", "core.fsmonitor", `touch ${canary}; false`);
    await folder.git("config", "core.worktree", folder.path);
    await folder.write(
      "r.json",
      script("echo x > a.txt && git add a.txt && git stash -q", { matches: "exit code" }),
    );
    await passes(t, folder);
    assert.deepEqual(await readdir(elsewhere.path), []);
  });

  it("is recorded with the folder that was named", async (t) => {
    const folder = await repository(t);
    const run = ["run", "e.json", "--rehearse", "r.json", "--record", "made.rehearsal.yml"];
    assert.equal((await play(t, folder, run)).code, 0);
    assert.match(await folder.read("made.rehearsal.yml"), /^workingDirectory: \.$/m);
    assert.equal(await folder.read("a.txt"), "a, not committed\n");
  });
});

describe("a recording that was given the path of its folder", () => {
  it("is rehearsed in a copy, whose path it is given then", async (t) => {
    const chart =
      "START --> EXECUTE_A[ls {{FOLDER}}] --> PROMPT_B['List {{FOLDER}}/x'] --> SUCCESS_C\n    PARAMS@{ shape: comment, label: FOLDER }";
    const front = "---\nmodel: m\npermissions: { preset: workspace, sandbox: off }\n---\n\n";
    const { path: cwd } = await makeWorkspace(t, { "a.wf.md": front + workflowText(chart) });
    const server = await modelServer(t, () => ({ text: "done" }));
    const at = ["--provider-base-url", server.baseUrl, "--record", "a.rehearsal.yml"];
    await cliExits(0, ["run", "a.wf.md", "--param", `FOLDER=${cwd}`, ...at], { cwd });
    assert.match(server.requests[0]?.prompt ?? "", new RegExp(`List ${cwd}/x`));
    const recorded = await readFile(join(cwd, "a.rehearsal.yml"), "utf8");
    assert.match(recorded, /FOLDER: \$\{workingDirectory\}/);
    assert.ok(!recorded.includes(cwd), recorded);
    await cliExits(0, "rehearse a.rehearsal.yml", { cwd });
    const entry = {
      models: { driving: "m" },
      permissions: { preset: "workspace", sandbox: "off" },
      inputs: { folder: { description: "x" } },
      tasks: {
        t: {
          model: { category: "driving" },
          requireUserInput: true,
          prompt: "$user-input $input-folder",
        },
      },
      jobs: { job: { work: { kind: "Ref", taskId: "t" } } },
    };
    await writeFile(join(cwd, "b.json"), JSON.stringify(entry));
    const given = ["--user-input", `In ${cwd}`, "--input", `folder=${cwd}/b`];
    const run = ["run", "b.json", ...given, ...at.slice(0, 2), "--record", "b.rehearsal.json"];
    await cliExits(0, run, { cwd });
    await cliExits(0, "rehearse b.rehearsal.json", { cwd });
  });
});
