/** Where the events of one run come from: the server's stream, or what a report holds. */
import type { RunEvent } from "../../src/events/event.ts";
import { openStream } from "./event-stream.ts";
import { apiPath } from "./api.ts";

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
