/** Tries with git and bash what a sandbox shows of a checkout. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Permissions } from "../../src/entry/model.ts";
import { Confinement } from "../../src/sessions/confinement.ts";
import { withoutSandbox } from "../rig/sandbox.ts";
import { makeRepository, makeWorkspace } from "../rig/workspace.ts";

const options = { skip: withoutSandbox };

/** Runs scripts of bash with these permissions; returns what they print. */
async function inside(
  t: TestContext,
  workingDirectory: string,
  permissions: Permissions,
  scripted = false,
): Promise<{ run: (script: string) => string; close: () => Promise<void> }> {
  const confinement = new Confinement({ environment: process.env, scripted });
  t.after(() => confinement.close());
  const sandbox = await confinement.ofProgram(permissions, { workingDirectory });
  assert.ok(sandbox !== undefined);
  const { enter } = sandbox;
  return {
    run: (script) => {
      const { stdout, stderr } = spawnSync(enter, ["bash", "-c", script], {
        cwd: workingDirectory,
        encoding: "utf8",
      });
      return `${stdout}${stderr}`;
    },
    close: () => confinement.close(),
  };
}

function git(folder: string, ...args: string[]): string {
  return execFileSync("git", args, { cwd: folder, encoding: "utf8" });
}

test("git works, without the credentials in its settings", options, async (t) => {
  const { path } = await makeRepository(t, { "a.txt": "a\n" });
  const config = join(path, ".git/config");
  await appendFile(
    config,
    '[http "https://example.com/"]\n\textraheader = AUTHORIZATION: basic VE9LRU4=\n' +
      '[remote "origin"]\n\turl = https://user:TOKEN@example.com/a.git\n[user]\n\tname = A\n',
  );
  await writeFile(join(path, ".git/credentials"), "https://user:TOKEN@example.com\n");
  const whole = await readFile(config, "utf8");
  for (const permissions of ["read-only", "workspace"] as const) {
    const { run } = await inside(t, path, permissions);
    assert.match(run("git log --oneline; git config user.name"), /^[\da-f]+ .*\nA\n$/);
    assert.equal(run("git remote get-url origin"), "https://example.com/a.git\n");
    assert.doesNotMatch(run("grep -r . .git; git config --list"), /VE9LRU4|TOKEN/);
  }
  assert.equal(await readFile(config, "utf8"), whole);
});

test("a program that may write a checkout can't make git run programs", options, async (t) => {
  const { path } = await makeRepository(t, { "a.txt": "a\n", "evil/config": "[core]\n" });
  await rm(join(path, ".git/hooks"), { recursive: true, force: true });
  const config = await readFile(join(path, ".git/config"), "utf8");
  const { run, close } = await inside(t, path, "workspace");
  const said = run(
    `echo b > a.txt; git add . && git -c user.name=a -c user.email=a commit -qm b && echo committed
     git config core.pager x; echo x >> .git/config; mv .git moved; mv .git/hooks .git/old
     rm -f .git/commondir; echo ../evil > .git/commondir; mv evil .git/commondir
     mkdir -p .git/hooks; echo x > .git/hooks/pre-commit`,
  );
  assert.match(said, /^committed$/m);
  assert.equal(await readFile(join(path, ".git/config"), "utf8"), config);
  assert.deepEqual(existsSync(join(path, ".git/hooks/pre-commit")), false);
  assert.equal(git(path, "log", "-1", "--format=%s").trim(), "b");
  await close();
  assert.equal(await readFile(join(path, ".git/commondir"), "utf8"), ".\n");
  assert.equal(git(path, "status", "--short"), "");
});

test("a folder of a repository, a worktree and a submodule have their git", options, async (t) => {
  const { path } = await makeRepository(t, { "sub/a.txt": "a\n" });
  const { path: elsewhere } = await makeWorkspace(t, {});
  const worktree = join(elsewhere, "worktree");
  git(path, "worktree", "add", "-q", worktree);
  git(path, "-c", "protocol.file.allow=always", "submodule", "add", "-q", path, "part/one");
  for (const folder of [join(path, "sub"), worktree, join(path, "part/one")]) {
    const { run } = await inside(t, folder, "workspace");
    assert.match(run("git log --oneline"), /^[\da-f]+ .*\n$/, folder);
    assert.match(run("git config x.y z"), /could not lock config file|Read-only/, folder);
  }
});

test("git is hidden where the permissions deny it", options, async (t) => {
  const { path } = await makeRepository(t, { "a.txt": "a\n" });
  const { run } = await inside(t, path, { shell: true, read: ["!.git"] });
  assert.match(run("git log"), /not a git repository/);
});

test("objects of another repository are only readable in a rehearsal", options, async (t) => {
  const { path } = await makeRepository(t, { "a.txt": "a\n" });
  const { path: elsewhere } = await makeWorkspace(t, {});
  const copy = join(elsewhere, "copy");
  git(path, "clone", "-q", "--shared", path, copy);
  const rehearsal = await inside(t, copy, "read-only", true);
  assert.match(rehearsal.run("git log --oneline"), /^[\da-f]+ .*\n$/);
  const { run } = await inside(t, copy, "read-only");
  assert.match(run("git log --oneline"), /bad object|unable to/);
});

test("a file .git that names a folder of something else grants nothing", options, async (t) => {
  const { path: outside } = await makeRepository(t, { "secret.txt": "SECRET\n" });
  const { path } = await makeWorkspace(t, { ".git": `gitdir: ${join(outside, ".git")}\n` });
  const { run } = await inside(t, path, "workspace");
  assert.match(run("git log -p"), /not a git repository/);
  await rename(join(outside, ".git"), join(outside, "named"));
  await writeFile(join(path, ".git"), `gitdir: ${outside}\n`);
  const other = await inside(t, path, "read-only");
  assert.match(other.run(`cat ${outside}/secret.txt`), /No such file/);
});

test("what only root can read is not there for a container's root", options, async (t) => {
  const { path } = await makeWorkspace(t, {});
  await mkdir(join(path, "x"));
  const { run } = await inside(t, path, { shell: true });
  assert.equal(run("cat /etc/shadow /etc/gshadow"), "");
});

test("more denied files than a sandbox can hide are an error", options, async (t) => {
  const files = Array.from({ length: 1_001 }, (_, index) => [`${index}.pem`, "x"] as const);
  const { path } = await makeWorkspace(t, Object.fromEntries(files));
  const confinement = new Confinement({ environment: process.env, scripted: false });
  t.after(() => confinement.close());
  const place = { workingDirectory: path };
  const confined = await confinement.of({ shell: true, read: ["!**/*.pem"] }, place);
  assert.ok(confined.kind === "refused");
  assert.match(confined.crash.message, /deny 1001 files and folders one by one.*deny the folders/);
});

test("links that a program leaves behind grant nothing to the next one", options, async (t) => {
  const { path: outside } = await makeWorkspace(t, {
    "secret.txt": "SECRET\n",
    "checkout/notes/x.md": "x\n",
  });
  const path = join(outside, "checkout");
  git(path, "init", "-q");
  const plant = `there() { ln -sfn "$(realpath -ms --relative-to "$(dirname $1)" ${outside}/$2)" $1; }
    mkdir -p b d .git/modules/m; touch .git/modules/m/HEAD; mkfifo .git/config.worktree
    there b/.git; there d/.npmrc; there .git/modules/m/hooks; there .envrc
    there .git/modules/m/config secret.txt; there notes/link.md secret.txt`;
  const first = await inside(t, path, "workspace");
  assert.equal(first.run(plant), "");
  for (const permissions of ["workspace", { shell: true, write: ["notes/*.md"] }] as const) {
    const { run } = await inside(t, path, permissions);
    const said = run(
      `ls ${outside}; cat ${outside}/secret.txt notes/link.md .git/modules/m/config b/.git/secret.txt; echo x > notes/link.md; echo reached`,
    );
    assert.match(said, /^reached$/m);
    assert.doesNotMatch(said, /SECRET|^secret\.txt$/m);
  }
  assert.equal(await readFile(join(outside, "secret.txt"), "utf8"), "SECRET\n");
});

test("what must not be written or read can't be moved away with its folder", options, async (t) => {
  const files = { ".github/workflows/ci.yml": "on: push\n", "a/private/key.txt": "KEY\n" };
  const { path } = await makeRepository(t, { ...files, "sub/.keep": "" });
  git(join(path, "sub"), "init", "-q");
  const permissions = {
    preset: "workspace",
    read: ["!a/private/**"],
    write: ["!.github/workflows/**"],
  } as const;
  const { run } = await inside(t, path, permissions);
  run(`mv .github g; mv a b; mv sub s; mkdir -p .github/workflows sub/.git/hooks
    echo evil > .github/workflows/ci.yml; echo evil > sub/.git/hooks/pre-commit`);
  assert.equal(await readFile(join(path, ".github/workflows/ci.yml"), "utf8"), "on: push\n");
  assert.equal(existsSync(join(path, "sub/.git/hooks/pre-commit")), false);
  const next = await inside(t, path, permissions);
  assert.doesNotMatch(next.run("cat */private/*"), /KEY/);
});

test("a submodule's settings can't be replaced either", options, async (t) => {
  const { path } = await makeRepository(t, { "a.txt": "a\n" });
  git(path, "-c", "protocol.file.allow=always", "submodule", "add", "-q", path, "part");
  const { run } = await inside(t, path, "workspace");
  run(
    "mkdir evil; echo ../../../evil > .git/modules/part/commondir; mv .git/modules/part .git/modules/x",
  );
  run("cp .git/config evil; git -C part config core.fsmonitor x");
  assert.equal(await readFile(join(path, ".git/modules/part/commondir"), "utf8"), ".\n");
  assert.match(git(path, "status", "--short"), /part/);
});
