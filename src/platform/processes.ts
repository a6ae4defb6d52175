/**
 * Looking at and ending processes. Nothing is ever ended by name: only a pid that we started, or one
 * whose environment carries a mark that we gave it.
 */
import { execFile, type ChildProcess } from "node:child_process";
import { closeSync, openSync, promises as fs, readdirSync, readFileSync, readSync } from "node:fs";
import { constants } from "node:os";
import { basename } from "node:path";
import { systemClock } from "./system-clock.ts";
import { childEnvironment, processEnvironment } from "./environment.ts";
import { findProgram } from "./search-path.ts";
import { errorCode, errorMessage } from "./system-error.ts";
import { within } from "./waiting.ts";

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

/** Sends a signal; a process that is already gone, or is not ours, is no error. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  // 0 and below are groups of processes, our own among them.
  if (!(pid > 0)) return;
  try {
    process.kill(pid, signal);
  } catch {
    // Gone, or not ours to end.
  }
}

/** The same to a process that leads a group, and to all of its group; also when the leader is gone. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  if (!(leader > 1)) return;
  try {
    process.kill(-leader, signal);
  } catch {
    // Gone, or not ours to end.
  }
}

/** The exit code by which shells report that a signal has ended a program. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** How a process has ended. Where bubblewrap was around a program, that reports a signal as shells do. */
export function endText(code: number | null, signal: NodeJS.Signals | null): string {
  const reported = Object.entries(constants.signals).find(([, number]) => code === 128 + number);
  return signal ?? reported?.[0] ?? `exit code ${code}`;
}

/** Ends a process group: politely, and after `graceMs` for certain. Bounded by twice that time. */
export async function endGroup(leader: number, graceMs: number): Promise<void> {
  if (!(leader > 1)) return;
  signalGroup(leader, "SIGTERM");
  if (await waitUntil(() => isGroupGone(leader), graceMs)) return;
  signalGroup(leader, "SIGKILL");
  await waitUntil(() => isGroupGone(leader), graceMs);
}

/** Where no init process buries the dead, as in many containers, a group of them is as good as gone. */
function isGroupGone(leader: number): boolean {
  if (!isRunning(-leader)) return true;
  if (process.platform !== "linux") return false;
  return !readdirSync("/proc").some((name) => {
    if (!/^\d+$/.test(name)) return false;
    const [state = "", , group] = statOf(name);
    return group === String(leader) && !/[ZX]/.test(state);
  });
}

/** All of a `/proc/PID/stat`. `readFileSync` takes 64 KB for each: half of the time of a look at all processes. */
const statBuffer = Buffer.alloc(4096);

/** The fields of `/proc/PID/stat` behind the name: state, parent, group… Empty if it is gone. */
function statOf(pid: string): readonly string[] {
  let file: number | undefined;
  try {
    file = openSync(`/proc/${pid}/stat`, "r");
    const stat = statBuffer.toString("latin1", 0, readSync(file, statBuffer));
    // The name may hold blanks and brackets.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/**
 * The pids of all processes, but this one, whose environment holds exactly `name=value`. Exact on Linux,
 * best effort on macOS (what `ps` shows), none elsewhere.
 */
export async function processesMarked(name: string, value: string): Promise<number[]> {
  const mark = `${name}=${value}`;
  if (process.platform === "linux") return fromProc(mark);
  if (process.platform === "darwin") return fromPs(mark);
  return [];
}

/**
 * Ends every process that carries the mark: politely first, then for certain. Looks again after each
 * round, because a process may have forked while we looked. Bounded: about two seconds at worst.
 */
export async function endMarkedProcesses(name: string, value: string): Promise<void> {
  for (let round = 0; round < 8; round += 1) {
    const pids = await processesMarked(name, value);
    if (pids.length === 0) return;
    for (const pid of pids) sendSignal(pid, round === 0 ? "SIGTERM" : "SIGKILL");
    await waitUntilGone(pids, round === 0 ? 150 : 250);
  }
}

/** The same at once, without waiting: the last thing that a process does that has no time left. Linux only. */
export function killMarkedProcesses(name: string, value: string): void {
  if (process.platform !== "linux") return;
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
      if (environment.includes(`${name}=${value}`)) sendSignal(Number(pid), "SIGKILL");
    } catch {
      // Gone, or not ours.
    }
  }
}

/**
 * Ends a single process for certain. Bounded by twice that time. `child`: it, or what is around it, whose exit Node
 * reports, so that it need not be looked for again and again.
 */
export async function endProcess(
  pid: number,
  milliseconds: number,
  child?: ChildProcess,
): Promise<void> {
  if (!isRunning(pid)) return;
  sendSignal(pid, "SIGKILL");
  if (child?.exitCode === null && child.signalCode === null) {
    const exited = new Promise((resolve) => child.once("exit", resolve));
    await within(exited, milliseconds, systemClock);
  }
  await waitUntilGone([pid], milliseconds);
}

/** True when all of them are gone within `milliseconds`. */
export function waitUntilGone(pids: readonly number[], milliseconds: number): Promise<boolean> {
  return waitUntil(() => !pids.some((pid) => isRunning(pid)), milliseconds);
}

async function waitUntil(holds: () => boolean, milliseconds: number): Promise<boolean> {
  const end = systemClock.now() + milliseconds;
  for (;;) {
    if (holds()) return true;
    if (systemClock.now() >= end) return false;
    await systemClock.sleep(10);
  }
}

/** The program in a sandbox whose process this is, or that process itself. Linux only: undefined elsewhere. */
export function programIn(sandbox: number | undefined): number | undefined {
  if (process.platform !== "linux" || sandbox === undefined) return undefined;
  const name = nameOf(sandbox);
  const pids = readdirSync("/proc").filter((pid) => /^\d+$/.test(pid));
  let at = String(sandbox);
  // With a process namespace, bubblewrap has two processes.
  while (nameOf(at) === name) {
    const parent = at;
    const child = pids.find((pid) => statOf(pid)[1] === parent);
    if (child === undefined) return sandbox;
    at = child;
  }
  return Number(at);
}

function nameOf(pid: number | string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, "latin1");
  } catch {
    return undefined;
  }
}

/** How much memory a process has now, in bytes. Linux only: undefined elsewhere. */
export async function residentBytes(pid: number): Promise<number | undefined> {
  const status = await fs.readFile(`/proc/${pid}/status`, "latin1").catch(() => "");
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(status)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

/** The CPU time of a process and its descendants, in ticks of the system. Linux only: undefined elsewhere. */
export function cpuTicks(root: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  const children = new Map<string, string[]>();
  const ticks = new Map<string, number>();
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const fields = statOf(pid);
    const [, parent = ""] = fields;
    ticks.set(pid, Number(fields[11] ?? 0) + Number(fields[12] ?? 0));
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const of = (pid: string): number =>
    (children.get(pid) ?? []).reduce((sum, child) => sum + of(child), ticks.get(pid) ?? 0);
  return of(String(root));
}

/** Number of files read concurrently. Reading all at once would exceed the limits of some processes. */
const READ_AT_ONCE = 16;

async function fromProc(mark: string): Promise<number[]> {
  const names = await fs.readdir("/proc").catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found: number[] = [];
  for (let from = 0; from < pids.length; from += READ_AT_ONCE) {
    await Promise.all(
      pids.slice(from, from + READ_AT_ONCE).map(async (pid) => {
        // Unreadable means another user's process, or one that has just ended; a zombie reads as empty.
        const environment = await fs.readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
        if (environment.split("\0").includes(mark)) found.push(Number(pid));
      }),
    );
  }
  return found;
}

async function fromPs(mark: string): Promise<number[]> {
  const environment = processEnvironment();
  const ps = findProgram("ps", environment);
  if (ps === undefined) return [];
  const text = await new Promise<string>((resolve) => {
    execFile(
      ps,
      ["-Eaxww", "-o", "pid=,command="],
      { env: childEnvironment(environment), maxBuffer: 64 * 1024 * 1024, timeout: 2000 },
      (_error, stdout) => resolve(stdout),
    );
  });
  return text
    .split("\n")
    .filter((line) => line.split(" ").includes(mark))
    .map((line) => Number.parseInt(line, 10))
    .filter((pid) => Number.isSafeInteger(pid) && pid !== process.pid);
}

/** Runs a program (an absolute path) without a shell and returns its stdout. If it fails, rejects with the tail of its stderr. */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    const limits = { timeout: 30_000, maxBuffer: 256 * 1024 * 1024 };
    execFile(program, args, { ...options, ...limits }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else {
        reject(
          new Error(`${basename(program)}: ${stderr.trim().slice(-500) || errorMessage(error)}`),
        );
      }
    });
  });
}
