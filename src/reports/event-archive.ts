/** The events of a report: NDJSON, compressed while they come, so that little is held of many. */
import { once } from "node:events";
import { createGzip, type Gzip } from "node:zlib";
import type { RunEvent } from "../events/event.ts";

/** Lines are handed to the compressor in parts of about this many UTF-16 units. */
const PART = 256 * 1024;

export class EventArchive {
  readonly #gzip: Gzip = createGzip();
  readonly #bytes: Uint8Array[] = [];
  readonly #ended: Promise<unknown>;
  #lines: string[] = [];
  #length = 0;

  constructor() {
    this.#gzip.on("data", (bytes: Uint8Array) => this.#bytes.push(bytes));
    this.#ended = once(this.#gzip, "end");
    // Whoever finishes the archive gets the error.
    this.#ended.catch(() => {});
  }

  add(event: RunEvent): void {
    const line = `${JSON.stringify(event)}\n`;
    this.#lines.push(line);
    this.#length += line.length;
    if (this.#length >= PART) this.#compress();
  }

  /** Resolves when the compressor has caught up. */
  async drained(): Promise<void> {
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
    if (this.#lines.length > 0) this.#gzip.write(this.#lines.join(""));
    this.#lines = [];
    this.#length = 0;
  }
}
