// Builds //main:app: checks the modules of app/ one by one, and writes them to out/app without comments. The log names
// every line. //...:test runs the tests instead.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { json } from "node:stream/consumers";

const { target, config = "debug" } = await json(process.stdin);

// The result of a tool is what it writes to stdout, as JSON. Lines on stderr are its progress.
const result = target === "//...:test" ? test() : build();
console.log(JSON.stringify({ target, config, ...result }));

function build() {
  const files = modules().filter((file) => !file.endsWith(".test.mjs"));
  const log = [];
  mkdirSync("out/app", { recursive: true });
  for (const [index, file] of files.entries()) {
    console.error(`${Math.round((100 * index) / files.length)}% compiling ${file}`);
    run("--check", join("app", file));
    const lines = readFileSync(join("app", file), "utf8").split("\n");
    const kept = lines.filter((line) => config === "debug" || !line.trimStart().startsWith("//"));
    writeFileSync(join("out/app", file), kept.join("\n"));
    for (const [at, line] of lines.entries()) {
      log.push({ file: `app/${file}`, line: at + 1, kept: kept.includes(line), text: line });
    }
  }
  return { files: files.length, log };
}

function test() {
  console.error("running the tests");
  const files = modules().filter((file) => file.endsWith(".test.mjs"));
  const output = run("--test", "--test-reporter=tap", ...files.map((file) => join("app", file)));
  const count = (what) => Number(new RegExp(`^# ${what} (\\d+)$`, "m").exec(output)?.[1]);
  return { tests: count("tests"), passed: count("pass") };
}

function modules() {
  return readdirSync("app").sort();
}

function run(...args) {
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env });
  if (status === 0) return stdout;
  // A tool that exits with another code than 0 has failed. The end of its stderr says why.
  console.error(stdout + stderr);
  process.exit(1);
}
