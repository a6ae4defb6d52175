/** Draws the picture in the README from a real run. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { terminalSvg } from "./terminal-svg.ts";

const root = join(import.meta.dirname, "..", "..");
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
const picture = terminalSvg(output.replace(/\S*agent-jobs-workspace-\w+/, "/tmp/agent-jobs"), {
  title,
  columns: 112,
});

await writeFile(join(root, "docs", "images", "run.svg"), picture);
console.log("wrote docs/images/run.svg");
