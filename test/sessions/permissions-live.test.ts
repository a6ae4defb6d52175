/** Permissions against real attempts: what the runtime does when a model tries. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../../src/platform/system-clock.ts";
import { adoptSession, type ICopilotSession } from "../../src/sessions/callbacks.ts";
import { bash, type ScriptedCall } from "../rig/model-server.ts";
import { withoutSandbox } from "../rig/sandbox.ts";
import { attempts, create, makeAttemptRig, patch, secret, view } from "./attempts.ts";
import { callbackLog, denials, makeRig, successes, turn } from "./rig.ts";

test("read-only reads and searches inside, and nothing outside by any road", async (t) => {
  const rig = await makeAttemptRig(t);
  const { path } = rig.workspace;
  const inside = await attempts(rig, "read-only", [
    view(join(path, "inside.txt")),
    view(path),
    { name: "grep", arguments: { pattern: "deep", output_mode: "content" } },
    { name: "glob", arguments: { pattern: "**/*.txt" } },
  ]);
  assert.deepEqual(denials(inside.run), []);
  assert.deepEqual(successes(inside.run), [true, true, true, true]);
  const roads: ScriptedCall[] = [
    view(join(rig.outside, "secret.txt")),
    view(join(path, "sub/../../", rig.outside, "secret.txt")),
    view(`${path}/sub/../..${rig.outside}/../x`),
    view(join(path, "linked-file")),
    view(join(path, "linked-folder/secret.txt")),
    view(`${path}/linked-folder/../${basename(rig.outside)}/secret.txt`),
    view(rig.outside),
    { name: "grep", arguments: { pattern: "SECRET", paths: rig.outside, output_mode: "content" } },
    { name: "grep", arguments: { pattern: "SECRET", paths: ["sub", "linked-folder"] } },
    { name: "glob", arguments: { pattern: "*", paths: rig.outside } },
    view("/proc/self/environ"),
    view(join(path, ".git/config")),
    { name: "grep", arguments: { pattern: "bare", paths: join(path, ".git") } },
  ];
  const { run, results } = await attempts(rig, "read-only", roads);
  assert.equal(denials(run).length, roads.length, JSON.stringify(denials(run), null, 1));
  assert.ok(!successes(run).includes(true));
  assert.doesNotMatch(JSON.stringify(results), new RegExp(secret));
  const denied = /Denied: read of .*You may only read and search files in the working directory/;
  for (const result of results) assert.match(result, denied);
});

test("read-only has no tool to write or to run anything", async (t) => {
  const rig = await makeAttemptRig(t);
  const file = join(rig.workspace.path, "new.txt");
  const { run, results } = await attempts(rig, "read-only", [
    create(file),
    bash(`touch ${file}`),
    { name: "web_fetch", arguments: { url: "https://example.com/" } },
    { name: "sql", arguments: { query: "select 1", description: "d" } },
    {
      name: "task",
      arguments: { name: "n", description: "d", prompt: "p", agent_type: "explore" },
    },
  ]);
  assert.ok(!successes(run).includes(true));
  for (const result of results) assert.match(result, /does not exist/);
  assert.equal(existsSync(file), false);
});

test("workspace writes inside, and nothing outside by any road", async (t) => {
  const rig = await makeAttemptRig(t);
  const { path } = rig.workspace;
  const { run } = await attempts(rig, "workspace", [
    create(join(path, "new.txt")),
    bash("echo from-the-shell > shell.txt"),
    create(join(rig.outside, "a.txt")),
    create(join(path, "../b.txt")),
    create(join(path, "linked-folder/c.txt")),
    { name: "edit", arguments: { path: join(path, "linked-file"), old_str: secret, new_str: "x" } },
    create(join(path, "dangling")),
    create(join(path, ".git/hooks/pre-commit")),
  ]);
  assert.deepEqual(successes(run), [true, true, false, false, false, false, false, false]);
  assert.equal(await rig.workspace.read("shell.txt"), "from-the-shell\n");
  assert.equal(await readFile(join(rig.outside, "secret.txt"), "utf8"), `${secret}\n`);
  for (const name of ["a.txt", "c.txt", "not-yet.txt"])
    assert.equal(existsSync(join(rig.outside, name)), false);
  assert.equal(existsSync(join(path, ".git/hooks/pre-commit")), false);
});

test(
  "a patch moves no file into the working directory or out of it",
  { skip: withoutSandbox },
  async (t) => {
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
        patch(
          `*** Update File: sub/deep.txt\n*** Move to: ${rig.outside}/out.txt\n@@\n-deep\n+out`,
        ),
        patch(`*** Add File: linked-folder/added.txt\n+added`),
        patch(`*** Delete File: ${rig.outside}/secret.txt`),
      ],
      "gpt-test",
    );
    assert.deepEqual(successes(run), [true, false, false, false, false]);
    // The file that should be moved from outside isn't there for the runtime, so nobody is asked.
    assert.equal(denials(run).length, 3);
    assert.equal(await rig.workspace.read("sub/moved.txt"), "moved\n");
    assert.equal(existsSync(join(path, "stolen.txt")), false);
    assert.equal(existsSync(join(rig.outside, "secret.txt")), true);
    assert.equal(existsSync(join(rig.outside, "out.txt")), false);
    assert.equal(existsSync(join(rig.outside, "added.txt")), false);
  },
);

test(
  "rules add to a preset: named commands run, others are explained to the model",
  { skip: withoutSandbox },
  async (t) => {
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
      successes(run),
      // The sandbox limits what the arguments do: nothing may be written.
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
  },
);

test("what a rule denies stays closed, also to a search from above", async (t) => {
  const rig = await makeAttemptRig(t);
  const { path } = rig.workspace;
  await mkdir(join(path, "empty"));
  const { run, results } = await attempts(rig, { read: ["!private/**"] }, [
    view(join(path, "private/key.txt")),
    { name: "grep", arguments: { pattern: "PRIVATE", output_mode: "content" } },
    { name: "grep", arguments: { pattern: "deep", paths: join(path, "sub") } },
  ]);
  assert.deepEqual(successes(run), [false, false, true]);
  assert.doesNotMatch(JSON.stringify(results), /PRIVATE-KEY/);
});

test("a file that a pattern of write allows is created with its folders", async (t) => {
  const rig = await makeAttemptRig(t);
  const { path } = rig.workspace;
  const permissions = { write: ["reports/**", "notes/*.md", "linked-folder/**"] };
  await attempts(rig, permissions, [
    create(join(path, "reports/x/y.md")),
    create(join(path, "notes/a.md")),
    create(join(path, "others/x/y.md")),
    create(join(path, "linked-folder/x/y.md")),
    create(join(path, "inside.txt/x/y.md")),
  ]);
  assert.equal(await rig.workspace.read("reports/x/y.md"), "new");
  assert.equal(await rig.workspace.read("notes/a.md"), "new");
  for (const folder of [join(path, "others"), join(rig.outside, "x")])
    assert.equal(existsSync(folder), false, folder);
  const patches = [patch("*** Add File: reports/z/added.md\n+new")];
  await attempts(rig, permissions, patches, "gpt-test");
  assert.equal(await rig.workspace.read("reports/z/added.md"), "new\n");
});

const adopt = (session: ICopilotSession) =>
  adoptSession(session, { modelId: "claude-test", clock: systemClock });

test("a denial comes between the call and its end, in a session that was lent too", async (t) => {
  const url = "http://127.0.0.1:9/";
  const rig = await makeRig(t, ({ prompt, toolResults }) =>
    prompt === "Write" && toolResults.length === 0
      ? { toolCalls: [{ name: "web_fetch", arguments: { url } }] }
      : { text: "Done." },
  );
  const permissions = { preset: "read-only", url: ["http://other.test/*"] } as const;
  const lent = await rig.lend(callbackLog([]), permissions);
  t.after(() => lent.stop());
  const own = await rig.open({ permissions });
  const order = ["tool.started", "permission.denied", "tool.ended"];
  for (const session of [own, adopt(lent)]) {
    const run = await turn(session, "Write");
    assert.deepEqual(
      denials(run).map(({ operation, target }) => [operation, target]),
      [["url", url]],
    );
    const kinds = run.activities.map(({ kind }) => kind);
    assert.deepEqual(
      kinds.filter((kind) => order.includes(kind)),
      order,
    );
  }
  // A turn that is over hears nothing of the next one.
  const before = await turn(adopt(lent), "Nothing");
  await lent.sendRequest("Write");
  assert.deepEqual(denials(before), []);
});
