/**
 * Replaces the pipes of `child_process`, which are sockets: `echo x > /dev/stderr` fails on them, and nobody knows when all
 * has arrived, because a program in the background keeps them open.
 */
import { randomBytes } from "node:crypto";
import { closeSync, constants, openSync, unlinkSync } from "node:fs";
import { Socket } from "node:net";
import { dirname } from "node:path";
import { readYielding } from "./waiting.ts";
import { childEnvironment, type Environment } from "./environment.ts";
import { outputOf } from "./programs.ts";
import { findProgram } from "./search-path.ts";

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;

export async function makeNamedPipes(
  paths: readonly string[],
  environment: Environment,
): Promise<void> {
  const mkfifo = findProgram("mkfifo", environment);
  if (mkfifo === undefined) throw new Error("There is no mkfifo in PATH outside the checkout");
  const [first = "/"] = paths;
  const options = { cwd: dirname(first), env: childEnvironment(environment) };
  await outputOf(mkfifo, ["-m", "600", ...paths], options);
}

export class PipeReader {
  readonly #path: string;
  readonly #reader: Socket;
  readonly #writer: Socket;
  readonly #onData: (bytes: Uint8Array) => void;
  #stage:
    | { readonly at: "open" }
    /** Until the marker arrives, which nothing but this process has ever seen. */
    | { readonly at: "finishing"; readonly marker: Buffer; readonly found: () => void }
    | { readonly at: "late" }
    | { readonly at: "closed" } = { at: "open" };
  #held = Buffer.alloc(0);
  #finished: Promise<void> | undefined;

  /** Nothing is passed on after `finish`, but read: a process in the background must not wait for a reader. */
  constructor(path: string, onData: (bytes: Uint8Array) => void) {
    this.#path = path;
    this.#onData = onData;
    // In this order: a pipe without a reader refuses a writer.
    const reader = openSync(path, O_RDONLY | O_NONBLOCK);
    const writer = openSync(path, O_WRONLY | O_NONBLOCK);
    this.#reader = new Socket({ fd: reader, readable: true, writable: false });
    this.#writer = new Socket({ fd: writer, readable: false, writable: true });
    readYielding(this.#reader, (chunk) => {
      if (this.#stage.at === "open") onData(chunk);
      else if (this.#stage.at === "finishing") this.#seek(this.#stage, chunk);
    });
    this.#writer.on("error", () => this.close());
    this.#reader.on("error", () => this.close()).on("close", () => this.close());
  }

  get isOpen(): boolean {
    return this.#stage.at !== "closed";
  }

  finish(): Promise<void> {
    this.#finished ??= new Promise((resolve) => {
      if (this.#stage.at !== "open") return resolve();
      const marker = randomBytes(32);
      this.#stage = { at: "finishing", marker, found: resolve };
      this.#writer.end(marker);
      this.#unlink();
    });
    return this.#finished;
  }

  close(): void {
    const before = this.#stage;
    if (before.at === "closed") return;
    this.#stage = { at: "closed" };
    this.#reader.destroy();
    this.#writer.destroy();
    this.#unlink();
    if (before.at === "finishing") before.found();
  }

  #seek({ marker, found }: { marker: Buffer; found: () => void }, chunk: Buffer): void {
    const bytes = Buffer.concat([this.#held, chunk]);
    const at = bytes.indexOf(marker);
    const end = at === -1 ? Math.max(0, bytes.length - marker.length + 1) : at;
    if (end > 0) this.#onData(bytes.subarray(0, end));
    this.#held = bytes.subarray(end);
    if (at === -1) return;
    this.#stage = { at: "late" };
    this.#held = Buffer.alloc(0);
    found();
  }

  #unlink(): void {
    try {
      unlinkSync(this.#path);
    } catch {
      // Gone already.
    }
  }
}

export class PipeWriter {
  /** So that writing is possible before the program has opened the pipe, and after it is gone. */
  readonly #reader: number;
  readonly #writer: Socket;
  #open = true;

  constructor(path: string) {
    this.#reader = openSync(path, O_RDONLY | O_NONBLOCK);
    const writer = openSync(path, O_WRONLY | O_NONBLOCK);
    this.#writer = new Socket({ fd: writer, readable: false, writable: true });
    this.#writer.on("error", () => this.close());
  }

  write(text: string): void {
    if (this.#open) this.#writer.write(text);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#writer.destroy();
    closeSync(this.#reader);
  }
}
