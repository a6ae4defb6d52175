/**
 * Which of some files have changed. The folders are watched and not the files: an editor replaces a file, and then a
 * watch of the file itself sees nothing more.
 */
import { watch, type FSWatcher } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Clock } from "../platform/clock.ts";
import { unlessAborted } from "../platform/waiting.ts";
import { isRehearsalName } from "../run/find-rehearsals.ts";

/** An editor saves in several steps, and git changes many files at once. */
const QUIET_MS = 100;

/** Its owner must close it. */
export class FileChanges {
  readonly #clock: Pick<Clock, "sleep">;
  /** Absolute, as all paths here. */
  readonly #files = new Set<string>();
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #changed = new Set<string>();
  #wake: () => void = () => {};

  constructor(clock: Pick<Clock, "sleep">) {
    this.#clock = clock;
  }

  /** Watches these, too, and their folders for new rehearsals. */
  add(files: readonly string[]): void {
    for (const file of files) {
      const path = resolve(file);
      this.#files.add(path);
      this.#watch(dirname(path));
    }
  }

  /** All changes since the last call, once nothing has changed for a moment. Undefined: aborted. */
  async next(signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
    if ((await unlessAborted(this.#quiet(signal), signal)) === undefined) return undefined;
    const changed = new Set(this.#changed);
    this.#changed.clear();
    return changed;
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
  }

  async #quiet(signal: AbortSignal): Promise<void> {
    while (this.#changed.size === 0) await new Promise<void>((done) => (this.#wake = done));
    let seen = 0;
    while (this.#changed.size !== seen) {
      seen = this.#changed.size;
      await this.#clock.sleep(QUIET_MS, signal);
    }
  }

  #watch(folder: string): void {
    if (this.#watchers.has(folder)) return;
    try {
      const watcher = watch(folder, (_event, name) => {
        if (name !== null) this.#see(join(folder, name));
      });
      // The folder was removed.
      watcher.on("error", () => watcher.close());
      this.#watchers.set(folder, watcher);
    } catch {
      // There is no such folder, which the rehearsal says.
    }
  }

  #see(path: string): void {
    if (!this.#files.has(path) && !isRehearsalName(path)) return;
    this.#changed.add(path);
    this.#wake();
  }
}
