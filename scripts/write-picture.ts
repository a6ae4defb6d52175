/**
 * Draws the picture in the README from a real run: `npm run picture`. With `--check`, it writes nothing and
 * fails if the picture is stale. Times are not compared, because they differ from run to run.
 */
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { terminalSvg } from "./terminal-svg.ts";

const root = join(import.meta.dirname, "..", "..");
const picture = join(root, "docs", "images", "run.svg");
const args = [
  "run",
  "examples/review/review.yml",
  "--rehearse",
  "examples/review/review.rehearsal.yml",
];

const command = ["npx", "agent-jobs", ...args].join(" ");
const { stdout } = await promisify(execFile)(
  process.execPath,
  [join(root, "build", "src", "cli", "main.js"), ...args],
  { cwd: root, env: { PATH: process.env["PATH"], HOME: process.env["HOME"], FORCE_COLOR: "1" } },
);
const output = `\u001b[32m$\u001b[39m \u001b[1m${command}\u001b[22m\n${stdout}`;
const title = "agent-jobs: a review, rehearsed";
const fresh = terminalSvg(output.replace(/\S*agent-jobs-workspace-\w+/, "/tmp/agent-jobs"), {
  title,
  columns: 112,
});

const present = await readFile(picture, "utf8").catch(() => "");
if (withoutTimes(present) === withoutTimes(fresh)) console.log("docs/images/run.svg is up to date");
else if (process.argv.includes("--check")) {
  console.error("docs/images/run.svg does not show what a run prints. Run: npm run picture");
  process.exitCode = 1;
} else {
  await mkdir(join(picture, ".."), { recursive: true });
  await writeFile(picture, fresh);
  console.log("wrote docs/images/run.svg");
}

function withoutTimes(svg: string): string {
  return svg.replaceAll(/\b\d\d:\d\d\b/g, "00:00");
}
