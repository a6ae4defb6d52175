/**
 * The one runtime that all sessions share.
 *
 * Invariants: at most one runtime starts at a time, whoever asks; a dead one is replaced once, for
 * everybody who needs it; `stop()` leaves no process and no file.
 * A later recycling of a healthy runtime (its memory grows with every session) replaces `#current` in
 * the same way, and stops the old one when its last session has closed.
 */
import { join } from "node:path";
import type { Clock } from "../engine/ports.ts";
import { makeTemporaryDirectory, removeDirectory, removeDirectoryNow } from "../platform/files.ts";
import { sendSignal } from "../platform/processes.ts";
import { RuntimeProcess } from "./runtime-process.ts";
import type { RuntimeProcessOptions } from "./runtime-process.ts";

export interface RuntimePoolOptions {
  readonly clock: Clock;
  /** What to start. Called for every start: it may throw an Error for people. */
  readonly configure: () => Omit<RuntimeProcessOptions, "clock" | "directory">;
  readonly onRuntimeRestarted?: ((reason: string) => void) | undefined;
}

export class RuntimePool {
  #current: Promise<RuntimeProcess> | undefined;
  /** Every runtime that may still have a process or a file. */
  readonly #running = new Set<RuntimeProcess>();
  #root: Promise<string> | undefined;
  #folder: string | undefined;
  #started = 0;
  /** Why the runtime before the next one is gone. */
  #lastLoss: string | undefined;
  #stopping: Promise<void> | undefined;
  readonly #options: RuntimePoolOptions;

  constructor(options: RuntimePoolOptions) {
    this.#options = options;
  }

  get pids(): readonly number[] {
    return [...this.#running].map((runtime) => runtime.pid).filter((pid) => pid !== undefined);
  }

  /** The running runtime; started, or started again, if need be. Rejects with an Error for people. */
  async acquire(): Promise<RuntimeProcess> {
    for (;;) {
      if (this.#stopping !== undefined) throw new Error("The sessions have been stopped.");
      this.#current ??= this.#start();
      const current = this.#current;
      const runtime = await current;
      // Whether it still answers is being asked: nobody new has to wait for one that does not.
      if (runtime.mute) await runtime.doubt();
      if (!runtime.gone) return runtime;
      // It died while it started or since; whoever sees it first makes way for its successor.
      if (this.#current === current) {
        this.#lastLoss = runtime.loss;
        this.#current = undefined;
      }
    }
  }

  /** Ends all runtimes by force and removes their files, before it returns. */
  kill(): void {
    for (const pid of this.pids) sendSignal(pid, "SIGKILL");
    if (this.#folder !== undefined) removeDirectoryNow(this.#folder);
  }

  /** Ends all runtimes. Bounded, idempotent, never throws. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #start(): Promise<RuntimeProcess> {
    try {
      this.#root ??= makeTemporaryDirectory("agent-jobs-");
      this.#started += 1;
      this.#folder = await this.#root;
      const directory = join(this.#folder, `runtime-${this.#started}`);
      const runtime = new RuntimeProcess({
        ...this.#options.configure(),
        clock: this.#options.clock,
        directory,
      });
      this.#running.add(runtime);
      await runtime.start().catch((error: unknown) => {
        this.#running.delete(runtime);
        throw error;
      });
      runtime.onDeath(() => void this.#bury(runtime));
      if (this.#lastLoss !== undefined) this.#tellRestarted(this.#lastLoss);
      this.#lastLoss = undefined;
      return runtime;
    } catch (error) {
      this.#current = undefined;
      throw error;
    }
  }

  async #bury(runtime: RuntimeProcess): Promise<void> {
    await runtime.stop();
    this.#running.delete(runtime);
  }

  #tellRestarted(reason: string): void {
    try {
      this.#options.onRuntimeRestarted?.(reason);
    } catch {
      // A listener's fault is not the session's.
    }
  }

  async #stop(): Promise<void> {
    await this.#current?.catch(() => undefined);
    await Promise.all([...this.#running].map((runtime) => runtime.stop()));
    this.#running.clear();
    const root = await this.#root?.catch(() => undefined);
    if (root !== undefined) await removeDirectory(root).catch(() => undefined);
  }
}
