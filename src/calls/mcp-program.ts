/**
 * An MCP server as a program: a transport of the client over its stdin and stdout.
 *
 * Owns the process and its process group, from the start until they are surely gone; the transport that comes with the
 * client neither ends the children of a server nor limits the environment. Invariants: after `close` no process of the
 * group is left, and none with the mark; how it ended is known before `onclose` is called.
 */
import { spawn, type ChildProcess } from "node:child_process";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { endOf } from "../events/cut.ts";
import { readCalmly } from "../platform/breath.ts";
import {
  endGroup,
  endMarkedProcesses,
  killMarkedProcesses,
  signalGroup,
} from "../platform/processes.ts";
import { errorMessage } from "../platform/system-error.ts";
import { Lines } from "./mcp-lines.ts";

export interface ProgramOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Complete. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly cwd: string;
  /** How long it may take to end after its stdin is closed, and again after SIGTERM, in milliseconds. */
  readonly graceMs: number;
  /** Reads a line. Throws a SyntaxError for one that isn't JSON. */
  readonly parse: (line: string) => JSONRPCMessage;
}

/** All processes of one server have it in their environment. */
const SERVER_MARK = "AGENT_JOBS_SERVER";
/** Bytes of a message: a result of the size that is allowed, with room for what is escaped. */
export const longestMessage = 32 * 1024 * 1024;
/** Characters of stderr that are kept, from its end. */
const keptErrors = 16_384;
/** How long its last output is waited for when it has exited: its children may hold the pipes open. */
const drainMs = 200;
/** How long the exit of a server is waited for that doesn't read any more. */
const brokenMs = 1_000;

export class ServerProgram implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  /** The client takes a transport with `pid` and `stderr` for a program, where silence is no outage. */
  pid: number | null = null;
  readonly stderr = null;
  readonly #options: ProgramOptions;
  readonly #mark = crypto.randomUUID();
  readonly #lines = new Lines(longestMessage);
  #child: ChildProcess | undefined;
  #errors = "";
  #ended: string | undefined;
  #exited: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: ProgramOptions) {
    this.#options = options;
  }

  /** How it ended, as a phrase: `exit code 1`. */
  get ended(): string | undefined {
    return this.#ended;
  }

  /** The end of what it has written to stderr. */
  get errors(): string {
    return endOf(this.#errors, keptErrors);
  }

  start(): Promise<void> {
    const { command, args, env, cwd } = this.#options;
    // Its own process group, so that its children are ended with it, and Ctrl-C doesn't reach it before us.
    const child = spawn(command, args, {
      cwd,
      env: { ...env, [SERVER_MARK]: this.#mark },
      detached: process.platform !== "win32",
      windowsHide: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child = child;
    this.pid = child.pid ?? null;
    child.stdin.on("error", (error) => this.onerror?.(error));
    const reading = readCalmly(child.stdout, (piece) => this.#read(piece));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#errors = (this.#errors + text).slice(-2 * keptErrors);
    });
    // A server that nobody calls doesn't keep this process running. It sees the end of its stdin.
    for (const part of [child, child.stdin, child.stdout, child.stderr]) unref(part);
    this.#exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        const how = signal === null ? `exit code ${code}` : signal;
        const done = (): void => {
          clearTimeout(wait);
          this.#end(how);
          resolve();
        };
        const wait = setTimeout(done, drainMs);
        child.once("close", () => void reading.drained().then(() => done()));
      });
    });
    return new Promise((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => {
        if (child.pid !== undefined) return this.onerror?.(error);
        const reason = errorMessage(error);
        this.#end(reason);
        reject(new Error(reason));
      });
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    const error = await new Promise((resolve) => {
      if (this.#ended !== undefined || !stdin?.writable)
        resolve(new Error("The server has ended."));
      else stdin.write(`${JSON.stringify(message)}\n`, resolve);
    });
    if (!(error instanceof Error)) return;
    // The pipe breaks a moment before it is known how the server ended.
    await orAfter(this.#exited, brokenMs);
    throw error;
  }

  /** Closes its stdin, then ends it: politely, and after the grace period for certain. Idempotent, never rejects. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Ends it at once, for a process that has no time left. */
  kill(): void {
    if (this.pid === null) return;
    this.#signal("SIGKILL");
    killMarkedProcesses(SERVER_MARK, this.#mark);
  }

  async #close(): Promise<void> {
    const { pid } = this;
    const { graceMs } = this.#options;
    if (pid !== null) {
      this.#child?.stdin?.end();
      await orAfter(this.#exited, graceMs / 2);
      if (process.platform === "win32") this.#signal("SIGKILL");
      else await endGroup(pid, graceMs);
      // What has left the group.
      await endMarkedProcesses(SERVER_MARK, this.#mark);
      await orAfter(this.#exited, graceMs);
    }
    this.#end("it was ended");
  }

  #read(piece: Buffer): void {
    if (this.#ended !== undefined) return;
    const read = this.#lines.push(piece);
    if (read.kind === "too-large") {
      this.#end(`it sent a message of more than ${read.more}`);
      void this.close();
      return;
    }
    for (const line of read.lines) {
      try {
        const message = this.#options.parse(line);
        this.onmessage?.(message);
      } catch (error) {
        // Many programs print to stdout what isn't meant for us.
        if (!(error instanceof SyntaxError)) this.onerror?.(toError(error));
      }
    }
  }

  #end(how: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = how;
    this.#child?.stdout?.destroy();
    this.#child?.stderr?.destroy();
    this.onclose?.();
  }

  #signal(signal: NodeJS.Signals): void {
    if (process.platform === "win32") this.#child?.kill(signal);
    else signalGroup(this.pid ?? 0, signal);
  }
}

function unref(part: object): void {
  const method: unknown = Reflect.get(part, "unref");
  if (typeof method === "function") Reflect.apply(method, part, []);
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

async function orAfter(promise: Promise<void> | undefined, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}
