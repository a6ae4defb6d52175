import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { parseJournal } from "../../src/journal/read.ts";
import { story } from "../events/samples.ts";
import { sealed } from "../journal/rig.ts";
import { readReport, type ReadReport } from "../reports/rig.ts";
import { runCli, cliExits, type CliResult } from "../rig/cli.ts";
import { makeWorkspace, type Workspace } from "../rig/workspace.ts";

const runOf = (runId: string): string =>
  sealed(story().map((event) => ({ ...event, runId }))).join("");

interface Reported extends Workspace {
  readonly report: (...args: readonly string[]) => Promise<CliResult>;
  readonly made: (name?: string) => Promise<ReadReport>;
}

async function workspaceOf(
  t: TestContext,
  files: Readonly<Record<string, string>>,
): Promise<Reported> {
  const workspace = await makeWorkspace(t, files);
  return {
    ...workspace,
    report: (...args) => runCli(["report", ...args], { cwd: workspace.path }),
    made: async (name = "report.html") => readReport(await workspace.read(name)),
  };
}

const runIds = ({ boot }: ReadReport): string[] => boot.runs.map(({ runId }) => runId);

test("report writes the runs of files and folders to report.html, or to the named file", async (t) => {
  const workspace = await workspaceOf(t, {
    "a.jsonl": runOf("a"),
    "nights/b.jsonl": runOf("b"),
    "nights/c.jsonl": runOf("c"),
  });
  const { stdout, stderr, code } = await workspace.report("a.jsonl", "nights");
  assert.deepEqual([stdout, stderr, code], ["report.html: 3 runs\n", "", 0]);
  assert.deepEqual(runIds(await workspace.made()), ["a", "b", "c"]);
  const { boot, script } = await workspace.made();
  assert.deepEqual(
    boot.journals.map(({ name }) => name),
    ["a.jsonl", join("nights", "b.jsonl"), join("nights", "c.jsonl")],
  );
  assert.ok(script.length > 100_000, "The page is in the file.");

  assert.equal((await workspace.report("a.jsonl", "-o", "new/folder/one.html")).code, 0);
  assert.deepEqual(runIds(await workspace.made("new/folder/one.html")), ["a"]);
});

test("report -o - prints the file, to the byte, even in a step of GitHub Actions", async (t) => {
  const workspace = await workspaceOf(t, { "a.jsonl": runOf("a") });
  await workspace.report("a.jsonl");
  const env = { GITHUB_ACTIONS: "true" };
  const { stdout } = await cliExits(0, "report a.jsonl -o -", {
    cwd: workspace.path,
    env,
  });
  const undated = (html: string): string => html.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "");
  assert.equal(undated(stdout), undated(await workspace.read("report.html")));
});

test("report of a damaged journal shows what is readable, and says what is wrong", async (t) => {
  const text = runOf("a");
  const workspace = await workspaceOf(t, {
    "damaged.jsonl": text.replace('"seq":3', '"seq":4'),
    "torn.jsonl": runOf("b").slice(0, -5),
    "notes.jsonl": "hello\n",
  });
  const torn = await workspace.report("torn.jsonl");
  assert.equal(torn.code, 0, torn.stderr);
  assert.match(torn.stderr, /^torn\.jsonl:\d+: The line is incomplete\.\n$/);

  const { code, stderr } = await workspace.report(
    "damaged.jsonl",
    "torn.jsonl",
    "notes.jsonl",
    "no.jsonl",
  );
  assert.equal(code, 1);
  assert.match(stderr, /^damaged\.jsonl:4: Expected number 3, found 4/m);
  assert.match(stderr, /^notes\.jsonl:1: The file is not a journal\.$/m);
  assert.match(stderr, /^no\.jsonl:1: The journal can't be read: ENOENT/m);
  assert.doesNotMatch(stderr, / {2}at |bug/);
  const made = await workspace.made();
  assert.deepEqual(runIds(made), ["a", "b"]);
  assert.deepEqual(
    made.boot.journals.map(({ problems }) => problems.length),
    [2, 1, 1, 1],
  );
});

test("report writes nothing if no journal can be read, or if it would overwrite one", async (t) => {
  const workspace = await workspaceOf(t, {
    "a.jsonl": runOf("a"),
    "old.jsonl": runOf("old").slice(0, 900),
    "old.log": runOf("old"),
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
    [["a.jsonl", "-o", "old.log"], /The report would overwrite the journal old\.log/],
    [["a.jsonl", "-o", "empty"], /Can't write the report empty: EISDIR/],
    [
      ["a.jsonl", "-o", "file/report.html"],
      /Can't write the report file\/report\.html: file is not a folder/,
    ],
    [["a.jsonl", "-o", ""], /-o needs a file name/],
    [["a.jsonl", ""], /The name of a journal is empty/],
    [[], /missing required argument/],
  ] as const) {
    const { code, stderr, stdout } = await workspace.report(...args);
    assert.equal(code, 2, `${args.join(" ")}: ${stderr}`);
    assert.match(stderr, why);
    assert.doesNotMatch(stderr, / {2}at |bug/);
    assert.equal(stdout, "");
  }
  assert.equal(await workspace.read("a.jsonl"), runOf("a"));
  assert.equal(await workspace.read("old.jsonl"), runOf("old").slice(0, 900));
  assert.equal(await workspace.read("old.log"), runOf("old"));
  await assert.rejects(stat(join(workspace.path, "report.html")));
  const { code, stderr } = await workspace.report("a.jsonl", "-o", "new.jsonl");
  assert.equal(code, 0, stderr);
});

test("report on a full disk suggests another file, not another TMPDIR", async (t) => {
  if (process.platform !== "linux") return t.skip("needs /dev/full");
  const { report } = await workspaceOf(t, { "a.jsonl": runOf("a") });
  const { code, stderr } = await report("a.jsonl", "-o", "/dev/full");
  assert.equal(code, 2, stderr);
  assert.match(stderr, /The disk is full\. .*another disk/);
  assert.doesNotMatch(stderr, /TMPDIR/);
});

test("run --output-dir has a report with the events of the journal", async (t) => {
  const entry = {
    models: { driving: "m" },
    tasks: {},
    jobs: { j: { work: { kind: "Run", run: "echo done" } } },
  };
  const workspace = await makeWorkspace(t, { "e.json": JSON.stringify(entry), "out/.keep": "" });
  const files = ["--output-dir", "out"];
  await cliExits(0, ["run", "e.json", ...files], { cwd: workspace.path });
  const { events } = parseJournal(await workspace.read("out/journal.jsonl"));
  const report = readReport(await workspace.read("out/report.html"));
  assert.deepEqual(report.events, events);
  assert.deepEqual(
    report.boot.runs.map(({ status }) => status),
    ["succeeded"],
  );
});
