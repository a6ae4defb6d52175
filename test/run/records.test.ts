import assert from "node:assert/strict";
import { link, mkdir, readdir, readFile, readlink, symlink, truncate } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { checkRecords, openRecords } from "../../src/run/records.ts";
import { makeWorkspace } from "../rig/workspace.ts";
import { prepareRun } from "../../src/run/prepare.ts";
import { executeRun } from "../../src/run/execute.ts";
import { readReport } from "../reports/rig.ts";
import { asFlag } from "../../src/run/options.ts";
import { checkOutputs, readUserInputFile } from "../../src/run/options-paths.ts";
import { JobHost } from "../../src/host/job-host.ts";
import { modelServer } from "../rig/model-server.ts";
import { create } from "../sessions/attempts.ts";
import { readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import type { RunEvent } from "../../src/events/event.ts";
import { openOutputDirectory } from "../../src/run/output-directory.ts";
import { alive } from "../github/alive.ts";
import { tell } from "../rig/tell.ts";

test("if one record of a run can't be written, the others are left as they were", async (t) => {
  const workspace = await makeWorkspace(t, { "history/a.md": "x", "journal.jsonl": "earlier" });
  const at = (name: string): string => join(workspace.path, name);
  await assert.rejects(
    openRecords(
      { journal: at("journal.jsonl"), htmlReport: at("report.html"), history: at("history") },
      { redactor: createRedactor([]) },
    ),
    /^UsageError: .*history.*contains other files/,
  );
  assert.equal(await workspace.read("journal.jsonl"), "earlier");
  assert.deepEqual((await readdir(workspace.path)).sort(), ["history", "journal.jsonl"]);
  if (process.platform !== "linux") return;
  for (const one of await readdir("/proc/self/fd")) {
    const path = await readlink(`/proc/self/fd/${one}`).catch(() => "");
    assert.ok(!path.startsWith(workspace.path), path);
  }
});

const entries = join(import.meta.dirname, "../../../entries");

test("a report can be saved before the run has ended, with the events so far", async (t) => {
  const { path } = await makeWorkspace(t);
  let save: (() => Promise<void>) | undefined;
  let saved: Promise<void> | undefined;
  const options = {
    entryFile: join(entries, "hello.yml"),
    rehearse: join(entries, "hello.rehearsal.yml"),
    outputDir: path,
    environment: process.env,
    reporters: [
      { report: ({ type }) => void (type === "turn.ended" ? (saved ??= save?.()) : undefined) },
    ],
  } satisfies Parameters<typeof prepareRun>[0];
  const onStarted = (how: () => Promise<void>): void => void (save = how);
  const { outcome, complete } = await executeRun(await prepareRun(options), options, { onStarted });
  assert.deepEqual([outcome.kind, complete], ["succeeded", true]);
  assert.ok(saved !== undefined);
  await saved;
  const { boot, events } = readReport(await readFile(join(path, "report.html"), "utf8"));
  assert.equal(boot.runs.map(({ status }) => status).join(), "running");
  assert.equal(events.at(-1)?.type, "turn.ended");
});

test("an output may not be an input or another output by any name: itself, a link to it, a hard link, a linked folder", async (t) => {
  const { path } = await makeWorkspace(t, { "entry.yml": "x" });
  const at = (name: string): string => join(path, name);
  await mkdir(at("out"));
  await symlink(at("entry.yml"), at("link.yml"));
  await link(at("entry.yml"), at("hard.yml"));
  await symlink(at("out"), at("linked"));
  for (const name of ["entry.yml", "out/../entry.yml", "link.yml", "hard.yml"]) {
    assert.throws(() => checkOutputs([at("entry.yml")], { journal: at(name) }), /would overwrite/);
  }
  assert.throws(
    () => checkOutputs([], { journal: at("out/new"), recording: at("linked/new") }),
    /would overwrite/,
  );
  for (const record of ["journal", "record", "htmlReport", "history"]) {
    assert.throws(
      () => checkRecords([at("entry.yml")], { [record]: at("link.yml") }),
      /would overwrite/,
      record,
    );
  }
  checkOutputs([at("entry.yml")], { journal: at("out/a"), recording: at("linked/b") });
  checkOutputs([at("entry.yml")], { journal: at("entry.yml/j"), recording: undefined });
});

test("a file of user input that can't be read is named by its option; where others may have made it, it is a regular file of up to 10 MB", async (t) => {
  const { path } = await makeWorkspace(t, { "input.txt": "hello\n", "large.txt": "" });
  const at = (name: string): string => join(path, name);
  await truncate(at("large.txt"), 10 * 1024 * 1024 + 1);
  assert.equal(await readUserInputFile(at("input.txt"), asFlag), "hello\n");
  const refused = (name: string): Promise<string> =>
    readUserInputFile(at(name), asFlag, { regular: true });
  await assert.rejects(refused("missing"), /^UsageError: Can't read --user-input-file: ENOENT/);
  await assert.rejects(refused("."), /it is not a regular file/);
  await assert.rejects(refused("large.txt"), /it has 10485761 bytes/);
  assert.equal(await refused("input.txt"), "hello\n");
});

test("file tools write to no journal, no feed and no file of the step of a host", async (t) => {
  const workspace = await makeWorkspace(t, { "step/a": "", "feeds/a": "", "journals/a": "" });
  const names = ["step/env", "journals/new.jsonl", "feeds/1", "notes.md"];
  const server = await modelServer(t, ({ toolResults }) =>
    toolResults.length > 0
      ? { text: "The end." }
      : { toolCalls: names.map((name) => create(join(workspace.path, name))) },
  );
  const { PATH = "", HOME = "" } = process.env;
  const host = new JobHost({
    provider: { baseUrl: server.baseUrl },
    journals: join(workspace.path, "journals"),
    feedsFolder: join(workspace.path, "feeds"),
    environment: { PATH, HOME, GITHUB_ENV: join(workspace.path, "step/env") },
  });
  t.after(() => host.close());
  await host.installJobsEntry({
    models: { driving: "claude-test" },
    permissions: { write: ["**"] },
    tasks: { t: { prompt: "go", model: { category: "driving" } } },
    jobs: { j: { work: { kind: "Ref", taskId: "t" } } },
  });
  const { outcome } = await host.runJob("j", { workingDirectory: workspace.path });
  assert.deepEqual(outcome, { kind: "succeeded" });
  const results = server.requests.at(-1)?.toolResults ?? [];
  assert.deepEqual(
    results.map((result) => /agent-jobs writes this file itself/.test(result)),
    [true, true, true, false],
    results.join("\n"),
  );
  assert.equal(await workspace.read("notes.md"), "new");
});

const stamp = { runId: "r", seq: 1, at: 1 };
const given = (markdown: string): RunEvent => ({
  ...stamp,
  type: "report.given",
  work: { workId: 1, taskId: "plan", iteration: 1 },
  markdown,
});
const ended: RunEvent = { ...stamp, type: "run.ended", outcome: { kind: "succeeded" } };

test("the report of the job is whole, however long it is", async (t) => {
  const folder = join((await makeWorkspace(t)).path, "out");
  const output = openOutputDirectory(folder);
  const long = "é".repeat(128_000);
  tell(output, given(long));
  tell(output, ended);
  for (const name of ["plan.md", "report.md"])
    assert.equal(readFileSync(join(folder, name), "utf8"), `${long}\n`, name);
});

test("a report that no longer counts is not in the folder", async (t) => {
  const folder = join((await makeWorkspace(t)).path, "out");
  const output = openOutputDirectory(folder);
  tell(output, given("of a shard that was killed"));
  const work = { workId: 1, taskId: "plan", iteration: 2 };
  tell(output, { ...stamp, type: "work.started", work });
  const outcome = { kind: "skipped", reason: "shard 1/2 did not finish" } as const;
  tell(output, { ...stamp, type: "work.ended", work, outcome });
  tell(output, ended);
  assert.deepEqual(readdirSync(folder).toSorted(), ["index.md", "run.json"]);
});

test("the index shows titles and items as text", async (t) => {
  const folder = join((await makeWorkspace(t)).path, "out");
  const output = openOutputDirectory(folder);
  const title = "[x](https://evil.example) @all <b>";
  tell(output, {
    ...stamp,
    type: "report.given",
    work: { workId: 1, taskId: "plan", iteration: 1, item: "a](b)`\n- c", outerItems: [] },
    title,
    markdown: "x",
  });
  tell(output, ended);
  const index = readFileSync(join(folder, "index.md"), "utf8");
  assert.deepEqual(alive(index, { links: [] }), ["a link: plan-a-b---c.md"]);
  assert.ok(index.includes(title), index);
});

test("links that an agent has put into the folder, or in its place, lead nowhere", async (t) => {
  const { path } = await makeWorkspace(t);
  const folder = join(path, "out");
  const victim = join(path, "victim");
  writeFileSync(victim, "as it was");
  const output = openOutputDirectory(folder);
  for (const name of ["plan.md", "report.md", "index.md", "run.json"])
    symlinkSync(victim, join(folder, name));
  tell(output, given("hostile"));
  tell(output, ended);
  assert.equal(readFileSync(victim, "utf8"), "as it was");
  assert.equal(readFileSync(join(folder, "report.md"), "utf8"), "hostile\n");
  renameSync(folder, join(path, "moved"));
  symlinkSync(join(path, "moved"), folder);
  assert.throws(() => tell(output, given("more")), /was moved or replaced during the run/);
});
