// After `npm test` failed with AGENT_JOBS_FAILED_TESTS=LIST: runs the files with failures again, one at a time. A file that passes alone failed
// because of the load of the others; it is reported as flaky, and has to be fixed, but doesn't stop a change.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

const MOST = 10;
const listed = JSON.parse(readFileSync(process.argv[2], "utf8"));
const files = [...new Set(listed.flatMap(testFilesOf))];
const names = files.map((file) => relative(process.cwd(), file));

if (files.length === 0 || files.length > MOST) {
  console.error(`${files.length} test files failed. Only 1 to ${MOST} are run again.`);
  process.exit(1);
}
for (const [index, file] of files.entries()) {
  console.log(`\nAgain, alone: ${names[index]}`);
  const options = ["--test", "--test-reporter=spec", "--test-timeout=600000", file];
  const { status } = spawnSync(process.execPath, options, { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
for (const name of names)
  console.log(`Flaky: ${name} failed beside other files, and passed alone.`);

/** A failed test may be defined in a module that several test files import. */
function testFilesOf(file) {
  if (file.endsWith(".test.js")) return [file];
  const folder = dirname(file);
  const users = readdirSync(folder)
    .filter((name) => name.endsWith(".test.js"))
    .filter((name) => readFileSync(join(folder, name), "utf8").includes(`./${basename(file)}"`));
  if (users.length === 0) throw new Error(`No test file beside ${file} imports it.`);
  return users.map((name) => join(folder, name));
}
