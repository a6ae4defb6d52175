// Runs the compiled tests, four processes at a time. To start a process and to load the code costs more than most
// files of tests, so the files of a room whose tests change nothing of their process share one.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** Rooms whose tests leave the working directory, the environment and the streams of the process alone. */
const together = [
  "change",
  "document",
  "engine",
  "entry",
  "events",
  "evals",
  "github",
  "journal",
  "live",
  "outputs",
  "permissions",
  "protocol",
  "redaction",
  "rehearsal",
  "reports",
  "rig",
  "run",
  "server",
  "tools",
  "web",
  "workflow",
];

const root = fileURLToPath(new URL("..", import.meta.url));
const tests = join(root, "build", "test");
const groups = join(root, "build", "groups");
const files = readdirSync(tests, { recursive: true })
  .filter((name) => name.endsWith(".test.js"))
  .toSorted((a, b) => (a < b ? -1 : 1));
const roomOf = (file) => file.split(sep)[0];

rmSync(groups, { recursive: true, force: true });
mkdirSync(groups, { recursive: true });
const shared = together.map((room) => {
  const imports = files
    .filter((file) => roomOf(file) === room)
    .map((file) => `import ${JSON.stringify(`../test/${file.replaceAll(sep, "/")}`)};\n`);
  const group = join(groups, `${room}.test.js`);
  writeFileSync(group, imports.join(""));
  return group;
});
const alone = files.filter((file) => !together.includes(roomOf(file)));

const { status } = spawnSync(
  process.execPath,
  [
    "--test",
    "--test-reporter=./scripts/test-reporter.mjs",
    "--test-concurrency=4",
    "--test-timeout=600000",
    ...[...shared, ...alone.map((file) => join(tests, file))].map((file) => relative(root, file)),
  ],
  { cwd: root, stdio: "inherit" },
);
process.exitCode = status ?? 1;
