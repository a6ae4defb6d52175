/**
 * The MCP servers of a host: each is started when a task first may call one of its tools, and ended with the host.
 *
 * Invariants: of the same declaration, environment and folder there is one server at a time, however many runs ask for
 * it at once; a run starts a server at most three times, so one that keeps ending can't hold it up; after `close` there
 * is no server, and none is started.
 */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Redactor } from "../../redaction/redactor.ts";
import { unlessAborted } from "../../platform/waiting.ts";
import { childEnvironment, type Environment } from "../../platform/environment.ts";
import { makeDirectory, removeDirectory } from "../../platform/files.ts";
import { makeRunFolder, RUN_MARK, type RunFolder } from "../../platform/run-folder.ts";
import { Connection } from "./connection.ts";
import type { McpHost } from "../toolbox.ts";
import { ServersOfRun, type McpRun, type ServerKey } from "./servers-of-run.ts";

export interface McpServersOptions {
  /** Of this process. A server sees what is on the allow-list for every process, and its own `env`. */
  readonly environment: Environment;
  readonly redactor: Pick<Redactor, "text" | "stream">;
  /** Of agent-jobs: what servers are told. */
  readonly version: string;
  /** The value of `AGENT_JOBS_RUN` in the environment of each server. Default: a random one. */
  readonly mark?: string | undefined;
  /** How long a server may take to end after SIGTERM. Default: 1 s. */
  readonly graceMs?: number;
}

export class McpServers {
  readonly #options: McpServersOptions;
  readonly #starting = new Map<string, Promise<Connection>>();
  readonly #running = new Map<string, Connection>();
  /** All that may still have a process. */
  readonly #open = new Set<Connection>();
  readonly #kill = (): void => this.kill();
  #folder: Promise<RunFolder> | undefined;
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(options: McpServersOptions) {
    this.#options = options;
  }

  /** The servers as one run sees them. */
  forRun(run: McpRun): McpHost {
    return new ServersOfRun(this, run, this.#options.redactor.text);
  }

  /** The server, if it is up. */
  running({ id }: ServerKey): Connection | undefined {
    const connection = this.#running.get(id);
    if (connection?.ended === undefined) return connection;
    this.#running.delete(id);
    // Its process may have left others behind.
    void connection.close().then(() => this.#open.delete(connection));
    return undefined;
  }

  isStarting({ id }: ServerKey): boolean {
    return this.#starting.has(id);
  }

  /** Joins a start that is under way, which goes on for others if the wait ends. Rejects with an Error for people. */
  async start(key: ServerKey, signal: AbortSignal): Promise<Connection> {
    const started = await unlessAborted(this.#starting.get(key.id) ?? this.#start(key), signal);
    if (started === undefined) throw new Error("The start was canceled.");
    return started.value;
  }

  /** Ends all servers, within a few seconds. Idempotent, never rejects. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Ends all at once, for a process that has no time left. */
  kill(): void {
    for (const connection of this.#open) connection.kill();
  }

  #start(key: ServerKey): Promise<Connection> {
    const connect = async (): Promise<Connection> => {
      const connection = await this.#connect(key);
      this.#running.set(key.id, connection);
      return connection;
    };
    const starting = connect().finally(() => this.#starting.delete(key.id));
    this.#starting.set(key.id, starting);
    return starting;
  }

  async #connect({ address, cwd, sandbox, startMs }: ServerKey): Promise<Connection> {
    const { signal } = this.#closed;
    if (signal.aborted) throw new Error("The host is closed.");
    // A program that doesn't close its host ends its servers, too.
    if (this.#folder === undefined) process.once("exit", this.#kill);
    const { environment, redactor, version, graceMs = 1_000 } = this.#options;
    this.#folder ??= makeRunFolder("mcp-", this.#options.mark);
    const { mark, path } = await this.#folder;
    const folder = cwd ?? join(path, randomUUID());
    if (cwd === undefined) await makeDirectory(folder);
    return Connection.open(address, {
      version,
      cwd: folder,
      sandbox,
      environment: { ...childEnvironment(environment), [RUN_MARK]: mark },
      graceMs,
      startMs,
      redactor,
      signal,
      onOpen: (connection) => void this.#open.add(connection),
    });
  }

  async #close(): Promise<void> {
    this.#closed.abort("The host was closed.");
    await Promise.allSettled(this.#starting.values());
    await Promise.all([...this.#open].map(async (connection) => connection.close()));
    process.off("exit", this.#kill);
    const folder = await this.#folder?.catch(() => undefined);
    if (folder !== undefined) await removeDirectory(folder.path).catch(() => undefined);
  }
}
