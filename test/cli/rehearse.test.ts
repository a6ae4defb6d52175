import assert from "node:assert/strict";
import { cp, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { readEntry } from "../../src/run/entry-files.ts";
import type { Entry, PreparedEntry, PreparedTask, Task, Work } from "../../src/entry/model.ts";
import { share } from "../rig/nightly.ts";
import { runCli } from "../rig/cli.ts";
import { makeRepository, makeWorkspace } from "../rig/workspace.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const rehearsals = (await readdir(join(root, "entries"))).filter((file) =>
  /\.rehearsal\./.test(file),
);

const eachTask = (entry: PreparedEntry, change: (task: PreparedTask) => Task): Entry => ({
  ...entry,
  tasks: Object.fromEntries(
    Object.entries(entry.tasks).map(([name, task]) => [name, change(task)]),
  ),
});

/** What an author might break, and how a rehearsal has to notice. */
const breakages: Readonly<Record<string, (entry: PreparedEntry) => Entry>> = {
  "whose prompts say something else": (entry) =>
    eachTask(entry, (task) => ({
      ...task,
      prompt: task.requireUserInput ? "Changed: $user-input" : "Changed",
    })),
  "whose criteria are gone": (entry) => eachTask(entry, ({ criteria: _gone, ...task }) => task),
  "whose jobs do something else": (entry) => {
    const [taskId = ""] = Object.keys(entry.tasks);
    const twice: Work = {
      kind: "Par",
      works: [
        { kind: "Ref", taskId },
        { kind: "Ref", taskId },
      ],
    };
    return {
      ...entry,
      jobs: Object.fromEntries(Object.keys(entry.jobs).map((name) => [name, { work: twice }])),
    };
  },
};

describe("agent-jobs rehearse", () => {
  it("finds all example rehearsals green", async () => {
    const { code, stdout, stderr } = await runCli(["rehearse", ...rehearsals], {
      cwd: join(root, "entries"),
    });
    assert.equal(code, 0, stdout + stderr);
    const lines = stdout.trimEnd().split("\n");
    assert.equal(lines.at(-1), `${rehearsals.length} passed, 0 failed`);
    assert.deepEqual(
      lines.slice(0, -1).map((line) => line.replace(/ \(.*$/, "")),
      rehearsals.map((file) => `ok    ${file}`),
    );
  });

  for (const [name, breakIt] of share(Object.entries(breakages), 1)) {
    it(`finds every example rehearsal red with an entry ${name}`, async (t) => {
      const workspace = await makeRepository(t, {
        "README.md": "# A project\n",
        "CHANGELOG.md": "## Unreleased\n",
      });
      const folder = join(workspace.path, "entries");
      await cp(join(root, "entries"), folder, { recursive: true });
      for (const file of await readdir(folder)) {
        if (/\.rehearsal\./.test(file)) continue;
        const { entry } = await readEntry(join(folder, file));
        await writeFile(join(folder, file), stringify(breakIt(entry)));
      }
      const { code, stdout, stderr } = await runCli(["rehearse", ...rehearsals], { cwd: folder });
      assert.equal(code, 1, stdout + stderr);
      assert.equal(
        stdout.trimEnd().split("\n").at(-1),
        `0 passed, ${rehearsals.length} failed`,
        stdout,
      );
    });
  }

  const entry = {
    models: { driving: "m" },
    tasks: { a: { model: { category: "driving" }, prompt: "Say A" } },
    jobs: { job: { work: { kind: "Ref", taskId: "a" } } },
  };
  const rehearsal = (fields: object): string =>
    JSON.stringify({ entry: "e.json", sessions: [], ...fields });

  it("fails a run of that script too, with the same message as the reason", async (t) => {
    const workspace = await makeWorkspace(t, {
      "e.json": JSON.stringify(entry),
      "r.json": rehearsal({}),
    });
    const { code, stdout } = await runCli(["run", "e.json", "--rehearse", "r.json"], {
      cwd: workspace.path,
    });
    assert.equal(code, 1);
    assert.match(
      stdout.trimEnd().split("\n").at(-1) ?? "",
      /^job job failed: the rehearsal doesn't match the run: .*Say A/,
    );
  });

  it("fails a rehearsal with a rule that was never used", async (t) => {
    const workspace = await makeWorkspace(t, {
      "e.json": JSON.stringify(entry),
      "r.json": rehearsal({ sessions: [{ turns: ["A"] }, { task: "b", turns: ["B"] }] }),
    });
    const { code, stdout } = await runCli(["rehearse", "r.json"], { cwd: workspace.path });
    assert.equal(code, 1);
    assert.match(stdout, /sessions\[1\] \(r\.json:1:\d+\) was never used/);
  });

  it("exits with 2 for a file that is no rehearsal, and still runs the others", async (t) => {
    const workspace = await makeWorkspace(t, {
      "e.json": JSON.stringify(entry),
      "good.json": rehearsal({ sessions: [{ turns: ["A"] }] }),
      "bad.json": rehearsal({ sesions: [] }),
      "lost.json": rehearsal({ entry: "nope.json" }),
    });
    const { code, stdout } = await runCli(["rehearse", "bad.json", "good.json", "lost.json"], {
      cwd: workspace.path,
    });
    assert.equal(code, 2, stdout);
    assert.match(stdout, /bad\.json:1:\d+: rehearsal\.sesions: .*\(did you mean "sessions"\?\)/);
    assert.match(stdout, /ok {4}good\.json/);
    assert.match(stdout, /nope\.json: The file doesn't exist/);
    assert.match(stdout, /1 passed, 2 failed\n$/);
  });
});

describe("agent-jobs run --record", () => {
  for (const name of share([
    "examples/recipes/correct-docs-crash",
    "entries/hello-failure",
    "entries/commit-review",
    "examples/recipes/correct-docs",
  ])) {
    it(`keeps a run of ${name} as a rehearsal that replays to the same result`, async (t) => {
      const out = await makeWorkspace(t);
      const file = join(out.path, "recorded.rehearsal.yml");
      const entry = `${name.replace(/-(crash|failure)$/, "")}.yml`;
      const run = await runCli(
        ["run", entry, "--rehearse", `${name}.rehearsal.yml`, "--record", file],
        { cwd: root },
      );
      assert.equal(run.code, name.endsWith("failure") ? 1 : 0, run.stdout);
      const replay = await runCli(["rehearse", file], { cwd: out.path });
      assert.equal(replay.code, 0, `${replay.stdout}\n${await out.read("recorded.rehearsal.yml")}`);
      assert.match(
        await out.read("recorded.rehearsal.yml"),
        new RegExp(`result: ${name.endsWith("failure") ? "failed" : "succeeded"}`),
      );
    });
  }
});
