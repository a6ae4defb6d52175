/** What a repository says about itself: its default branch, and the command that tests it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isRecord, isText, parsedJson } from "../document/guards.ts";
import { runGit } from "../platform/git.ts";
import { errorMessage } from "../platform/system-error.ts";
import { UsageError } from "../run/options.ts";

export interface Facts {
  readonly branch: string;
  readonly testCommand: string | undefined;
}

/** Throws a `UsageError` outside of a repository. */
export async function rootOf(folder: string): Promise<string> {
  try {
    return (await git(folder, "rev-parse", "--show-toplevel")).trim();
  } catch (error) {
    throw new UsageError(
      `This folder is not in a git repository. Create one with git init. (${errorMessage(error).split("\n", 1)[0]})`,
    );
  }
}

export async function factsOf(root: string): Promise<Facts> {
  return { branch: await branchOf(root), testCommand: await testCommandOf(root) };
}

/** That of the remote; without one, `main` or `master`; in a new repository, the branch that is checked out. */
async function branchOf(root: string): Promise<string> {
  const ask = async (...args: string[]): Promise<string> =>
    (await git(root, ...args).catch(() => "")).trim();
  const remote = await ask("symbolic-ref", "--short", "refs/remotes/origin/HEAD");
  if (remote.startsWith("origin/")) return remote.slice("origin/".length);
  const usual = await ask(
    "for-each-ref",
    "--format=%(refname:short)",
    "refs/heads/main",
    "refs/heads/master",
  );
  return usual.split("\n", 1)[0] || (await ask("symbolic-ref", "--short", "HEAD")) || "main";
}

/** The first that is there, with something in it that says that there are tests. */
const testCommands: readonly (readonly [file: string, sign: RegExp, command: string])[] = [
  ["Makefile", /^test:/m, "make test"],
  ["Cargo.toml", /^/, "cargo test"],
  ["go.mod", /^/, "go test ./..."],
  ["pytest.ini", /^/, "python -m pytest"],
  ["pyproject.toml", /pytest/, "python -m pytest"],
  ["tox.ini", /^/, "tox"],
  ["mvnw", /^/, "./mvnw --batch-mode test"],
  ["pom.xml", /^/, "mvn --batch-mode test"],
  ["gradlew", /^/, "./gradlew test"],
  ["mix.exs", /^/, "mix test"],
];

const packageManagers = [
  ["pnpm-lock.yaml", "pnpm test"],
  ["yarn.lock", "yarn test"],
  ["bun.lock", "bun run test"],
] as const;

async function testCommandOf(root: string): Promise<string | undefined> {
  const read = (name: string): Promise<string | undefined> =>
    readFile(join(root, name), "utf8").catch(() => undefined);
  const manifest = parsedJson((await read("package.json")) ?? "");
  const scripts = isRecord(manifest) ? manifest["scripts"] : undefined;
  const script = isRecord(scripts) ? scripts["test"] : undefined;
  // What npm init writes is no test.
  if (isText(script) && !script.includes("no test specified")) {
    for (const [lock, command] of packageManagers)
      if ((await read(lock)) !== undefined) return command;
    return "npm test";
  }
  for (const [file, sign, command] of testCommands) {
    const text = await read(file);
    if (text !== undefined && sign.test(text)) return command;
  }
  return undefined;
}

function git(cwd: string, ...args: string[]): Promise<string> {
  return runGit(args, { cwd, environment: process.env });
}
