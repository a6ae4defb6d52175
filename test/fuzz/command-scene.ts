/**
 * A folder with canaries in it and around it, in which allowed commands really run: whatever prints one has read a
 * file that is none of its arguments, or has run a program of the checkout.
 */
import { execFile } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { makeWorkspace } from "../rig/workspace.ts";

export interface Scene {
  readonly path: string;
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
}

export function run(
  program: string,
  args: readonly string[],
  { path, env }: Scene,
): Promise<string> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      [...args],
      {
        cwd: path,
        env,
        timeout: 10_000,
        killSignal: "SIGKILL",
        maxBuffer: 1e8,
        encoding: "latin1",
      },
      (_error, stdout, stderr) => resolve(stdout + stderr),
    );
    child.stdin?.end();
  });
}

export async function makeScene(t: TestContext): Promise<Scene> {
  const { path: root } = await makeWorkspace(t);
  const path = join(root, "repo");
  const write = (name: string, text: string, mode = 0o644): void => {
    mkdirSync(join(root, name, ".."), { recursive: true });
    writeFileSync(join(root, name), text, { mode });
  };
  const env = {
    PATH: "/usr/bin:/bin",
    HOME: join(root, "home"),
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    LC_ALL: "C",
    // As in the shells of agents, and of EXECUTE under patterns.
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "safe.bareRepository",
    GIT_CONFIG_VALUE_0: "explicit",
  };
  const scene = { path, root, env };
  write("outside/secret.txt", "canary-OUTSIDE\ncanary-OUTSIDE two\n");
  write("home/.ssh/id", "canary-HOME\n");
  write("home/notes.txt", "canary-HOME\n");
  for (const name of ["docs/a.md", "docs/b.md"]) write(`repo/${name}`, "x one\nx two, 2\nx one\n");
  write("repo/words", "b 2\na 1\n");
  write("repo/scripts/a.js", "console.log(process.argv.slice(2).join(' '));");
  // In two parts: whoever reads the file has not run it.
  write("repo/src/evil.js", "console.log('canary' + '-RAN');");
  write("repo/evil", "#!/bin/sh\nprintf 'canary'; printf -- '-RAN'; touch found\n", 0o755);
  // What a variable that is set to 10 would lead to, and repositories of the checkout.
  const evil = "printf 'canary' >&2; printf -- '-RAN' >&2; exit 1";
  write("repo/10/git", `#!/bin/sh\n${evil}\n`, 0o755);
  const configuration = `[core]\nrepositoryformatversion = 0\nbare = false\nworktree = .\nfsmonitor = "${evil};"\n`;
  write("repo/10/.gitconfig", configuration);
  write("repo/bare/config", configuration);
  write("repo/bare/HEAD", "ref: refs/heads/x\n");
  for (const name of ["objects", "refs"]) write(`repo/bare/${name}/a`, "");
  await run("git", ["init", "-q", "--bare", `${path}/evil.git`], { ...scene, path: root });
  write("repo/evil.git/hooks/pre-receive", `#!/bin/sh\n${evil}\n`, 0o755);
  write("repo/.gitattributes", "* diff=x filter=x merge=x\n");
  write("repo/5", "x\n");
  write("repo/e.", "x\n");
  for (const name of ["5link", "elink", "https:/x", "x=/link"]) {
    mkdirSync(join(path, name, ".."), { recursive: true });
    symlinkSync(join(root, "outside/secret.txt"), join(path, name));
  }
  write("repo/list", "../outside/secret.txt\n.env\n");
  write("repo/list0", "../outside/secret.txt\0.env\0");
  write("repo/.gitignore", ".env*\n");
  symlinkSync("../outside/secret.txt", join(path, "link"));
  symlinkSync("../outside", join(path, "linkdir"));
  for (const args of ["init -q", "add -A", "commit -qm x", "commit -qm y --allow-empty"]) {
    await run(
      "git",
      ["-c", "user.name=x", "-c", "user.email=x@x.invalid", ...args.split(" ")],
      scene,
    );
  }
  await run("tar", ["-cf", "a.tar", "docs", "scripts"], scene);
  for (const name of [".env", ".env.local", "sub/.env"]) write(`repo/${name}`, "canary-ENV\n");
  await run("git", ["config", "http.extraheader", "canary-GIT"], scene);
  await run("git", ["config", "gpg.program", "./evil"], scene);
  // A commit with a signature, for whatever would check it.
  const signed = `git cat-file commit HEAD | sed '/^committer/a gpgsig x' | git hash-object -t commit -w --stdin`;
  await run("/bin/bash", ["-c", `git reset -q --soft $(${signed})`], scene);
  return scene;
}

/** Names, sizes and times of all files. Git keeps notes for itself in these two. */
export function snapshot(folder: string): string {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== "index" && name !== "FETCH_HEAD")
    .map((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return snapshot(path);
      const { size, mtimeMs, ino } = lstatSync(path);
      return `${path} ${size} ${mtimeMs} ${ino}`;
    })
    .join("\n");
}
