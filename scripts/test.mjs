// Runs the compiled tests, or those that are named (`cli/output`), four processes at a time. To start a process and to
// load the code takes longer than the tests of most files, so the files of a room share some processes.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { run } from "node:test";
import { dot } from "node:test/reporters";
import { fileURLToPath } from "node:url";

/** Files that change something of their process, measure it, or are slow enough to have one of their own. */
const alone = [
  /^[^/]+$/,
  /^(canary|chaos)\b/,
  /^action\/cancel/,
  /^fuzz\/(\w+-)?(expression|growth|redaction)/,
  /^host\/(kept-runtime|live-jobs|queue)/,
  /^platform\/(clock|run-folder|search-path|waiting)/,
  /^run\/run-tools/,
  /^runtime\/(broken-pipe|leftovers|provide-runtime|runtime-pool)/,
  /^sessions\/callbacks/,
];
/** Room → how many files share a process, where most of their time is that of other processes. */
const most = {
  action: 9,
  cli: 7,
  fuzz: 8,
  github: 20,
  host: 11,
  recipes: 3,
  run: 10,
  scripts: 5,
  sessions: 8,
};
/** `test/rig/nightly.ts` has this reason: such a test lacks nothing here. */
const NIGHTLY = "only in the nightly workflow";

const build = fileURLToPath(new URL("../build/", import.meta.url));
const tests = join(build, "test");
const named = process.argv.slice(2).map((name) => resolve(tests, `${name}.test.js`));
const files = named.length > 0 ? named : grouped();

const started = performance.now();
const failed = [];
const parents = new Map();
const printed = new Map();
const skipped = new Map();
let passed = 0;

const stream = run({ files, concurrency: 4, timeout: 600_000 });
stream.on("test:start", ({ file, nesting, name }) => parents.set(`${file}:${nesting}`, name));
for (const output of ["test:stdout", "test:stderr"])
  stream.on(output, ({ file, message }) =>
    printed.set(file, `${printed.get(file) ?? ""}${message}`.slice(-4000)),
  );
stream.on("test:pass", ({ details, skip }) => {
  if (details.type === "suite") return;
  if (skip === undefined) passed += 1;
  else skipped.set(skip, (skipped.get(skip) ?? 0) + 1);
});
stream.on("test:fail", ({ file, nesting, name, details }) => {
  process.exitCode = 1;
  // A group fails because of its tests, which have been reported.
  if (details.type === "suite" || details.error.failureType === "subtestsFailed") return;
  const path = Array.from({ length: nesting }, (_, level) => parents.get(`${file}:${level}`));
  const title = [...path, name].join(" > ");
  // A file that can't be loaded, or that ends before its tests do, says why in its output.
  failed.push(
    resolve(name) === file
      ? `${relative(build, file)}\n${printed.get(file) ?? ""}`
      : `${relative(build, file)}: ${title}`,
  );
});
stream.on("end", () => process.once("exit", printSummary));
stream.compose(dot).pipe(process.stdout);

function printSummary() {
  const minutes = ((performance.now() - started) / 60_000).toFixed(1);
  const nightly = skipped.get(NIGHTLY) ?? 0;
  skipped.delete(NIGHTLY);
  const left = [...skipped.values()].reduce((sum, count) => sum + count, 0);
  const later = nightly === 0 ? "" : ` (and ${nightly} left to the nightly workflow)`;
  const counts = `${passed} passed, ${failed.length} failed, ${left} skipped${later}`;
  console.log(`\n${counts}, in ${minutes} minutes`);
  for (const [reason, count] of skipped) console.log(`${count} skipped: ${reason}`);
  for (const title of failed) console.log(`✖ ${title}`);
}

/** Writes a file for each process, which imports the files that share it. */
function grouped() {
  const folder = join(build, "groups");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const names = readdirSync(tests, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.js"))
    .map((name) => name.replaceAll(sep, "/"))
    .sort();
  const isAlone = (name) => alone.some((one) => one.test(name));
  const rooms = new Map();
  for (const name of names.filter((one) => !isAlone(one))) {
    const [room] = name.split("/");
    const groups = rooms.get(room) ?? [[]];
    if (groups.at(-1).length >= (most[room] ?? Infinity)) groups.push([]);
    groups.at(-1).push(name);
    rooms.set(room, groups);
  }
  const shared = [...rooms].flatMap(([room, groups]) =>
    groups.map((group, index) => {
      const file = join(folder, `${room}-${index + 1}.test.js`);
      writeFileSync(file, group.map((name) => `import "../test/${name}";\n`).join(""));
      return file;
    }),
  );
  return [...shared, ...names.filter(isAlone).map((name) => join(tests, name))];
}
