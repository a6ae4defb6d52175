/** Where the events of one run come from: the server's stream, or what a report holds. */
import type { RunEvent } from "../../src/events/event.ts";
import { decodeEvents } from "./decode-events.ts";
import { openStream } from "./event-stream.ts";
import { api, apiPath } from "./api.ts";

export interface RunSource {
  readonly runId: string;
  /**
   * Calls `listener` with batches in order, beginning with the first event of the run; returns the unsubscribe.
   * Never calls before it has returned. `ended` and `failed` are the last calls.
   */
  subscribe(listener: RunListener): () => void;
}

export interface RunListener {
  events(batch: readonly RunEvent[]): void;
  /** Lost: the server can't be reached, and is tried again. */
  connection?(state: "open" | "lost"): void;
  /** There are no more events. */
  ended(): void;
  /** The events can't be read; `reason` is a sentence. */
  failed(reason: string): void;
}

/** A run on this server, while it runs and for an hour after. */
export function serverRun(runId: string): RunSource {
  return {
    runId,
    subscribe: (listener) =>
      openStream<RunEvent>(apiPath`copilot/job/${runId}/journal`, {
        // Where the server could not keep all events, the feed says so with an object that is none.
        messages: (batch) => listener.events(batch.filter((event) => "type" in event)),
        connection: (state) => listener.connection?.(state),
        ended: () => listener.ended(),
        failed: (error) => listener.failed(error.reason),
      }),
  };
}

/** A run of this server: while it is known, from its stream; afterwards from the journal that contains it. */
export function keptRun(runId: string): RunSource {
  return {
    runId,
    subscribe(listener) {
      const stop = new AbortController();
      let leave = (): void => stop.abort();
      const choose = async (): Promise<void> => {
        // Asked first: a browser reports a stream that is refused as an error of the page.
        const answer = await api.runStatus(runId);
        if (stop.signal.aborted) return;
        if (!answer.ok && answer.error === "JobNotFound")
          await readFromJournal(runId, listener, answer.reason, stop.signal);
        else leave = serverRun(runId).subscribe(listener);
      };
      void choose();
      return () => leave();
    },
  };
}

async function readFromJournal(
  runId: string,
  listener: RunListener,
  otherwise: string,
  signal: AbortSignal,
): Promise<void> {
  const answer = await api.journalOf(runId);
  if (signal.aborted) return;
  const [journal] = answer.ok ? answer.value.journals : [];
  if (journal === undefined) return listener.failed(otherwise);
  try {
    const response = await fetch(apiPath`copilot/journal/${journal.name}`, {
      cache: "no-store",
      signal,
    });
    if (!response.ok || response.body === null) return listener.failed(otherwise);
    await readLines(response.body, (lines) => {
      const events = lines
        .map((line): RunEvent => JSON.parse(line))
        .filter((event) => event.runId === runId);
      if (events.length > 0) listener.events(events);
    });
  } catch {
    if (!signal.aborted) listener.failed(`The journal ${journal.name} can't be read.`);
    return;
  }
  if (!signal.aborted) listener.ended();
}

async function readLines(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  take: (lines: readonly string[]) => void,
): Promise<void> {
  let rest = "";
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + part).split("\n");
    rest = lines.pop() ?? "";
    take(lines);
  }
}

/** A run of a report, from the elements that `src/run/html-report.ts` writes. */
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
