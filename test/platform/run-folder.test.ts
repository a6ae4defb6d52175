/** This file's process has a TMPDIR of its own: what is reaped here is nobody else's. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { isRunning, sendSignal, waitUntilGone } from "../../src/platform/processes.ts";
import { makeRunFolder, reapDeadRuns } from "../../src/platform/run-folder.ts";

const temporary = realpathSync(mkdtempSync(join(tmpdir(), "test-agent-jobs-")));
process.env["TMPDIR"] = temporary;
after(() => rmSync(temporary, { recursive: true, force: true }));

/** A process that has made a run folder, started a shell with its mark, and was then killed. */
async function killedRun(): Promise<{ readonly path: string; readonly shell: number }> {
  const module = new URL("../../src/platform/run-folder.js", import.meta.url).href;
  const script = `
    const { makeRunFolder, RUN_MARK } = await import(${JSON.stringify(module)});
    const { spawn } = await import("node:child_process");
    const { path, mark } = await makeRunFolder();
    const env = { PATH: process.env.PATH, [RUN_MARK]: mark };
    const shell = spawn("sleep", ["60"], { env, detached: true, stdio: "ignore" });
    console.log(JSON.stringify({ path, shell: shell.pid }));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout, "data");
  const run: unknown = JSON.parse(String(line));
  assert.ok(typeof run === "object" && run !== null && "path" in run && "shell" in run);
  child.kill("SIGKILL");
  await once(child, "exit");
  return { path: String(run.path), shell: Number(run.shell) };
}

test("what a killed process left is ended and removed, once", async (t) => {
  const { path, shell } = await killedRun();
  t.after(() => sendSignal(shell, "SIGKILL"));
  assert.ok(isRunning(shell));
  assert.equal((await reapDeadRuns()).length, 1);
  assert.ok(await waitUntilGone([shell], 30_000));
  assert.ok(!existsSync(path));
  assert.deepEqual(await reapDeadRuns(), []);
});

test("the folder of a living process stays, whoever looks", async () => {
  const { path } = await makeRunFolder("workspace-");
  assert.deepEqual(await reapDeadRuns(), []);
  assert.ok(existsSync(path));
});

test("a pid that was given to another process is no owner; one of another place is not judged", async () => {
  const { path } = await makeRunFolder();
  const file = join(path, "owner.json");
  const owner: Record<string, unknown> = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify({ ...owner, place: "elsewhere", pid: 2 ** 22 + 1 }));
  assert.deepEqual(await reapDeadRuns(), []);
  if (process.platform !== "linux") return;
  // It could not be told when it started: then a pid that lives is taken for the owner.
  writeFileSync(file, JSON.stringify({ ...owner, started: "" }));
  assert.deepEqual(await reapDeadRuns(), []);
  writeFileSync(file, JSON.stringify({ ...owner, started: "1" }));
  assert.deepEqual(await reapDeadRuns(), [owner["mark"]]);
});

test("folders that say nothing, or nonsense, about their owner stay", async () => {
  const texts = [undefined, "", "{", "null", '{"mark":"x","pid":1,"started":"","place":""}'];
  const folders = texts.map((text, index) => {
    const folder = join(temporary, `agent-jobs-odd-${index}`);
    mkdirSync(folder);
    if (text !== undefined) writeFileSync(join(folder, "owner.json"), text);
    return folder;
  });
  assert.deepEqual(await reapDeadRuns(), []);
  assert.deepEqual(
    folders.filter((folder) => !existsSync(folder)),
    [],
  );
});

test(
  "a folder that another user made stays, whatever it says",
  { skip: process.getuid?.() !== 0 && "only root can give a folder away" },
  async () => {
    const { path } = await killedRun();
    chownSync(path, 1, 1);
    assert.deepEqual(await reapDeadRuns(), []);
    chownSync(path, 0, 0);
    assert.equal((await reapDeadRuns()).length, 1);
  },
);
