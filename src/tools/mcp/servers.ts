/**
 * The MCP servers of a host, and how each run sees them. There is one server at a time for a declaration, environment and
 * folder. A run starts a program at most three times, so that one that keeps ending can't hold it up. A server at an
 * address that is away is tried again, with pauses, as long as the start or the call may take.
 */
import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { type McpServer, defaultStartSeconds } from "../../entry/model.ts";
import type { Redactor } from "../../redaction/redactor.ts";
import type { Clock } from "../../platform/clock.ts";
import { unlessAborted } from "../../platform/waiting.ts";
import { childEnvironment, type Environment } from "../../platform/environment.ts";
import { makeDirectory, removeDirectory } from "../../platform/files.ts";
import { makeRunFolder, RUN_MARK, type RunFolder } from "../../platform/run-folder.ts";
import { systemClock } from "../../platform/system-clock.ts";
import { errorMessage } from "../../platform/system-error.ts";
import { ServerUnavailable, backoffMs } from "./server-unavailable.ts";
import { Connection } from "./connection.ts";
import { listingOf } from "./listing.ts";
import { failed, type CallContext } from "../tool.ts";
import type { McpHost, ServerStart, ServerTools } from "../toolbox.ts";
import { type ServerAddress, addressOf } from "./variables.ts";

export interface McpServersOptions {
  readonly environment: Environment;
  readonly redactor: Pick<Redactor, "text" | "stream">;
  readonly version: string;
  readonly mark?: string | undefined;
  readonly graceMs?: number;
  /** For the pauses between tries of an address. Default: the clock of the system. */
  readonly clock?: Clock;
}

interface McpRun {
  /** Absolute. Undefined: an empty folder. */
  readonly workingDirectory: string | undefined;
  readonly variables: Readonly<Record<string, string>>;
}

interface ServerKey extends Pick<McpRun, "workingDirectory">, ServerStart {
  readonly id: string;
  readonly address: ServerAddress;
  readonly startMs: number;
  /** Whether the author says how long to wait for a server that nobody has reached yet. */
  readonly isAwaited: boolean;
}

export class McpServers {
  readonly #options: McpServersOptions;
  readonly #starting = new Map<string, Promise<Connection>>();
  readonly #running = new Map<string, Connection>();
  readonly #open = new Set<Connection>();
  readonly #kill = (): void => this.kill();
  #folder: Promise<RunFolder> | undefined;
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(options: McpServersOptions) {
    this.#options = options;
  }

  forRun(run: McpRun): McpHost {
    const { redactor, clock = systemClock } = this.#options;
    return new ServersOfRun(this, run, redactor.text, clock);
  }

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

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

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

  async #connect(key: ServerKey): Promise<Connection> {
    const { address, workingDirectory, isLocal = false, sandbox, startMs } = key;
    const { signal } = this.#closed;
    if (signal.aborted) throw new Error("The host is closed.");
    // A program that doesn't close its host ends its servers, too.
    if (this.#folder === undefined) process.once("exit", this.#kill);
    const { environment, redactor, version, graceMs = 1_000 } = this.#options;
    this.#folder ??= makeRunFolder("mcp-", this.#options.mark);
    const { mark, path } = await this.#folder;
    const empty = join(path, randomUUID());
    await makeDirectory(empty);
    return Connection.open(address, {
      version,
      isLocal,
      cwd: (isLocal ? workingDirectory : undefined) ?? empty,
      sandbox,
      environment: {
        ...childEnvironment(environment, isLocal ? undefined : workingDirectory),
        [RUN_MARK]: mark,
      },
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

const mostStarts = 3;
interface Waiting extends Pick<CallContext, "signal"> {
  readonly onProgress?: CallContext["onProgress"];
  /** How long an address that is away is tried again, in milliseconds. Default: until `signal` aborts. */
  readonly mostMs?: number;
}

/** Long enough for a server that is just being restarted, and not for a wrong address. */
const unknownMs = 5_000;

interface Used {
  starts: number;
  failure: string;
  connection: Connection | undefined;
  readonly reported: Set<string>;
}

class ServersOfRun implements McpHost {
  readonly #servers: McpServers;
  readonly #run: McpRun;
  readonly #redact: (text: string) => string;
  readonly #clock: Clock;
  readonly #used = new Map<string, Used>();

  constructor(servers: McpServers, run: McpRun, redact: (text: string) => string, clock: Clock) {
    this.#servers = servers;
    this.#run = run;
    this.#redact = redact;
    this.#clock = clock;
  }

  get version(): number {
    const versions = [...this.#used.values()].map(({ connection }) => connection?.version ?? 0);
    return Math.max(0, ...versions);
  }

  readonly toolsOf = async (
    name: string,
    declaration: McpServer,
    signal: AbortSignal,
    start: ServerStart = {},
  ): Promise<ServerTools> => {
    const { variables, workingDirectory } = this.#run;
    const { isLocal, sandbox } = start;
    const address = addressOf(declaration, variables, isLocal ? undefined : workingDirectory);
    if (address.kind === "incomplete") {
      const reason = `It needs the environment variable ${address.missing}, which is not set or not allowed.`;
      return { kind: "failed", reason };
    }
    const parts = [
      address,
      address.kind === "program" ? workingDirectory : "",
      isLocal,
      sandbox?.enter,
    ];
    const key: ServerKey = {
      // The values of variables are secrets: they are in no key.
      id: createHash("sha256").update(JSON.stringify(parts)).digest("hex"),
      address,
      workingDirectory,
      ...start,
      startMs: (declaration.startSeconds ?? defaultStartSeconds) * 1000,
      isAwaited: declaration.startSeconds !== undefined,
    };
    const limit = { signal, mostMs: key.startMs };
    const definitions = await this.#using(name, key, limit, async (connection) => {
      const listed = await unlessAborted(connection.tools(), signal);
      if (listed === undefined) throw new Error("Its tools can't be listed: it was canceled");
      return listed;
    });
    if (typeof definitions === "string") return { kind: "failed", reason: definitions };
    const only = declaration.tools;
    const { tools, problems } = listingOf(name, definitions.value, only, this.#redact);
    const { reported } = this.#usedAs(name, key);
    const fresh = problems.filter((problem) => !reported.has(problem));
    for (const problem of fresh) reported.add(problem);
    return {
      kind: "ready",
      tools: tools.map(({ definition, offered }) => ({
        ...offered,
        timeoutSeconds: declaration.timeoutSeconds,
        run: async (call, context) => {
          const outcome = await this.#using(name, key, context, (connection) =>
            connection.call(definition, call.params, context),
          );
          if (typeof outcome !== "string") return outcome;
          return failed(`The MCP server ${name} is not available. ${outcome}`);
        },
      })),
      problems: fresh,
    };
  };

  /** A text says why it can't be reached. Never rejects. */
  async #using<T extends object>(
    name: string,
    key: ServerKey,
    { signal, mostMs = Infinity, onProgress }: Waiting,
    use: (connection: Connection) => Promise<T>,
  ): Promise<T | string> {
    const used = this.#usedAs(name, key);
    const isKnown = used.connection !== undefined || key.isAwaited;
    const begun = this.#clock.now();
    for (let tries = 1; ; tries += 1) {
      try {
        return await use(await this.#reach(used, key, signal));
      } catch (error) {
        used.failure = errorMessage(error);
        const pause = error instanceof ServerUnavailable ? backoffMs(error, tries) : undefined;
        if (pause === undefined || signal.aborted) return used.failure;
        const passed = this.#clock.now() - begun;
        const isUnknown =
          error instanceof ServerUnavailable && error.kind === "unreached" && !isKnown;
        if (passed + pause > (isUnknown ? Math.min(unknownMs, mostMs) : mostMs))
          return `${used.failure}\nTried ${tries} times within ${Math.round(passed / 1000)} s.`;
        onProgress?.({ message: `Waiting for the MCP server ${name}: ${used.failure}` });
        await this.#clock.sleep(pause, signal);
      }
    }
  }

  async #reach(used: Used, key: ServerKey, signal: AbortSignal): Promise<Connection> {
    const running = this.#servers.running(key);
    if (running !== undefined) return (used.connection = running);
    used.failure = used.connection?.ended ?? used.failure;
    if (key.address.kind === "program" && !this.#servers.isStarting(key)) {
      if (used.starts === mostStarts)
        throw new Error(`${used.failure}\nIt is not started again in this run.`);
      used.starts += 1;
    }
    return (used.connection = await this.#servers.start(key, signal));
  }

  /** A workflow may have another server of the same name. */
  #usedAs(name: string, { id }: ServerKey): Used {
    const server = `${name} ${id}`;
    const used = this.#used.get(server) ?? {
      starts: 0,
      failure: "",
      connection: undefined,
      reported: new Set(),
    };
    this.#used.set(server, used);
    return used;
  }
}
