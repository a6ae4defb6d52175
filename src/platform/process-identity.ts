/** Tells whether the process that has written something is still there: a pid alone is given to another one some day. */
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { isRunning, isZombie, statOf } from "./processes.ts";

export interface ProcessIdentity {
  readonly pid: number;
  /** When the process started, as the system counts it. */
  readonly started: string;
  /** A hash of the machine, its start and the pid namespace in which the pid means something. */
  readonly place: string;
}

export function thisProcess(): ProcessIdentity {
  const { pid } = process;
  return { pid, started: startOf(pid), place: here() };
}

/** False also for what can't be known: a process of another machine, or of another pid namespace. */
export function isGone({ pid, started, place }: ProcessIdentity): boolean {
  if (place !== here()) return false;
  if (!isRunning(pid) || isZombie(pid)) return true;
  const now = startOf(pid);
  return now !== "" && started !== "" && now !== started;
}

/** Empty if the system doesn't provide it. A live process with this pid then counts as the same. */
function startOf(pid: number): string {
  // Field 22 of all.
  return statOf(pid)[19] ?? "";
}

function here(): string {
  const place = [hostname()];
  try {
    if (process.platform === "linux")
      place.push(
        readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim(),
        readlinkSync("/proc/self/ns/pid"),
      );
  } catch {
    // The name of the machine is all that there is.
  }
  return createHash("sha256").update(place.join(" ")).digest("hex").slice(0, 16);
}
