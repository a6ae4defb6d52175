/** A folder of a test's own, removed when the test ends. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { unconfinedFile } from "./sandbox.ts";

const run = promisify(execFile);

export interface Workspace {
  /** Absolute, without symbolic links. */
  readonly path: string;
  /** Writes a file (parents included) and returns its absolute path. */
  write(name: string, content: string): Promise<string>;
  read(name: string): Promise<string>;
  /** Resolves when the file holds `text`. */
  holds(name: string, text: string): Promise<void>;
  /** Runs git in the folder and returns its standard output. */
  readonly git: (...args: string[]) => Promise<string>;
}

/** A test, or the `after` of a file. */
export interface Owner {
  after(remove: () => Promise<void>): void;
}

/** `files`: name → content. */
export async function makeWorkspace(
  test: Owner,
  files: Readonly<Record<string, string>> = {},
): Promise<Workspace> {
  // Each run looks for leftovers of dead ones in folders whose names begin with agent-jobs-.
  const path = await realpath(await mkdtemp(join(tmpdir(), "test-agent-jobs-")));
  test.after(() => rm(path, { recursive: true, force: true, maxRetries: 5 }));
  const workspace: Workspace = {
    path,
    async write(name, content) {
      const file = join(path, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, unconfinedFile(name, content));
      return file;
    },
    read: (name) => readFile(join(path, name), "utf8"),
    async holds(name, text) {
      for (let tries = 0; ; tries += 1) {
        const content = await readFile(join(path, name), "utf8").catch(() => "");
        if (content.includes(text)) return;
        if (tries === 1_800)
          throw new Error(`${name} does not hold ${text}:\n${content.slice(-2000)}`);
        await sleep(100);
      }
    },
    async git(...args) {
      const { stdout } = await run("git", args, { cwd: path, env: gitEnvironment(path) });
      return stdout;
    },
  };
  for (const [name, content] of Object.entries(files)) await workspace.write(name, content);
  return workspace;
}

/** A workspace that is a git repository with all of `files` in its first commit. */
export async function makeRepository(
  test: Owner,
  files: Readonly<Record<string, string>> = { "README.md": "# A repository\n" },
): Promise<Workspace> {
  const workspace = await makeWorkspace(test, files);
  await workspace.git("init", "--quiet", "--initial-branch=main");
  await workspace.git("add", "--all");
  await workspace.git("commit", "--quiet", "--message=The first commit");
  return workspace;
}

/** Nothing of the machine's own git configuration gets in. */
function gitEnvironment(home: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    HOME: home,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_AUTHOR_NAME: "A. Tester",
    GIT_AUTHOR_EMAIL: "tester@example.invalid",
    GIT_COMMITTER_NAME: "A. Tester",
    GIT_COMMITTER_EMAIL: "tester@example.invalid",
  };
}
