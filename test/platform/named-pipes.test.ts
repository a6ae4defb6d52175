import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { test } from "node:test";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { makeNamedPipes, PipeReader, PipeWriter } from "../../src/platform/named-pipes.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const sh = (script: string): Promise<unknown> => promisify(execFile)("sh", ["-c", script]);

async function pipeOf(t: TestContext): Promise<string> {
  const path = `${(await makeWorkspace(t)).path}/pipe`;
  await makeNamedPipes([path], process.env);
  return path;
}

test("nothing is lost where the pipe closes before the last of it was passed on", async (t) => {
  const path = await pipeOf(t);
  let bytes = 0;
  const reader = new PipeReader(path, (piece) => {
    bytes += piece.length;
    // Masking pauses after work that takes time.
    for (const began = performance.now(); performance.now() - began < 5;);
  });
  t.after(() => reader.close());
  execFileSync("sh", ["-c", `head -c 60000 /dev/zero >'${path}'`]);
  await reader.finish();
  assert.equal(bytes, 60_000);
});

test("all that was written before the end is passed on, and what comes later is read, but not passed on", async (t) => {
  const path = await pipeOf(t);
  let all = "";
  const reader = new PipeReader(path, (bytes) => (all += Buffer.from(bytes).toString("latin1")));
  t.after(() => reader.close());
  // It keeps the pipe open, as a process in the background does, and writes more than a pipe holds.
  const background = sh(
    `exec 3>'${path}'; while [ -e '${path}' ]; do sleep 0.01; done; seq 100000 >&3`,
  );
  // Nothing is read before the call of `finish`.
  execFileSync("sh", ["-c", `seq 10000 >'${path}'; echo x >'${path}'`]);
  await reader.finish();
  assert.equal(existsSync(path), false);
  await background;
  assert.equal(all.length, 48_896);
  assert.ok(all.endsWith("10000\nx\n"));
});

test("a reader that is closed doesn't keep anybody waiting", async (t) => {
  const reader = new PipeReader(await pipeOf(t), () => {});
  const finishing = reader.finish();
  reader.close();
  await finishing;
  await reader.finish();
});

test("a program reads what was written before it started, and then the end", async (t) => {
  const path = await pipeOf(t);
  const writer = new PipeWriter(path);
  writer.write("first\n");
  const answer = sh(
    `exec 3<'${path}'; read a <&3; echo ok >'${path}.go'; cat <&3 >'${path}.rest'; echo "$a" >>'${path}.rest'`,
  );
  while (!existsSync(`${path}.go`)) await new Promise((resolve) => setImmediate(resolve));
  writer.close();
  writer.close();
  writer.write("ignored");
  await answer;
  const { stdout } = await promisify(execFile)("cat", [`${path}.rest`]);
  assert.equal(stdout, "first\n");
});
