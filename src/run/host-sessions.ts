/**
 * Owns the sessions of a host, and the runtimes under them. Invariants: sessions exist only while something uses
 * them; an idle runtime may be kept for a minute, but neither keeps the process running nor outlives it; after `close()`,
 * both are gone.
 */
import { atExit } from "../platform/processes.ts";
import type { Clock } from "../platform/clock.ts";
import { startBackgroundTimer, type Release } from "../platform/waiting.ts";
import type { Runtimes } from "../sessions/request-handler.ts";
import {
  createSessions,
  runtimesOf,
  type Sessions,
  type SessionsOptions,
} from "../sessions/sessions.ts";

const KEEP_MS = 60_000;

export interface HostSessionsOptions {
  readonly clock: Clock;
  /** Whether idle runtimes are kept for a minute. */
  readonly keepsRuntime: boolean;
  readonly createSessions?: ((options: SessionsOptions) => Sessions) | undefined;
  /** Asked when there is none. */
  readonly options: () => SessionsOptions;
  readonly onIdle: () => void;
}

export class HostSessions {
  readonly #options: HostSessionsOptions;
  #users = 0;
  #current: Sessions | undefined;
  #runtimes: Runtimes | undefined;
  #wake: Release = () => {};
  readonly #ending = new Set<Promise<void>>();
  readonly #killed = new Set<{ kill(): void }>();

  constructor(options: HostSessionsOptions) {
    this.#options = options;
  }

  get busy(): boolean {
    return this.#users > 0;
  }

  get current(): Sessions | undefined {
    return this.#current;
  }

  /** The caller must make sure that `release()` follows, also if it throws. */
  acquire(): Sessions {
    this.#current ??= this.#begin();
    this.#users += 1;
    return this.#current;
  }

  release(): void {
    this.#users -= 1;
    if (this.#users === 0) this.#end();
  }

  kill(): void {
    this.#current?.kill();
    this.#runtimes?.pool.kill();
    for (const one of this.#killed) one.kill();
  }

  /** Bounded, never rejects. */
  async close(): Promise<void> {
    this.#end();
    this.#endRuntimes();
    await Promise.all(this.#ending);
  }

  #begin(): Sessions {
    this.#wake();
    const options = this.#options.options();
    this.#runtimes ??= runtimesOf(options);
    return (this.#options.createSessions ?? createSessions)({ ...options, own: this.#runtimes });
  }

  #end(): void {
    const sessions = this.#current;
    if (sessions === undefined) return;
    this.#current = undefined;
    this.#options.onIdle();
    this.#await(sessions, sessions.stop());
    const { keepsRuntime, clock } = this.#options;
    const pool = this.#runtimes?.pool;
    if (!keepsRuntime || pool?.rest() !== true) return this.#endRuntimes();
    const releases = [
      startBackgroundTimer(clock, KEEP_MS, () => this.#endRuntimes()),
      atExit(() => pool.kill()),
      () => pool.wake(),
    ];
    this.#wake = () => {
      for (const release of releases.splice(0)) release();
    };
  }

  #endRuntimes(): void {
    this.#wake();
    const runtimes = this.#runtimes;
    this.#runtimes = undefined;
    if (runtimes !== undefined) this.#await(runtimes.pool, runtimes.pool.stop());
  }

  #await(one: { kill(): void }, stopped: Promise<void>): void {
    this.#killed.add(one);
    const ending = stopped.finally(() => {
      this.#killed.delete(one);
      this.#ending.delete(ending);
    });
    this.#ending.add(ending);
  }
}
