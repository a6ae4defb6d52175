/**
 * Only a folder of the same user, made by a process that is certainly dead, is removed: that is certain only for
 * processes of this machine and this pid namespace.
 */
import { createHash, randomUUID } from "node:crypto";
import { existsSync, promises as fs, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import { isRecord, isText } from "../text/guards.ts";
import { makeTemporaryDirectory, realPathOf, removeDirectory } from "./files.ts";
import { endMarkedProcesses, isRunning, isZombie, statOf } from "./processes.ts";
import { errorCode, errorMessage, SystemError } from "./system-error.ts";

/** Every process that a run starts has this in its environment, with the run's mark as its value. */
export const RUN_MARK = "AGENT_JOBS_RUN";
const prefix = "agent-jobs-";
const ownerFile = "owner.json";

export interface RunFolder {
  readonly path: string;
  /** The value of `RUN_MARK`: a random id, no secret. */
  readonly mark: string;
}

interface Owner extends ProcessIdentity {
  readonly mark: string;
}

export async function makeRunFolder(purpose = "", mark: string = randomUUID()): Promise<RunFolder> {
  const path = await makeTemporaryDirectory(`${prefix}${purpose}`).catch((error: unknown) => {
    throw noFolder(error);
  });
  const owner: Owner = { mark, ...thisProcess() };
  try {
    writeFileSync(join(path, ownerFile), JSON.stringify(owner));
  } catch (error) {
    await removeDirectory(path).catch(() => undefined);
    throw noFolder(error);
  }
  return { path, mark };
}

function noFolder(error: unknown): SystemError {
  const message = `Can't create a folder for temporary files: ${errorMessage(error)}`;
  const isUnusable = ["ENOENT", "ENOTDIR", "EACCES", "EROFS"].includes(errorCode(error) ?? "");
  const advice = isUnusable ? ". Set TMPDIR to a folder that exists and can be written" : "";
  return new SystemError(`${message}${advice}`, { cause: error });
}

/** Includes the file that would make a folder look like one, because it decides which processes may be ended. */
export function isInRunFolder(realPath: string): boolean {
  const way = relative(realPathOf(tmpdir()), realPath).split(sep);
  const [name = "", next] = way;
  if (!name.toLowerCase().startsWith(prefix)) return false;
  const owner = join(tmpdir(), name, ownerFile);
  return next?.toLowerCase() === ownerFile || existsSync(owner);
}

/** Never throws; a folder that can't be judged stays. Returns the marks of the runs that had left something. */
export async function reapDeadRuns(): Promise<string[]> {
  const root = tmpdir();
  const names = await fs.readdir(root).catch(() => []);
  const reaped = new Set<string>();
  for (const name of names.filter((one) => one.startsWith(prefix))) {
    const path = join(root, name);
    const owner = await ownerOf(path).catch(() => undefined);
    if (owner === undefined || !isGone(owner)) continue;
    await endMarkedProcesses(RUN_MARK, owner.mark).catch(() => undefined);
    await removeDirectory(path).catch(() => undefined);
    reaped.add(owner.mark);
  }
  return [...reaped];
}

async function ownerOf(path: string): Promise<Owner | undefined> {
  const folder = await fs.lstat(path);
  // All users may write to the temporary directory: what another user put there proves nothing.
  if (!folder.isDirectory() || folder.uid !== (process.getuid?.() ?? folder.uid)) return undefined;
  const file = join(path, ownerFile);
  if (!(await fs.lstat(file)).isFile()) return undefined;
  const owner: unknown = JSON.parse(await fs.readFile(file, "utf8"));
  return isOwner(owner) ? owner : undefined;
}

function isOwner(value: unknown): value is Owner {
  if (!isRecord(value)) return false;
  const { mark, pid, started, place } = value;
  const isMark = isText(mark) && /^[0-9a-f-]{36}$/.test(mark);
  return isMark && typeof pid === "number" && isText(started) && isText(place);
}

/** Tells whether a process is still there: a pid alone is given to another one some day. */
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
