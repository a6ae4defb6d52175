/** The runs of a report, from the elements that `src/reports/html/html.ts` writes. */
import { signal, type ReadonlySignal } from "@preact/signals";
import { decodeEvents } from "./decode-events.ts";
import type { RunListener, RunSource } from "./run-source.ts";

/** What is read in less time than this shows no progress. */
const QUICK_MS = 300;

export class EmbeddedRuns {
  readonly #progress = signal<number | undefined>(undefined);

  /** How much of the events was read for the latest run that was asked for, from 0 to 1; undefined if nothing is being read. */
  get progress(): ReadonlySignal<number | undefined> {
    return this.#progress;
  }

  readonly source = (runId: string): RunSource => ({
    runId,
    subscribe: (listener) => {
      const stop = new AbortController();
      void this.#read(runId, listener, stop.signal);
      return () => stop.abort();
    },
  });

  async #read(runId: string, listener: RunListener, aborted: AbortSignal): Promise<void> {
    // `subscribe` returns before the first call.
    await pause();
    const begun = performance.now();
    try {
      await decodeEvents(document.getElementById("events")?.textContent ?? "", {
        runId,
        events: (batch) => listener.events(batch),
        progress: (share) => {
          if (performance.now() - begun > QUICK_MS) this.#progress.value = share;
        },
        pause,
        signal: aborted,
      });
    } catch {
      if (!aborted.aborted) listener.failed("The events in this file are damaged.");
      return;
    } finally {
      this.#progress.value = undefined;
    }
    listener.ended();
  }
}

/** A message, unlike a timer, is not delayed while the page is busy or hidden. */
function pause(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener("message", () => {
      port1.close();
      resolve();
    });
    port1.start();
    port2.postMessage(undefined);
  });
}
