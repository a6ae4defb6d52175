/**
 * Server-sent events of the API, from the first one on, in batches.
 *
 * Invariants: every message is delivered once and in order, whatever the connection does; at most one batch per
 * frame; after `ended` or `failed`, or once it is closed, nothing is delivered.
 */
import { errorIn, type ApiError } from "./api.ts";

export interface StreamListener<T> {
  messages(batch: readonly T[]): void;
  /** Lost: the server can't be reached, and is tried again. */
  connection?(state: "open" | "lost"): void;
  ended(): void;
  failed(error: ApiError): void;
}

const RETRY_MS = 2_000;
/** Frames don't come while the tab is hidden. */
const HIDDEN_BATCH_MS = 250;

/** `T`: what the route sends; the server has the version of this page. Returns what closes the stream. */
export function openStream<T>(path: string, listener: StreamListener<T>): () => void {
  const stream = new Stream(path, listener);
  return () => stream.close();
}

class Stream<T> {
  readonly #path: string;
  readonly #listener: StreamListener<T>;
  readonly #stop = new AbortController();
  #connection: EventSource | undefined;
  #state: "open" | "lost" = "open";
  #last = 0;
  #batch: T[] = [];
  #frame: number | undefined;
  #timer: number | undefined;

  constructor(path: string, listener: StreamListener<T>) {
    this.#path = path;
    this.#listener = listener;
    this.#connect();
  }

  close(): void {
    this.#stop.abort();
    this.#connection?.close();
    this.#cancelFlush();
  }

  #connect(): void {
    if (this.#stop.signal.aborted) return;
    const connection = new EventSource(this.#path);
    this.#connection = connection;
    connection.addEventListener("message", ({ data, lastEventId }: MessageEvent<string>) => {
      const value: T = JSON.parse(data);
      if (isEnd(value)) {
        this.#finish(() => this.#listener.ended());
        return;
      }
      // A new connection starts over.
      const id = Number(lastEventId);
      if (lastEventId !== "" && id <= this.#last) return;
      this.#last = id;
      this.#batch.push(value);
      this.#schedule();
    });
    connection.addEventListener("open", () => this.#report("open"));
    connection.addEventListener("error", () => {
      // The browser reconnects on its own after a lost connection, but not after an answer that is no stream.
      if (connection.readyState === EventSource.CLOSED) void this.#explain();
      else this.#report("lost");
    });
  }

  /** `EventSource` doesn't say why it gave up, so the server is asked again. */
  async #explain(): Promise<void> {
    const { signal } = this.#stop;
    let answer: Response | undefined;
    try {
      answer = await fetch(this.#path, {
        headers: { accept: "text/event-stream", "last-event-id": String(this.#last) },
        signal,
      });
      if (answer.status === 204) return this.#finish(() => this.#listener.ended());
      if (answer.headers.get("content-type")?.startsWith("application/json") === true) {
        const error = errorIn(await answer.text());
        if (error !== undefined) return this.#finish(() => this.#listener.failed(error));
      }
    } catch {
      // Not reachable: it may be again.
    } finally {
      void answer?.body?.cancel().catch(() => {});
    }
    if (signal.aborted) return undefined;
    this.#report("lost");
    setTimeout(() => this.#connect(), RETRY_MS);
    return undefined;
  }

  #report(state: "open" | "lost"): void {
    if (state === this.#state || this.#stop.signal.aborted) return;
    this.#state = state;
    this.#listener.connection?.(state);
  }

  #finish(report: () => void): void {
    if (this.#stop.signal.aborted) return;
    this.#flush();
    this.close();
    report();
  }

  #schedule(): void {
    if (this.#frame !== undefined) return;
    this.#frame = requestAnimationFrame(() => this.#flush());
    this.#timer = setTimeout(() => this.#flush(), HIDDEN_BATCH_MS);
  }

  #cancelFlush(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
    this.#frame = undefined;
    this.#timer = undefined;
  }

  #flush(): void {
    this.#cancelFlush();
    const batch = this.#batch;
    if (batch.length === 0) return;
    this.#batch = [];
    this.#listener.messages(batch);
  }
}

function isEnd(value: unknown): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    "error" in value &&
    typeof value.error === "string" &&
    value.error.endsWith("Closed")
  );
}
