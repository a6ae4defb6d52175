// Runs the compiled tests, four processes at a time. To start a process and to load the code costs more than most
// files of tests, so files of a room share one.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** Files that change something of their process, measure it, or are slow enough to have one of their own. */
const alone = [
  /^(canary|chaos)\b/,
  /^action\/cancel/,
  /^fuzz\/(\w+-)?(expression|growth|redaction)/,
  /^live\/live-jobs/,
  /^platform\/(clock|run-folder|search-path|waiting)/,
  /^run\/run-tools/,
  /^runtime\/(broken-pipe|leftovers|provide-runtime|runtime-pool)/,
  /^sessions\/callbacks/,
];
/** Of one process. Most of what the tests of these rooms take is the time of other processes. */
const most = {
  action: 9,
  cli: 7,
  fuzz: 8,
  live: 10,
  recipes: 3,
  run: 10,
  scripts: 5,
  server: 12,
  sessions: 8,
};

const root = fileURLToPath(new URL("..", import.meta.url));
const tests = join(root, "build", "test");
const folder = join(root, "build", "groups");
const files = readdirSync(tests, { recursive: true })
  .filter((name) => name.endsWith(".test.js"))
  .toSorted((a, b) => (a < b ? -1 : 1));
const names = files.map((file) => file.replaceAll(sep, "/").slice(0, -".test.js".length));
const own = names.filter((name) => !name.includes("/") || alone.some((one) => one.test(name)));
const groups = new Map();
for (const name of names) {
  if (own.includes(name)) continue;
  const [room] = name.split("/");
  const inRoom = groups.get(room) ?? [[]];
  if (inRoom.at(-1).length >= (most[room] ?? Infinity)) inRoom.push([]);
  inRoom.at(-1).push(name);
  groups.set(room, inRoom);
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const shared = [...groups].flatMap(([room, parts]) =>
  parts.map((part, index) => {
    const group = join(folder, `${room}${parts.length === 1 ? "" : `-${index + 1}`}.test.js`);
    const imports = part.map((name) => `import "../test/${name}.test.js";\n`);
    writeFileSync(group, imports.join(""));
    return group;
  }),
);

const { status } = spawnSync(
  process.execPath,
  [
    "--test",
    "--test-reporter=./scripts/test-reporter.mjs",
    "--test-concurrency=4",
    "--test-timeout=600000",
    ...[...shared, ...own.map((name) => join(tests, `${name}.test.js`))].map((file) =>
      relative(root, file),
    ),
  ],
  { cwd: root, stdio: "inherit" },
);
process.exitCode = status ?? 1;
