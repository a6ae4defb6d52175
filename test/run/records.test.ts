import assert from "node:assert/strict";
import { readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createRedactor } from "../../src/redaction/redactor.ts";
import { openRecords } from "../../src/run/records.ts";
import { makeWorkspace } from "../rig/workspace.ts";

test("if one record of a run can't be written, the others are left as they were", async (t) => {
  const workspace = await makeWorkspace(t, { "history/a.md": "x", "journal.jsonl": "earlier" });
  const at = (name: string): string => join(workspace.path, name);
  assert.throws(
    () =>
      openRecords(
        { journal: at("journal.jsonl"), htmlReport: at("report.html"), history: at("history") },
        { redactor: createRedactor([]) },
      ),
    /^UsageError: .*history/,
  );
  assert.equal(await workspace.read("journal.jsonl"), "earlier");
  assert.deepEqual((await readdir(workspace.path)).sort(), ["history", "journal.jsonl"]);
  if (process.platform !== "linux") return;
  const descriptors = await readdir("/proc/self/fd");
  const open = await Promise.all(
    descriptors.map((one) => readlink(`/proc/self/fd/${one}`).catch(() => "")),
  );
  assert.deepEqual(
    open.filter((path) => path.startsWith(workspace.path)),
    [],
  );
});
