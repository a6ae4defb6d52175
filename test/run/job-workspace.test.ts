import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { CommandEnd, CommandRequest, Workspace } from "../../src/engine/ports.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { createJobWorkspace } from "../../src/run/job-workspace.ts";

interface Opened {
  readonly folder: string;
  readonly workspace: Workspace;
  readonly run: (
    run: CommandRequest["command"]["run"],
    more?: Partial<CommandRequest> & { readonly env?: readonly string[] },
  ) => Promise<CommandEnd>;
}

function temporaryDirectory(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "test-agent-jobs-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function open(t: TestContext, folder = temporaryDirectory(t)): Opened {
  const output = join(temporaryDirectory(t), "output");
  const redactor = createRedactor(["s3cret-value-of-npm"]);
  const workspace = createJobWorkspace({
    workingDirectory: folder,
    environment: { ...process.env, NPM_TOKEN: "s3cret-value-of-npm", GITHUB_TOKEN: "ghs_x" },
    mark: `test-${folder}`,
    clock: systemClock,
    redact: () => redactor.stream(),
    outputDirectory: output,
  });
  t.after(() => workspace.close());
  const run: Opened["run"] = (command, { env, ...more } = {}) =>
    workspace.runCommand({
      command: { run: command, ...(env === undefined ? {} : { env }) },
      label: "check it",
      variables: {},
      signal: new AbortController().signal,
      ...more,
    });
  return { folder, workspace, run };
}

describe("a command of the author", () => {
  it("is run by bash if it is a text, and a failure anywhere in it fails it", async (t) => {
    const { run, folder } = open(t);
    const ok = await run("echo one && echo two >&2");
    assert.ok(ok.kind === "exited" && ok.code === 0);
    assert.deepEqual(ok.tail.split("\n").toSorted(), ["one", "two"]);
    for (const script of ["false | cat", "false; true", "exit 3"]) {
      const end = await run(script);
      assert.ok(end.kind === "exited" && end.code !== 0, script);
    }
    const end = await run(["echo", "$HOME; touch pwned"]);
    assert.ok(end.kind === "exited" && end.tail === "$HOME; touch pwned");
    assert.ok(!existsSync(join(folder, "pwned")));
  });

  it("gets no token but what it names, and nothing shows that", async (t) => {
    const { run } = open(t);
    const without = await run("env");
    assert.ok(without.kind === "exited" && !/TOKEN/.test(without.tail), without.tail);
    const named = await run('test "${#NPM_TOKEN}" = 19 && echo "it is $NPM_TOKEN"', {
      env: ["NPM_TOKEN"],
    });
    assert.ok(named.kind === "exited" && named.code === 0, JSON.stringify(named));
    assert.ok(!named.tail.includes("s3cret"), named.tail);
    assert.ok(!readFileSync(named.file ?? "", "utf8").includes("s3cret"));
  });

  it("finds values in its environment, as they are", async (t) => {
    const { run, folder } = open(t);
    const item = "$(touch pwned) `x`\n'\"; ::set-output::";
    const variables = { AGENT_JOBS_ITEM: item };
    const end = await run('printf %s "$AGENT_JOBS_ITEM"', { variables, keepsOutput: true });
    assert.ok(end.kind === "exited" && end.output === item);
    assert.ok(!existsSync(join(folder, "pwned")));
    const nul = await run("true", { variables: { AGENT_JOBS_ITEM: "a\0b" } });
    assert.ok(nul.kind === "failed" && /AGENT_JOBS_ITEM would contain a NUL/.test(nul.reason));
  });

  it("ends with all that it started when the signal aborts", async (t) => {
    const { run, folder } = open(t);
    const abort = new AbortController();
    const ended = run("(trap '' TERM; sleep 60; touch late) & echo $! > pid; wait", {
      signal: abort.signal,
    });
    const pid = join(folder, "pid");
    while (!existsSync(pid) || readFileSync(pid, "utf8") === "") await new Promise(setImmediate);
    abort.abort();
    assert.equal((await ended).kind, "failed");
    // A process that nobody has waited for has no command line any more.
    const line = `/proc/${readFileSync(pid, "utf8").trim()}/cmdline`;
    assert.ok(!existsSync(line) || readFileSync(line, "utf8") === "");
  });

  it("says what is wrong with a program that isn't there", async (t) => {
    const { run } = open(t);
    const end = await run(["no-such-program"]);
    assert.ok(end.kind === "failed");
    assert.match(end.reason, /^no-such-program was not found/);
  });

  it("leaves all that it printed in the output directory, the second run after the first", async (t) => {
    const { run } = open(t);
    await run("seq 1 20000");
    const end = await run("echo last");
    assert.match(end.file ?? "", /check-it\.log$/);
    const lines = readFileSync(end.file ?? "", "utf8")
      .trim()
      .split("\n");
    assert.deepEqual([lines.length, lines[0], lines.at(-1)], [20_001, "1", "last"]);
    assert.ok(end.kind === "exited" && end.tail === "last");
  });

  it("is not led elsewhere by a link in the output directory", async (t) => {
    const { run, folder } = open(t);
    const victim = join(folder, "victim");
    writeFileSync(victim, "as it was");
    const { file = "" } = await run("echo one");
    rmSync(file);
    symlinkSync(victim, file);
    await run("echo two");
    assert.equal(readFileSync(victim, "utf8"), "as it was");
    assert.equal(readFileSync(file, "utf8"), "two\n");
    renameSync(dirname(file), join(folder, "moved"));
    symlinkSync(join(folder, "moved"), dirname(file));
    const end = await run("echo three");
    assert.ok(end.kind === "failed" && /was moved or replaced/.test(end.reason), end.kind);
  });
});

describe("the files of a job", () => {
  it("are those that git tracks, with exclusions, whatever they are called", async (t) => {
    const folder = temporaryDirectory(t);
    const git = (...args: string[]): Buffer => execFileSync("git", args, { cwd: folder });
    git("init", "-q");
    const { workspace } = open(t, folder);
    mkdirSync(join(folder, "src"));
    const names = ["src/a.ts", "src/a.test.ts", "src/two\nlines.ts", "src/ä b.ts", "gone.ts"];
    for (const name of names) writeFileSync(join(folder, name), "");
    git("add", "-A");
    execFileSync("rm", [join(folder, "gone.ts")]);
    writeFileSync(join(folder, "untracked.ts"), "");
    const files = await workspace.files(["**/*.ts", "!**/*.test.ts"]);
    assert.deepEqual(files.toSorted(), ["src/a.ts", "src/two\nlines.ts", "src/ä b.ts"].toSorted());
  });

  it("can't be listed where there is no repository", async (t) => {
    const { workspace } = open(t);
    await assert.rejects(workspace.files(["**"]), /was not in a git repository/);
  });

  it("differ once one that the globs match is written, made, removed or made a program, and not by another", async (t) => {
    for (const isRepository of [true, false]) {
      const folder = temporaryDirectory(t);
      if (isRepository) execFileSync("git", ["init", "-q"], { cwd: folder });
      const { run, workspace } = open(t, folder);
      await run("mkdir src; echo a > src/a; echo '*.log' > .gitignore; git add -A || true");
      const after = async (script: string): Promise<boolean> => {
        const isChanged = await workspace.watch(["src/**", "!src/own"]);
        await run(script);
        return isChanged();
      };
      for (const script of ["echo b > src/a", "echo > src/new", "chmod +x src/a", "rm src/new"])
        assert.equal(await after(script), true, script);
      const others = ["echo > b", "echo > src/own", "touch src/a", "echo b > src/a"];
      for (const script of [...others, ...(isRepository ? ["echo > src/x.log"] : [])])
        assert.equal(await after(script), false, script);
    }
  });
});
