/** The events of a report: NDJSON, compressed while they come, so that little is held of many. */
import { once } from "node:events";
import { createGzip, type Gzip } from "node:zlib";
import type { RunEvent } from "../events/event.ts";

/** Lines are handed to the compressor in parts of about this many bytes. */
const PART = 256 * 1024;

export class EventArchive {
  readonly #gzip: Gzip = createGzip();
  readonly #bytes: Uint8Array[] = [];
  readonly #ended: Promise<unknown>;
  #lines: Buffer[] = [];
  #length = 0;

  constructor() {
    this.#gzip.on("data", (bytes: Uint8Array) => this.#bytes.push(bytes));
    this.#ended = once(this.#gzip, "end");
    // Whoever finishes the archive gets the error.
    this.#ended.catch(() => {});
  }

  add(event: RunEvent): void {
    // Each by itself: joined with one that has characters beyond Latin-1, a line takes several times as long to encode.
    const line = Buffer.from(`${JSON.stringify(event)}\n`);
    this.#lines.push(line);
    this.#length += line.length;
    if (this.#length >= PART) this.#compress();
  }

  /** Resolves when the compressor has caught up. */
  async addAll(events: readonly RunEvent[]): Promise<void> {
    for (const event of events) this.add(event);
    if (this.#gzip.writableNeedDrain) await once(this.#gzip, "drain");
  }

  /** To be called once, at the end. */
  async finish(): Promise<readonly Uint8Array[]> {
    this.#compress();
    this.#gzip.end();
    await this.#ended;
    return this.#bytes;
  }

  #compress(): void {
    if (this.#lines.length > 0) this.#gzip.write(Buffer.concat(this.#lines));
    this.#lines = [];
    this.#length = 0;
  }
}
