import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { outputOf } from "../rig/output.ts";
import { until } from "../sessions/rig.ts";

const cli = new URL("../rig/cli.js", import.meta.url).href;

for (const signal of ["SIGTERM", "SIGINT"] as const)
  test(`a suite that ends by ${signal} leaves no server behind`, async (t) => {
    const suite = `
      const { startCli } = await import(${JSON.stringify(cli)});
      const child = startCli(["serve", "--port", "0"], { cwd: process.cwd() });
      await child.printed("/api/");
      console.log("server", child.pid, ".");`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", suite], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    t.after(() => child.kill("SIGKILL"));
    const { output, printed } = outputOf(child);
    await printed(" .\n");
    const pid = Number(/server (\d+)/.exec(output.stdout)?.[1]);
    t.after(() => isRunning(pid) && process.kill(-pid, "SIGKILL"));
    assert.ok(isRunning(pid));
    child.kill(signal);
    await once(child, "exit");
    await until(() => !isRunning(pid), "the server has ended");
  });

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
