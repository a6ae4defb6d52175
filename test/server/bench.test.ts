/** `npm run bench:server`, for a moment: its readers find nothing lost. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { startCli } from "../rig/cli.ts";

it("the benchmark of the server ends by itself and reports", async () => {
  const main = join(import.meta.dirname, "../../bench/server.js");
  const args = ["--seconds", "2", "--jobs", "3"];
  const { code, stdout, stderr } = await startCli(args, { cwd: import.meta.dirname, main }).ended;
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^3 jobs with 12 readers for /);
  assert.match(stdout, /\| responses read +\| +\d+ \|/);
});
