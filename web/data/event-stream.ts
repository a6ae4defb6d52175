/**
 * Server-sent events of the API, from the first one on, in batches. Not an `EventSource`: that can't say why an
 * answer is no stream, and doesn't notice a connection that has gone silent.
 *
 * Invariants: every message is delivered once and in order, whatever the connection does; at most one batch per
 * frame; after `ended` or `failed`, or once it is closed, nothing is delivered.
 */
import { errorIn, type ApiError } from "./api.ts";
import { EventParser } from "./sse.ts";

export interface StreamListener<T> {
  messages(batch: readonly T[]): void;
  /** Lost: the server can't be reached, and is tried again. */
  connection?(state: "open" | "lost"): void;
  ended(): void;
  failed(error: ApiError): void;
}

const RETRY_MS = 2_000;
/** The server sends a comment every 15 seconds. */
const SILENCE_MS = 45_000;
/** Frames don't come while the tab is hidden. */
const HIDDEN_BATCH_MS = 250;

/** `T`: what the route sends; the server has the version of this page. Returns what closes the stream. */
export function openStream<T>(path: string, listener: StreamListener<T>): () => void {
  const stream = new Stream(path, listener);
  void stream.run();
  return () => stream.close();
}

type Connection = { readonly kind: "ended" } | { readonly kind: "lost" } | Failed;
type Failed = { readonly kind: "failed"; readonly error: ApiError };

class Stream<T> {
  readonly #path: string;
  readonly #listener: StreamListener<T>;
  readonly #stop = new AbortController();
  #state: "open" | "lost" = "open";
  #last = 0;
  #batch: T[] = [];
  #frame: number | undefined;
  #timer: number | undefined;

  constructor(path: string, listener: StreamListener<T>) {
    this.#path = path;
    this.#listener = listener;
  }

  async run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const end = await this.#connect();
      if (signal.aborted) return;
      if (end.kind !== "lost") {
        this.#flush();
        this.close();
        if (end.kind === "ended") this.#listener.ended();
        else this.#listener.failed(end.error);
        return;
      }
      this.#report("lost");
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }

  close(): void {
    this.#stop.abort();
    this.#cancelFlush();
  }

  /** One connection, up to its end. */
  async #connect(): Promise<Connection> {
    const silence = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, silence.signal]);
    let timer: number | undefined;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
    };
    try {
      heard();
      const accept = { accept: "text/event-stream" };
      const headers = this.#last === 0 ? accept : { ...accept, "last-event-id": `${this.#last}` };
      const response = await fetch(this.#path, { headers, cache: "no-store", signal });
      if (response.status === 204) return { kind: "ended" };
      // A proxy in front of a server that is away, or one that shuts down.
      if (response.status >= 500) return { kind: "lost" };
      const type = response.headers.get("content-type") ?? "";
      if (!type.startsWith("text/event-stream") || response.body === null)
        return { kind: "failed", error: errorIn(await response.text()) ?? noStream };
      this.#report("open");
      return await this.#read(response.body, heard);
    } catch {
      return { kind: "lost" };
    } finally {
      clearTimeout(timer);
    }
  }

  async #read(
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    heard: () => void,
  ): Promise<Connection> {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser();
    try {
      for (;;) {
        const { done, value = "" } = await reader.read();
        if (done) return { kind: "lost" };
        heard();
        for (const { id, data } of parser.push(value)) {
          const message: T = JSON.parse(data);
          if (isEnd(message)) return { kind: "ended" };
          this.#add(Number(id), message);
        }
      }
    } finally {
      void reader.cancel().catch(() => {});
    }
  }

  #add(id: number, message: T): void {
    if (this.#stop.signal.aborted || id <= this.#last) return;
    this.#last = id;
    this.#batch.push(message);
    this.#schedule();
  }

  #report(state: "open" | "lost"): void {
    if (state === this.#state || this.#stop.signal.aborted) return;
    this.#state = state;
    this.#listener.connection?.(state);
  }

  #schedule(): void {
    if (this.#timer !== undefined) return;
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

const noStream: ApiError = {
  error: "UnexpectedAnswer",
  reason: "The server answered with something that is no stream of events.",
};

function isEnd(value: unknown): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    "error" in value &&
    typeof value.error === "string" &&
    value.error.endsWith("Closed")
  );
}
