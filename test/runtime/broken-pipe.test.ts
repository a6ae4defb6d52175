import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { tolerateBrokenPipes } from "../../src/runtime/runtime-process.ts";

const run = promisify(execFile);
const module = fileURLToPath(new URL("../../src/runtime/runtime-process.js", import.meta.url));

/** Runs a program that has a rejection that nobody handles, in a process of its own. */
async function rejecting(error: string, before = ""): Promise<{ code: number; output: string }> {
  const program = `import { ${tolerateBrokenPipes.name} as tolerate } from ${JSON.stringify(module)};
    const restore = tolerate();
    ${before}
    void Promise.reject(${error});
    setTimeout(() => { console.log("alive"); restore(); }, 50);`;
  try {
    const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program]);
    return { code: 0, output: stdout };
  } catch (failure) {
    const code = failure instanceof Error && "code" in failure ? Number(failure.code) : -1;
    return { code, output: String(failure) };
  }
}

test("an error of writing into a broken pipe, caught by nobody, does not end the process", async () => {
  for (const code of ["EPIPE", "ECONNRESET"]) {
    const error = `Object.assign(new Error("write"), { code: "${code}", syscall: "write" })`;
    assert.deepEqual(await rejecting(error), { code: 0, output: "alive\n" });
  }
  const destroyed = 'Object.assign(new Error("gone"), { code: "ERR_STREAM_DESTROYED" })';
  assert.deepEqual(await rejecting(destroyed), { code: 0, output: "alive\n" });
});

test("every other rejection that nobody handles still ends the process", async () => {
  const { code, output } = await rejecting('new Error("a defect")');
  assert.equal(code, 1);
  assert.match(output, /a defect/);
  const read = 'Object.assign(new Error("read"), { code: "ECONNRESET", syscall: "read" })';
  assert.equal((await rejecting(read)).code, 1);
});

test("an application with a listener of its own keeps its own judgment", async () => {
  const own = 'process.on("unhandledRejection", () => console.log("mine"));';
  assert.deepEqual(await rejecting('new Error("a defect")', own), {
    code: 0,
    output: "mine\nalive\n",
  });
});

test("after the last runtime the process is as it was", async () => {
  const error = 'Object.assign(new Error("write"), { code: "EPIPE", syscall: "write" })';
  assert.equal((await rejecting(error, "restore();")).code, 1);
});
