/**
 * Whether a runtime that is late with an answer makes progress. On a busy machine, an answer may take minutes, so a
 * runtime is judged by its messages and by its CPU time.
 */
import type { Clock } from "../platform/clock.ts";
import { onAbort, startTimer, unless, type Occasion } from "../platform/waiting.ts";
import { cpuTicks } from "../platform/processes.ts";

const lookMs = 1_000;
/**
 * Consecutive looks without CPU time and without a message after which the runtime counts as hung. Looks are counted
 * instead of seconds, because this process may be slow as well.
 */
const stillLooks = 10;
/** The same if its CPU time is unknown. */
const stillLooksByMessages = 30;
/** Consecutive looks without a message after which it counts as hung although it uses CPU time. */
const silentLooks = 120;
/** Looks after which a call is given up although the runtime makes progress. */
const mostLooks = 300;

interface Watched {
  readonly clock: Clock;
  /** Of the process that was started, which may be a wrapper. Undefined if it is unknown. */
  readonly pid: () => number | undefined;
  /** How many chunks the runtime has sent. */
  readonly messages: () => number;
  readonly isOver: () => boolean;
  /** When there is nothing to wait for any more. */
  readonly ends: readonly Occasion[];
}

export class ProgressWatch {
  #looked: { readonly at: number; readonly ticks: number | undefined } | undefined;
  readonly #watched: Watched;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  /**
   * Waits for `call`: for `milliseconds`, and then for as long as there is progress. `stalled`: there is none. `given
   * up`: the runtime is gone, the signal has aborted, or the call has taken too long.
   */
  async patiently<T>(
    call: Promise<T>,
    milliseconds: number,
    signal?: AbortSignal,
  ): Promise<{ readonly value: T } | "stalled" | "given up"> {
    const { clock, messages, isOver, ends } = this.#watched;
    let limit = milliseconds;
    let before: { readonly messages: number; readonly ticks: number | undefined } | undefined;
    let still = 0;
    let silent = 0;
    for (let looks = 0; looks < mostLooks; looks += 1) {
      const answer = await unless(
        call,
        (giveUp) => startTimer(clock, limit, giveUp),
        (giveUp) => onAbort(signal, giveUp),
        ...ends,
      );
      if (answer !== undefined) return answer;
      if (isOver() || signal?.aborted === true) return "given up";
      const now = { messages: messages(), ticks: this.#ticks() };
      silent = now.messages === before?.messages ? silent + 1 : 0;
      still = silent > 0 && now.ticks === before?.ticks ? still + 1 : 0;
      const most = now.ticks === undefined ? stillLooksByMessages : stillLooks;
      if (still >= most || silent >= silentLooks) return "stalled";
      before = now;
      limit = lookMs;
    }
    return "given up";
  }

  /** Calls that are late at the same time share one look at the processes. */
  #ticks(): number | undefined {
    const { clock, pid } = this.#watched;
    const now = clock.now();
    if (this.#looked === undefined || now - this.#looked.at >= lookMs / 2) {
      const root = pid();
      this.#looked = { at: now, ticks: root === undefined ? undefined : cpuTicks(root) };
    }
    return this.#looked.ticks;
  }
}
