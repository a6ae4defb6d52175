/** The system runs out of files, processes or memory. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { describe, it } from "node:test";
import { processesMarked } from "../../src/platform/processes.ts";
import { runToEnd } from "../../src/platform/programs.ts";
import { errorMessage } from "../../src/platform/system-error.ts";
import { makeRig } from "./rig.ts";

/** Runs `body` while this process can open no more than `free` further files. */
async function withFewFiles<T>(free: number, body: () => Promise<T>): Promise<T> {
  const limit = (soft: string): void =>
    void execFileSync("prlimit", ["--pid", `${process.pid}`, `--nofile=${soft}:`]);
  const taken: number[] = [];
  limit("256");
  try {
    for (;;) taken.push(openSync("/dev/null", "r"));
  } catch {
    // All are taken.
  }
  for (const fd of taken.splice(0, free)) closeSync(fd);
  try {
    return await body();
  } finally {
    for (const fd of taken) closeSync(fd);
    limit("4096");
  }
}

describe("a process that may not open more files", { skip: process.platform !== "linux" }, () => {
  for (const free of [0, 3]) {
    it(`says so when the runtime does not start (${free} left)`, async (t) => {
      const rig = await makeRig(t, () => ({ text: "hi" }));
      const crash = await withFewFiles(free, () => rig.refusal());
      assert.equal(crash.cause, "start-failed");
      assert.match(crash.message, /EMFILE.*ulimit -n/);
      await rig.open();
      // And nobody was sent a signal for a process that never was: the first to be hit would be this one.
    });
  }

  it("says so when a program does not start", async () => {
    const { signal } = new AbortController();
    const ended = await withFewFiles(1, () => runToEnd("true", [], { cwd: "/", env: {}, signal }));
    assert.equal(ended.kind, "not-started");
    assert.match(JSON.stringify(ended), /EMFILE.*ulimit -n/);
  });

  it("still finds the processes of a mark", async (t) => {
    const mark = `fds-${process.pid}`;
    const child = spawn("sleep", ["60"], { env: { ...process.env, USER: mark }, stdio: "ignore" });
    t.after(() => child.kill());
    const found = await withFewFiles(20, () => processesMarked("USER", mark));
    assert.deepEqual(found, [child.pid]);
  });
});

it("errors of the system say what to do, others only what they are", () => {
  const of = (code: string): Error => Object.assign(new Error(`spawn x ${code}`), { code });
  for (const code of ["EMFILE", "ENFILE", "EAGAIN", "ENOMEM", "ENOSPC", "EDQUOT"]) {
    assert.match(errorMessage(of(code)), new RegExp(`^spawn x ${code}\\. [A-Z].+`));
  }
  assert.equal(errorMessage(of("EACCES")), "spawn x EACCES");
  assert.equal(errorMessage("no"), "no");
});
