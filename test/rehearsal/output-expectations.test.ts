/** Rehearsals that check what agents hand in, on the real runtime. */
import assert from "node:assert/strict";
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { runCli } from "../rig/cli.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const fixtures = fileURLToPath(new URL("../../../test/fixtures/outputs/", import.meta.url));

async function rehearsed(
  t: TestContext,
  expect: string,
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly stdout: string; readonly file: string }> {
  const workspace = await makeWorkspace(t, { "src/a.ts": "one\ntwo\nthree\n" });
  const { path: cwd } = workspace;
  await cp(join(fixtures, "deliver.yml"), join(cwd, "deliver.yml"));
  const script = await readFile(join(fixtures, "deliver.rehearsal.yml"), "utf8");
  await workspace.write("x.rehearsal.yml", script + expect);
  const { code, stdout, stderr } = await runCli(["rehearse", "x.rehearsal.yml", ...args], { cwd });
  const file = await readFile(join(cwd, "x.rehearsal.yml"), "utf8");
  return { code, stdout: stdout + stderr, file: file.slice(script.length) };
}

const met = `expect:
  verdict: needs-work
  findings:
    - { path: src/a.ts, line: 2, severity: warning, title: everyone, suggestion: { equals: "2" } }
    - { severity: error, message: Three is wrong, task: review }
  proposals:
    - { kind: label, labels: [bug] }
  reports:
    review: { contains: "# Report", excludes: LGTM }
`;

describe("what agents hand in", () => {
  it("is checked by a rehearsal", async (t) => {
    const { code, stdout } = await rehearsed(t, met);
    assert.equal(code, 0, stdout);
  });

  it("fails the rehearsal where it differs, with the place and what there is", async (t) => {
    const expect = `expect:
  verdict: pass
  findings:
    - { path: src/a.ts, line: 7 }
    - { severity: error }
  proposals: []
  reports: { review: LGTM }
  results: { review: { files: [a.ts] } }
`;
    const { code, stdout } = await rehearsed(t, expect);
    assert.equal(code, 1, stdout);
    for (const line of [
      /expect\.verdict \(x\.rehearsal\.yml:17:\d+\): the verdict should be pass, but it is needs-work\./,
      /expect\.findings\[0\] \(x\.rehearsal\.yml:19:\d+\): there is no finding with path "src\/a\.ts", line 7\./,
      /expect\.findings \([^)]*\): unexpected finding \{"path":"src\/a\.ts","line":2,.*Hi @everyone/,
      /expect\.proposals \([^)]*\): unexpected proposal \{.*"label"/,
      /expect\.reports\S* \([^)]*\): the report of task "review" does not contain "LGTM"; it is "# Report/,
      /expect\.results\S* \([^)]*\): the result of task "review" should be \{"files":\["a\.ts"\]\}, but there is none\./,
    ])
      assert.match(stdout, line);
    assert.equal(stdout.match(/expect\.findings/g)?.length, 2, stdout);
  });

  it("names no task that the entry lacks", async (t) => {
    const { code, stdout } = await rehearsed(t, "expect: { reports: { reviewer: x } }\n");
    assert.equal(code, 2, stdout);
    assert.match(stdout, /"reviewer".*did you mean "review"/s);
  });

  it("is written by --update, which then holds; reports stay as they are", async (t) => {
    const stale = "expect:\n  verdict: pass\n  findings: []\n  reports: { review: Report }\n";
    const updated = await rehearsed(t, stale, "--update");
    assert.match(updated.file, /verdict: needs-work/);
    assert.match(updated.file, /message: Three is wrong\./);
    assert.match(updated.file, /reports: \{ review: Report \}/);
    const again = await rehearsed(t, updated.file);
    assert.equal(again.code, 0, again.stdout);
  });
});
