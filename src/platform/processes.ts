/** Nothing is ever ended by name: only a pid that we started, or one whose environment carries our mark. */
import { execFile, type ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { systemClock } from "./system-clock.ts";
import { childEnvironment, processEnvironment } from "./environment.ts";
import { findProgram } from "./search-path.ts";
import { isRecord } from "../text/guards.ts";
import { errorCode } from "./system-error.ts";
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
  if (pid > 0) kill(pid, signal);
}

/** Signals all processes of a group, even when its leader is gone. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  if (leader > 1) kill(-leader, signal);
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone, or not ours to end.
  }
}

export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** How a process has ended. Where bubblewrap was around a program, that reports a signal as shells do. */
export function endText(code: number | null, signal: NodeJS.Signals | null): string {
  const reported = Object.entries(constants.signals).find(([, number]) => code === 128 + number);
  return signal ?? reported?.[0] ?? `exit code ${code}`;
}

export async function endGroup(leader: number, graceMs: number): Promise<void> {
  if (!(leader > 1)) return;
  signalGroup(leader, "SIGTERM");
  if (await waitUntil(() => isGroupGone(leader), graceMs)) return;
  signalGroup(leader, "SIGKILL");
  await waitUntil(() => isGroupGone(leader), graceMs);
}

function isGroupGone(leader: number): boolean {
  if (!isRunning(-leader)) return true;
  if (process.platform !== "linux") return false;
  return !idsIn("/proc").some((pid) => {
    const [, , group] = statOf(pid);
    return group === String(leader) && !isZombie(pid);
  });
}

/** Zombies count as gone: without an init process, as in many containers, they are never reaped. */
export function isZombie(pid: number): boolean {
  return /[ZX]/.test(statOf(pid)[0] ?? "");
}

function idsIn(folder: string): number[] {
  try {
    return readdirSync(folder).map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

function fileOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "latin1");
  } catch {
    return "";
  }
}

/** The fields of `/proc/PID/stat` behind the name: state, parent, group… Empty if it is gone. */
export function statOf(pid: number): readonly string[] {
  const stat = fileOf(pid, "stat");
  // The name may hold blanks and brackets.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Each thread has its own list of the processes that it has started. */
function childrenOf(pid: number): number[] {
  return idsIn(`/proc/${pid}/task`).flatMap((thread) =>
    Array.from(fileOf(pid, `task/${thread}/children`).matchAll(/\d+/g), Number),
  );
}

/** Exact on Linux, best effort on macOS (what `ps` shows), none elsewhere. */
export async function processesMarked(name: string, value: string): Promise<number[]> {
  const mark = `${name}=${value}`;
  return process.platform === "darwin" ? fromPs(mark) : fromProc(mark);
}

/** Looks again after each round, because a process may have forked meanwhile. About two seconds at worst. */
export async function endMarkedProcesses(name: string, value: string): Promise<void> {
  for (let round = 0; round < 8; round += 1) {
    const pids = await processesMarked(name, value);
    if (pids.length === 0) return;
    for (const pid of pids) sendSignal(pid, round === 0 ? "SIGTERM" : "SIGKILL");
    await waitUntilGone(pids, round === 0 ? 150 : 250);
  }
}

/** Kills at once and doesn't wait, for a process that has no time left. Linux only. */
export function killMarkedProcesses(name: string, value: string): void {
  for (const pid of fromProc(`${name}=${value}`)) sendSignal(pid, "SIGKILL");
}

/** `child`: it, or what is around it, whose exit Node reports, so that it need not be looked for again and again. */
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
  const name = fileOf(sandbox, "comm");
  let at = sandbox;
  // With a process namespace, bubblewrap has two processes.
  while (fileOf(at, "comm") === name) {
    const [child] = childrenOf(at);
    if (child === undefined) return sandbox;
    at = child;
  }
  return at;
}

/** The CPU time of a process and its descendants, in ticks. Linux only: undefined elsewhere. */
export function cpuTicks(root: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  const { 11: user = 0, 12: system = 0 } = statOf(root);
  return childrenOf(root).reduce(
    (sum, child) => sum + (cpuTicks(child) ?? 0),
    Number(user) + Number(system),
  );
}

/** The environment of a zombie or of another user's process reads as empty. */
function fromProc(mark: string): number[] {
  return idsIn("/proc").filter(
    (pid) => pid !== process.pid && fileOf(pid, "environ").split("\0").includes(mark),
  );
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

/** It keeps the process running until `unref` is called. */
export interface Handle {
  ref(): unknown;
  unref(): unknown;
}

export function isHandle(value: unknown): value is Handle {
  return isRecord(value) && "ref" in value && "unref" in value;
}

/** All share one listener of the process, because Node warns about more than ten. */
const listeners = new Set<() => void>();

const end = (): void => {
  for (const listener of listeners) listener();
};

/** Calls the listener when the process ends by itself, by `process.exit`, or by an error that nobody caught. */
export function atExit(listener: () => void): () => void {
  if (listeners.size === 0) process.on("exit", end);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) process.off("exit", end);
  };
}
