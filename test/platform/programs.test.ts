import assert from "node:assert/strict";
import { test } from "node:test";
import { tmpdir } from "node:os";
import { outputOf } from "../../src/platform/programs.ts";

test("the output of a program is whole, also if a child of it prints after a pause", async () => {
  const env = { PATH: process.env["PATH"] ?? "" };
  const script = "echo first; (sleep 1; echo last) &";
  const printed = await outputOf("sh", ["-c", script], { cwd: tmpdir(), env });
  assert.equal(printed.toString(), "first\nlast\n");
});
