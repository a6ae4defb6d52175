import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { isRunning } from "./processes.ts";
import { errorCode } from "./system-error.ts";

/** Undefined: a process that runs has it. Where no file can be made, nobody else can make one, and nothing is locked. */
export function lockFile(path: string): (() => void) | undefined {
  for (const isLast of [false, true]) {
    try {
      writeFileSync(path, String(process.pid), { flag: "wx" });
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (errorCode(error) !== "EEXIST") return () => {};
      if (isLast || isHeld(path)) return undefined;
      rmSync(path, { force: true });
    }
  }
  return undefined;
}

function isHeld(path: string): boolean {
  try {
    const pid = Number(readFileSync(path, "utf8"));
    // Without a number, it is just being written.
    return !(pid > 0) || isRunning(pid);
  } catch {
    return false;
  }
}
