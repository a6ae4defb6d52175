/** The runs of a report, from the elements that `src/reports/html/html.ts` writes. */
import { decodeEvents } from "./decode-events.ts";
import type { RunListener, RunSource } from "./run-source.ts";

export function embeddedRun(runId: string): RunSource {
  return {
    runId,
    subscribe: (listener) => {
      const stop = new AbortController();
      void read(runId, listener, stop.signal);
      return () => stop.abort();
    },
  };
}

async function read(runId: string, listener: RunListener, signal: AbortSignal): Promise<void> {
  // `subscribe` returns before the first call.
  await pause();
  try {
    await decodeEvents(document.getElementById("events")?.textContent ?? "", {
      runId,
      events: (batch) => listener.events(batch),
      pause,
      signal,
    });
  } catch {
    if (!signal.aborted) listener.failed("The events in this file are damaged.");
    return;
  }
  listener.ended();
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
