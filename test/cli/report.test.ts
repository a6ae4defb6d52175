import assert from "node:assert/strict";
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { parseJournal } from "../../src/journal/read.ts";
import { story } from "../events/samples.ts";
import { sealed } from "../journal/rig.ts";
import { readReport, type ReadReport } from "../report/rig.ts";
import { runCli, type CliResult } from "../rig/cli.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

const entries = join(import.meta.dirname, "../../../entries");
const runOf = (runId: string): string =>
  sealed(story().map((event) => ({ ...event, runId }))).join("");

interface Reported extends Workspace {
  run(...args: readonly string[]): Promise<CliResult>;
  report(name?: string): Promise<ReadReport>;
}

async function workspaceOf(
  t: TestContext,
  files: Readonly<Record<string, string>>,
): Promise<Reported> {
  const workspace = await makeWorkspace(t, files);
  return {
    ...workspace,
    run: (...args) => runCli(["report", ...args], { cwd: workspace.path }),
    report: async (name = "report.html") => readReport(await workspace.read(name)),
  };
}

const runIds = ({ boot }: ReadReport): string[] => boot.runs.map(({ runId }) => runId);

test("report writes the runs of files and folders to report.html, or to the named file", async (t) => {
  const { run, report } = await workspaceOf(t, {
    "a.jsonl": runOf("a"),
    "nights/b.jsonl": runOf("b"),
    "nights/c.jsonl": runOf("c"),
  });
  const { stdout, stderr, code } = await run("a.jsonl", "nights");
  assert.deepEqual([stdout, stderr, code], ["report.html: 3 runs\n", "", 0]);
  assert.deepEqual(runIds(await report()), ["a", "b", "c"]);
  const { boot, script } = await report();
  assert.deepEqual(
    boot.journals.map(({ name }) => name),
    ["a.jsonl", join("nights", "b.jsonl"), join("nights", "c.jsonl")],
  );
  assert.ok(script.length > 100_000, "The page is in the file.");

  assert.equal((await run("a.jsonl", "-o", "new/folder/one.html")).code, 0);
  assert.deepEqual(runIds(await report("new/folder/one.html")), ["a"]);
});

test("report -o - prints the file, to the byte, even in a step of GitHub Actions", async (t) => {
  const { path, run, read } = await workspaceOf(t, { "a.jsonl": runOf("a") });
  await run("a.jsonl");
  const env = { GITHUB_ACTIONS: "true" };
  const { stdout, code } = await runCli(["report", "a.jsonl", "-o", "-"], { cwd: path, env });
  assert.equal(code, 0);
  const undated = (html: string): string => html.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "");
  assert.equal(undated(stdout), undated(await read("report.html")));
});

test("report of a damaged journal shows what is readable, and says what is wrong", async (t) => {
  const text = runOf("a");
  const { run, report } = await workspaceOf(t, {
    "damaged.jsonl": text.replace('"seq":3', '"seq":4'),
    "torn.jsonl": runOf("b").slice(0, -5),
    "notes.jsonl": "hello\n",
  });
  const torn = await run("torn.jsonl");
  assert.equal(torn.code, 0, torn.stderr);
  assert.match(torn.stderr, /^torn\.jsonl:\d+: The line is incomplete\.\n$/);

  const { code, stderr } = await run("damaged.jsonl", "torn.jsonl", "notes.jsonl", "no.jsonl");
  assert.equal(code, 1);
  assert.match(stderr, /^damaged\.jsonl:4: The line was changed/m);
  assert.match(stderr, /^notes\.jsonl:1: The file is not a journal\.$/m);
  assert.match(stderr, /^no\.jsonl:1: The journal can't be read: ENOENT/m);
  assert.doesNotMatch(stderr, / {2}at |bug/);
  const made = await report();
  assert.deepEqual(runIds(made), ["a", "b"]);
  assert.deepEqual(
    made.boot.journals.map(({ problems }) => problems.length),
    [1, 1, 1, 1],
  );
});

test("report writes nothing if no journal can be read, or if it would overwrite one", async (t) => {
  const { path, run, read } = await workspaceOf(t, {
    "a.jsonl": runOf("a"),
    "old.jsonl": runOf("old").slice(0, 900),
    "notes.jsonl": "hello\n",
    "empty/x.txt": "",
    file: "",
  });
  for (const [args, why] of [
    [
      ["notes.jsonl", "no.jsonl"],
      /No journal can be read\.\nnotes\.jsonl: .*\nno\.jsonl: .*ENOENT/,
    ],
    [["empty"], /There are no \*\.jsonl files in empty/],
    [["a.jsonl", "-o", "a.jsonl"], /The report a\.jsonl would overwrite a\.jsonl/],
    [["a.jsonl", "-o", "./empty/../a.jsonl"], /would overwrite/],
    [["a.jsonl", "-o", "old.jsonl"], /The report would overwrite the journal old\.jsonl/],
    [["a.jsonl", "-o", "empty"], /Can't write the report empty: EISDIR/],
    [["a.jsonl", "-o", "file/report.html"], /Can't write the report file\/report\.html: /],
    [[], /missing required argument/],
  ] as const) {
    const { code, stderr, stdout } = await run(...args);
    assert.equal(code, 2, `${args.join(" ")}: ${stderr}`);
    assert.match(stderr, why);
    assert.doesNotMatch(stderr, / {2}at |bug/);
    assert.equal(stdout, "");
  }
  assert.equal(await read("a.jsonl"), runOf("a"));
  assert.equal(await read("old.jsonl"), runOf("old").slice(0, 900));
  await assert.rejects(stat(join(path, "report.html")));
});

test("report replaces an earlier report", async (t) => {
  const { run, report } = await workspaceOf(t, { "a.jsonl": runOf("a"), "b.jsonl": runOf("b") });
  await run("a.jsonl", "b.jsonl");
  assert.equal((await run("b.jsonl")).code, 0);
  assert.deepEqual(runIds(await report()), ["b"]);
});

test("run --html-report has the events of the journal", async (t) => {
  const { path } = await makeWorkspace(t);
  await mkdir(join(path, "out"));
  const { code, stderr } = await runCli(
    [
      ...["run", join(entries, "commit-review.yml")],
      ...["--rehearse", join(entries, "commit-review.rehearsal.yml")],
      ...["--journal", "out/run.jsonl", "--html-report", "out/run.html"],
    ],
    { cwd: path },
  );
  assert.equal(code, 0, stderr);
  const { events } = parseJournal(await readFile(join(path, "out/run.jsonl"), "utf8"));
  const report = readReport(await readFile(join(path, "out/run.html"), "utf8"));
  assert.deepEqual(report.events, events);
  assert.deepEqual(
    report.boot.runs.map(({ status }) => status),
    ["succeeded"],
  );
});
