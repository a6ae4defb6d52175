/** Permissions against real attempts: what the runtime does when a model tries. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { test } from "node:test";
import type { ScriptedCall } from "../rig/model-server.ts";
import { attempts, bash, makeAttemptRig, patch, secret } from "./attempts.ts";
import { completed, denials } from "./rig.ts";

test("read-only reads and searches inside, and nothing outside by any road", async (t) => {
  const rig = await makeAttemptRig(t);
  const { path } = rig.workspace;
  const inside = await attempts(rig, "read-only", [
    { name: "view", arguments: { path: join(path, "inside.txt") } },
    { name: "view", arguments: { path } },
    { name: "grep", arguments: { pattern: "deep", output_mode: "content" } },
    { name: "glob", arguments: { pattern: "**/*.txt" } },
  ]);
  assert.deepEqual(denials(inside.run), []);
  assert.deepEqual(
    completed(inside.run).toolCalls.map(({ succeeded }) => succeeded),
    [true, true, true, true],
  );
  const roads: ScriptedCall[] = [
    { name: "view", arguments: { path: join(rig.outside, "secret.txt") } },
    { name: "view", arguments: { path: join(path, "sub/../../", rig.outside, "secret.txt") } },
    { name: "view", arguments: { path: `${path}/sub/../..${rig.outside}/../x` } },
    { name: "view", arguments: { path: join(path, "linked-file") } },
    { name: "view", arguments: { path: join(path, "linked-folder/secret.txt") } },
    {
      name: "view",
      arguments: { path: `${path}/linked-folder/../${basename(rig.outside)}/secret.txt` },
    },
    { name: "view", arguments: { path: rig.outside } },
    { name: "grep", arguments: { pattern: "SECRET", paths: rig.outside, output_mode: "content" } },
    { name: "grep", arguments: { pattern: "SECRET", paths: ["sub", "linked-folder"] } },
    { name: "glob", arguments: { pattern: "*", paths: rig.outside } },
    { name: "view", arguments: { path: "/proc/self/environ" } },
    { name: "view", arguments: { path: join(path, ".git/config") } },
    { name: "grep", arguments: { pattern: "bare", paths: join(path, ".git") } },
  ];
  const { run, results } = await attempts(rig, "read-only", roads);
  assert.equal(denials(run).length, roads.length, JSON.stringify(denials(run), null, 1));
  assert.ok(completed(run).toolCalls.every(({ succeeded }) => !succeeded));
  assert.doesNotMatch(JSON.stringify(results), new RegExp(secret));
  for (const result of results) {
    assert.match(
      result,
      /Denied: read of .*You may only read and search files in the working directory/,
    );
  }
});

test("read-only has no tool to write or to run anything", async (t) => {
  const rig = await makeAttemptRig(t);
  const file = join(rig.workspace.path, "new.txt");
  const { run, results } = await attempts(rig, "read-only", [
    { name: "create", arguments: { path: file, file_text: "x" } },
    { name: "bash", arguments: { command: `touch ${file}`, description: "d" } },
    { name: "web_fetch", arguments: { url: "https://example.com/" } },
    { name: "sql", arguments: { query: "select 1", description: "d" } },
    {
      name: "task",
      arguments: { name: "n", description: "d", prompt: "p", agent_type: "explore" },
    },
  ]);
  assert.ok(completed(run).toolCalls.every(({ succeeded }) => !succeeded));
  for (const result of results) assert.match(result, /does not exist/);
  assert.equal(existsSync(file), false);
});

test("workspace writes inside, and nothing outside by any road", async (t) => {
  const rig = await makeAttemptRig(t);
  const { path } = rig.workspace;
  const { run } = await attempts(rig, "workspace", [
    { name: "create", arguments: { path: join(path, "new.txt"), file_text: "new" } },
    { name: "bash", arguments: { command: "echo from-the-shell > shell.txt", description: "d" } },
    { name: "create", arguments: { path: join(rig.outside, "a.txt"), file_text: "x" } },
    { name: "create", arguments: { path: join(path, "../b.txt"), file_text: "x" } },
    { name: "create", arguments: { path: join(path, "linked-folder/c.txt"), file_text: "x" } },
    { name: "edit", arguments: { path: join(path, "linked-file"), old_str: secret, new_str: "x" } },
    { name: "create", arguments: { path: join(path, "dangling"), file_text: "x" } },
    { name: "create", arguments: { path: join(path, ".git/hooks/pre-commit"), file_text: "x" } },
  ]);
  assert.deepEqual(
    completed(run).toolCalls.map(({ succeeded }) => succeeded),
    [true, true, false, false, false, false, false, false],
  );
  assert.equal(await rig.workspace.read("shell.txt"), "from-the-shell\n");
  assert.equal(await readFile(join(rig.outside, "secret.txt"), "utf8"), `${secret}\n`);
  for (const name of ["a.txt", "c.txt", "not-yet.txt"])
    assert.equal(existsSync(join(rig.outside, name)), false);
  assert.equal(existsSync(join(path, ".git/hooks/pre-commit")), false);
});

test("a patch moves no file into the working directory or out of it", async (t) => {
  const rig = await makeAttemptRig(t);
  const { path } = rig.workspace;
  const { run } = await attempts(
    rig,
    "workspace",
    [
      patch(`*** Update File: inside.txt\n*** Move to: sub/moved.txt\n@@\n-inside\n+moved`),
      patch(
        `*** Update File: ${rig.outside}/secret.txt\n*** Move to: stolen.txt\n@@\n-${secret}\n+${secret}!`,
      ),
      patch(`*** Update File: sub/deep.txt\n*** Move to: ${rig.outside}/out.txt\n@@\n-deep\n+out`),
      patch(`*** Add File: linked-folder/added.txt\n+added`),
      patch(`*** Delete File: ${rig.outside}/secret.txt`),
    ],
    "gpt-test",
  );
  assert.deepEqual(
    completed(run).toolCalls.map(({ succeeded }) => succeeded),
    [true, false, false, false, false],
    JSON.stringify(denials(run), null, 1),
  );
  // The file that should be moved from outside isn't there for the runtime, so nobody is asked.
  assert.equal(denials(run).length, 3);
  assert.equal(await rig.workspace.read("sub/moved.txt"), "moved\n");
  assert.equal(existsSync(join(path, "stolen.txt")), false);
  assert.equal(existsSync(join(rig.outside, "secret.txt")), true);
  assert.equal(existsSync(join(rig.outside, "out.txt")), false);
  assert.equal(existsSync(join(rig.outside, "added.txt")), false);
});

test("rules add to a preset: named commands run, others are explained to the model", async (t) => {
  const rig = await makeAttemptRig(t);
  const { run, results } = await attempts(rig, { shell: ["git log *", "git status", "head *"] }, [
    bash("git log --oneline | head -3"),
    bash("git status && touch pwned"),
    bash("git log --output=pwned"),
    bash("git log $(touch pwned)"),
    bash("git status\ntouch pwned"),
    bash("git status > pwned"),
  ]);
  assert.deepEqual(
    completed(run).toolCalls.map(({ succeeded }) => succeeded),
    // What the arguments do is the sandbox's concern: nothing may be written.
    [true, false, true, false, false, true],
  );
  assert.match(results[2] ?? "", /Read-only file system/);
  assert.match(results[1] ?? "", /"touch pwned" matches no pattern of permissions\.shell/);
  assert.match(results[1] ?? "", /"git log \*"/);
  assert.equal(existsSync(join(rig.workspace.path, "pwned")), false);
  assert.deepEqual(
    denials(run).map(({ operation }) => operation),
    ["shell", "shell", "shell"],
  );
});

test("what a rule denies stays closed, also to a search from above", async (t) => {
  const rig = await makeAttemptRig(t);
  const { path } = rig.workspace;
  await mkdir(join(path, "empty"));
  const { run, results } = await attempts(rig, { read: ["!private/**"] }, [
    { name: "view", arguments: { path: join(path, "private/key.txt") } },
    { name: "grep", arguments: { pattern: "PRIVATE", output_mode: "content" } },
    {
      name: "grep",
      arguments: { pattern: "deep", paths: join(path, "sub"), output_mode: "content" },
    },
  ]);
  assert.deepEqual(
    completed(run).toolCalls.map(({ succeeded }) => succeeded),
    [false, false, true],
  );
  assert.doesNotMatch(JSON.stringify(results), /PRIVATE-KEY/);
});

test("a file that a pattern of write allows is created with its folders", async (t) => {
  const rig = await makeAttemptRig(t);
  const { path } = rig.workspace;
  const create = (file: string): ScriptedCall => ({
    name: "create",
    arguments: { path: join(path, file), file_text: "new" },
  });
  const permissions = { write: ["reports/**", "notes/*.md", "linked-folder/**"] };
  await attempts(rig, permissions, [
    create("reports/x/y.md"),
    create("notes/a.md"),
    create("others/x/y.md"),
    create("linked-folder/x/y.md"),
    create("inside.txt/x/y.md"),
  ]);
  assert.equal(await rig.workspace.read("reports/x/y.md"), "new");
  assert.equal(await rig.workspace.read("notes/a.md"), "new");
  for (const folder of [join(path, "others"), join(rig.outside, "x")])
    assert.equal(existsSync(folder), false, folder);
  const patches = [patch("*** Add File: reports/z/added.md\n+new")];
  await attempts(rig, permissions, patches, "gpt-test");
  assert.equal(await rig.workspace.read("reports/z/added.md"), "new\n");
});
