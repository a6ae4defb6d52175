// Runs some tests of every room that starts programs as a machine without bubblewrap and without a browser does: on a
// PATH that lacks them. What is built must be there.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const selection = [
  "action/container",
  "action/workflow-files",
  "browser/actions",
  "canary/failures",
  "chaos/failures",
  "cli/output",
  "cli/own-files",
  "cli/signals",
  "cli/tool",
  "cli/workflow",
  "engine/green",
  "fuzz/green",
  "live/run-workflow",
  "recipes/templates",
  "rehearsal/player/live",
  "reports/otlp",
  "run/action-dialogues",
  "run/resume",
  "runtime/leftovers",
  "server/workflow",
  "sessions/permissions-live",
  "sessions/session",
  "tools/command-tool",
  "workflow/run/script-permissions",
];

const hidden = /^(?:bwrap|chromium.*|google-chrome.*)$/;
const programs = mkdtempSync(join(tmpdir(), "test-programs-"));
const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => existsSync(folder));
const found = new Map();
for (const folder of folders.toReversed())
  for (const name of readdirSync(folder)) found.set(name, join(folder, name));
for (const [name, path] of found) if (!hidden.test(name)) symlinkSync(path, join(programs, name));

// In CI, a missing program fails its tests.
const { CI: _, ...environment } = process.env;
const { status } = spawnSync(
  process.execPath,
  [
    "--test",
    "--test-reporter=./scripts/test-reporter.mjs",
    "--test-concurrency=4",
    "--test-timeout=600000",
    ...selection.map((name) => join("build", "test", `${name}.test.js`)),
  ],
  { env: { ...environment, PATH: programs }, stdio: "inherit" },
);
rmSync(programs, { recursive: true });
process.exitCode = status ?? 1;
