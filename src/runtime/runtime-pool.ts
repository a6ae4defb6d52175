/**
 * At most one runtime starts at a time; a dead one is replaced once, for all sessions that need it; one that has served
 * its share is replaced too, and stopped with its last session, if possible before the next one starts. `stop()` leaves
 * no process and no file.
 */
import { join } from "node:path";
import type { Clock } from "../platform/clock.ts";
import { removeDirectory, removeDirectoryNow } from "../platform/files.ts";
import { endMarkedProcesses, killMarkedProcesses, sendSignal } from "../platform/processes.ts";
import { makeRunFolder, reapDeadRuns, RUN_MARK, type RunFolder } from "../platform/run-folder.ts";
import { within } from "../platform/waiting.ts";
import type { SandboxChoice } from "../sandbox/mounts.ts";
import { RuntimeProcess, type RuntimeProcessOptions } from "./runtime-process.ts";

/** A runtime keeps about 0.2 MB of every session that it has ended (docs/internals/runtime-notes.md#memory). */
const sessionsPerRuntime = 250;
/** With few open sessions, the remains of closed ones would soon take most of the memory. */
const leastPerRuntime = 100;
const perOpenSession = 6;
/** A new runtime waits this long for the end of the old one, because two take twice the memory. */
const drainMs = 3_000;

/** A sandbox's profile names files that exist, so each task may need another. A runtime takes about 100 MB. */
const mostIdle = 2;

/** `guarded` leaves files of credentials out; `open`: sessions may read them, or their results are checked otherwise. */
export type Searches = "guarded" | "open";

export type Requests = "direct" | "handled";

export interface RuntimeKind {
  readonly searches: Searches;
  readonly requests: Requests;
  readonly sandbox?: SandboxChoice | undefined;
}

function keyOf(kind: RuntimeKind): string {
  return JSON.stringify(kind);
}

export interface RuntimePoolOptions {
  readonly clock: Clock;
  /** Called for every start. It may throw an Error for people. */
  readonly configure: (kind: RuntimeKind) => Omit<RuntimeProcessOptions, "clock" | "directory">;
  readonly onRuntimeRestarted?: ((reason: string) => void) | undefined;
  readonly onLeftovers?: ((runs: number) => void) | undefined;
  /** The value of `AGENT_JOBS_RUN` in the environment of all that is started; default: a random one. */
  readonly mark?: string | undefined;
  readonly sessionsPerRuntime?: number | undefined;
}

export interface RuntimeLease {
  readonly runtime: RuntimeProcess;
  /** The session has ended, or did not come up. Idempotent. */
  readonly release: () => void;
}

interface Served {
  readonly kind: RuntimeKind;
  opened: number;
  readonly open: Set<RuntimeLease>;
  retired: boolean;
  readonly gone: Promise<void>;
  readonly end: () => void;
}

export class RuntimePool {
  readonly #current = new Map<string, Promise<RuntimeProcess>>();
  readonly #running = new Map<RuntimeProcess, Served>();
  #root: Promise<RunFolder> | undefined;
  #folder: RunFolder | undefined;
  #reaping: Promise<void> | undefined;
  #started = 0;
  #starting = 0;
  #isUnconfined = false;
  readonly #lastLoss = new Map<string, string>();
  #stopping: Promise<void> | undefined;
  readonly #options: RuntimePoolOptions;

  constructor(options: RuntimePoolOptions) {
    this.#options = options;
  }

  get pids(): readonly number[] {
    return [...this.#running.keys()]
      .map((runtime) => runtime.pid)
      .filter((pid) => pid !== undefined);
  }

  /** Started, or started again, if need be. Rejects with an Error for people. */
  async acquire(kind: RuntimeKind): Promise<RuntimeLease> {
    const key = keyOf(kind);
    for (;;) {
      if (this.#stopping !== undefined) throw new Error("The sessions have been stopped.");
      const current = this.#current.get(key) ?? this.#start(kind);
      this.#current.set(key, current);
      const runtime = await current;
      // It is being probed. New sessions don't wait for a runtime that may be unresponsive.
      if (runtime.unresponsive) await runtime.probe();
      const served = this.#running.get(runtime);
      if (served?.retired === true) continue;
      if (!runtime.gone && served !== undefined) return this.#lease(runtime, served);
      // It has died. The first caller that notices replaces it.
      if (this.#current.get(key) === current) {
        if (runtime.loss !== undefined) this.#lastLoss.set(key, runtime.loss);
        this.#current.delete(key);
      }
    }
  }

  #lease(runtime: RuntimeProcess, served: Served): RuntimeLease {
    const lease: RuntimeLease = {
      runtime,
      release: () => {
        served.open.delete(lease);
        if (served.open.size > 0) return;
        if (served.retired) void this.#dispose(runtime);
        else this.#endIdle(runtime, served);
      },
    };
    served.open.add(lease);
    served.opened += 1;
    const share = Math.max(leastPerRuntime, perOpenSession * served.open.size);
    if (served.opened >= Math.min(this.#options.sessionsPerRuntime ?? sessionsPerRuntime, share)) {
      served.retired = true;
      this.#current.delete(keyOf(served.kind));
    }
    return lease;
  }

  #endIdle(runtime: RuntimeProcess, served: Served): void {
    if (!this.#running.delete(runtime)) return;
    // The order of the map is that of the last use.
    this.#running.set(runtime, served);
    const idle = [...this.#running].filter(
      ([one, { opened, open, retired }]) => opened > 0 && open.size === 0 && !retired && !one.gone,
    );
    for (const [oldest, of] of idle.slice(0, -mostIdle)) {
      of.retired = true;
      this.#current.delete(keyOf(of.kind));
      void this.#dispose(oldest);
    }
  }

  /** Lets this process exit while runtimes are idle. Returns false if a session is open or a runtime is unresponsive. */
  rest(): boolean {
    const all = [...this.#running];
    const isWell = all.every(
      ([one, { open }]) => open.size === 0 && !one.gone && !one.unresponsive,
    );
    if (this.#starting > 0 || !isWell) return false;
    for (const [runtime] of all) runtime.rest(true);
    return all.length > 0;
  }

  wake(): void {
    for (const runtime of this.#running.keys()) runtime.rest(false);
  }

  kill(): void {
    for (const pid of this.pids) sendSignal(pid, "SIGKILL");
    if (this.#folder === undefined) return;
    killMarkedProcesses(RUN_MARK, this.#folder.mark);
    removeDirectoryNow(this.#folder.path);
  }

  /** Ends all runtimes, and what sessions that were not closed have left. Bounded, idempotent, never throws. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  async #start(kind: RuntimeKind): Promise<RuntimeProcess> {
    const key = keyOf(kind);
    this.#starting += 1;
    try {
      await Promise.allSettled(this.#current.values());
      await this.#drain(key);
      // A full disk may have room at the next attempt.
      this.#root ??= makeRunFolder("", this.#options.mark).catch((error: unknown) => {
        this.#root = undefined;
        throw error;
      });
      const folder = (this.#folder = await this.#root);
      this.#reaping ??= this.#reap();
      const [runtime] = await Promise.all([this.#launch(folder, kind), this.#reaping]);
      runtime.onDeath(() => void this.#dispose(runtime));
      const loss = this.#lastLoss.get(key);
      if (loss !== undefined) this.#options.onRuntimeRestarted?.(loss);
      this.#lastLoss.delete(key);
      return runtime;
    } catch (error) {
      this.#current.delete(key);
      throw error;
    } finally {
      this.#starting -= 1;
    }
  }

  async #drain(key: string): Promise<void> {
    const replaced = [...this.#running.values()].filter(
      ({ kind, retired }) => retired && keyOf(kind) === key,
    );
    if (replaced.length === 0) return;
    await within(Promise.all(replaced.map(({ gone }) => gone)), drainMs, this.#options.clock);
  }

  async #launch({ path, mark }: RunFolder, kind: RuntimeKind): Promise<RuntimeProcess> {
    this.#started += 1;
    this.#isUnconfined ||= kind.sandbox === undefined;
    const configuration = this.#options.configure(kind);
    const runtime = new RuntimeProcess({
      ...configuration,
      environment: { ...configuration.environment, [RUN_MARK]: mark },
      clock: this.#options.clock,
      directory: join(path, `runtime-${this.#started}`),
    });
    let end = (): void => {};
    const gone = new Promise<void>((resolve) => (end = resolve));
    this.#running.set(runtime, { kind, opened: 0, open: new Set(), retired: false, gone, end });
    await runtime.start().catch((error: unknown) => {
      this.#running.delete(runtime);
      throw error;
    });
    return runtime;
  }

  async #reap(): Promise<void> {
    const { length } = await reapDeadRuns();
    if (length > 0) this.#options.onLeftovers?.(length);
  }

  async #dispose(runtime: RuntimeProcess): Promise<void> {
    await runtime.stop({ hasSessions: false });
    this.#running.get(runtime)?.end();
    this.#running.delete(runtime);
  }

  async #stop(): Promise<void> {
    await Promise.allSettled(this.#current.values());
    await Promise.all(
      Array.from(this.#running, ([runtime, { open }]) =>
        runtime.stop({ hasSessions: open.size > 0 }),
      ),
    );
    this.#running.clear();
    const root = await this.#root?.catch(() => undefined);
    if (root === undefined) return;
    // A sandbox ends with all that is in it, so there is nothing to look for.
    if (this.#isUnconfined) await endMarkedProcesses(RUN_MARK, root.mark).catch(() => undefined);
    await removeDirectory(root.path).catch(() => undefined);
  }
}
