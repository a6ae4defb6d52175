/**
 * The MCP servers of a host, and how each run sees them. There is one server at a time for a declaration, environment and
 * folder. A run starts a program at most three times, so that one that keeps ending can't hold it up. A server at an
 * address that is away is tried again, with pauses, as long as the start or the call may take.
 */
import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { defaultStartSeconds } from "../../entry/model.ts";
import type { Redactor } from "../../redaction/redactor.ts";
import type { Clock } from "../../platform/clock.ts";
import { unlessAborted } from "../../platform/waiting.ts";
import { childEnvironment, type Environment } from "../../platform/environment.ts";
import { makeDirectory, removeDirectory } from "../../platform/files.ts";
import { makeRunFolder, RUN_MARK, type RunFolder } from "../../platform/run-folder.ts";
import { systemClock } from "../../platform/system-clock.ts";
import { errorMessage } from "../../platform/system-error.ts";
import { atExit } from "../../platform/processes.ts";
import { ServerUnavailable, backoffMs } from "./server-unavailable.ts";
import { Connection } from "./connection.ts";
import { listingOf } from "./listing.ts";
import { failed, type CallContext } from "../tool.ts";
import type { McpHost, ServerStart } from "../toolbox.ts";
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
  readonly name: string;
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
  #folder: Promise<RunFolder> | undefined;
  #leaveExit = (): void => {};
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(options: McpServersOptions) {
    this.#options = options;
  }

  forRun(run: McpRun): McpHost {
    const { redactor, clock = systemClock } = this.#options;
    return serversOfRun(this, run, redactor.text, clock);
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
    const starting = this.#connect(key).finally(() => this.#starting.delete(key.id));
    this.#starting.set(key.id, starting);
    return starting;
  }

  async #connect(key: ServerKey): Promise<Connection> {
    const { address, workingDirectory, isLocal = false, sandbox, startMs } = key;
    const { signal } = this.#closed;
    if (signal.aborted) throw new Error("The host is closed.");
    // A program that doesn't close its host ends its servers, too.
    if (this.#folder === undefined) this.#leaveExit = atExit(() => this.kill());
    const { environment, redactor, version, graceMs = 1_000 } = this.#options;
    this.#folder ??= makeRunFolder("mcp-", this.#options.mark);
    const { mark, path } = await this.#folder;
    const empty = join(path, randomUUID());
    await makeDirectory(empty);
    const connection = await Connection.open(address, {
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
      onOpen: (opened) => void this.#open.add(opened),
    });
    this.#running.set(key.id, connection);
    return connection;
  }

  async #close(): Promise<void> {
    this.#closed.abort("The host was closed.");
    await Promise.allSettled(this.#starting.values());
    await Promise.all([...this.#open].map(async (connection) => connection.close()));
    this.#leaveExit();
    const folder = await this.#folder?.catch(() => undefined);
    if (folder !== undefined) await removeDirectory(folder.path).catch(() => undefined);
  }
}

const mostStarts = 3;

/** Long enough for a server that is just being restarted, and not for a wrong address. */
const unknownMs = 5_000;

/** A server as a run has used it. */
interface Used {
  starts: number;
  failure: string;
  connection?: Connection;
  readonly reported: Set<string>;
}

interface Waiting extends Pick<CallContext, "signal"> {
  readonly onProgress?: CallContext["onProgress"];
  /** How long an address that is away is tried again, in milliseconds. Default: until `signal` aborts. */
  readonly mostMs?: number;
}

function serversOfRun(
  servers: McpServers,
  { variables, workingDirectory }: McpRun,
  redact: (text: string) => string,
  clock: Clock,
): McpHost {
  const all = new Map<string, Used>();

  const reach = async (used: Used, key: ServerKey, signal: AbortSignal): Promise<Connection> => {
    const running = servers.running(key);
    if (running !== undefined) return (used.connection = running);
    used.failure = used.connection?.ended ?? used.failure;
    if (key.address.kind === "program" && !servers.isStarting(key)) {
      if (used.starts === mostStarts)
        throw new Error(`${used.failure}\nIt is not started again in this run.`);
      used.starts += 1;
    }
    return (used.connection = await servers.start(key, signal));
  };

  /** A text says why it can't be reached. Never rejects. */
  const using = async <T extends object>(
    used: Used,
    key: ServerKey,
    { signal, mostMs = Infinity, onProgress }: Waiting,
    use: (connection: Connection) => Promise<T>,
  ): Promise<T | string> => {
    const isKnown = used.connection !== undefined || key.isAwaited;
    const begun = clock.now();
    for (let tries = 1; ; tries += 1) {
      try {
        return await use(await reach(used, key, signal));
      } catch (error) {
        used.failure = errorMessage(error);
        if (!(error instanceof ServerUnavailable) || signal.aborted) return used.failure;
        const pause = backoffMs(error, tries);
        if (pause === undefined) return used.failure;
        const passed = clock.now() - begun;
        const most = error.kind === "unreached" && !isKnown ? Math.min(unknownMs, mostMs) : mostMs;
        if (passed + pause > most)
          return `${used.failure}\nTried ${tries} times within ${Math.round(passed / 1000)} s.`;
        onProgress?.({ message: `Waiting for the MCP server ${key.name}: ${used.failure}` });
        await clock.sleep(pause, signal);
      }
    }
  };

  return {
    get version() {
      return Math.max(0, ...[...all.values()].map(({ connection }) => connection?.version ?? 0));
    },
    async toolsOf(name, declaration, signal, start = {}) {
      const { isLocal, sandbox } = start;
      const address = addressOf(declaration, variables, isLocal ? undefined : workingDirectory);
      if (address.kind === "incomplete")
        return failed(
          `It needs the environment variable ${address.missing}, which is not set or not allowed.`,
        );
      const folder = address.kind === "program" ? workingDirectory : "";
      const parts = [address, folder, isLocal, sandbox?.enter];
      const startMs = (declaration.startSeconds ?? defaultStartSeconds) * 1000;
      const key: ServerKey = {
        name,
        // The values of variables are secrets: they are in no key.
        id: createHash("sha256").update(JSON.stringify(parts)).digest("hex"),
        address,
        workingDirectory,
        ...start,
        startMs,
        isAwaited: declaration.startSeconds !== undefined,
      };
      // A workflow may have another server of the same name.
      const place = `${name} ${key.id}`;
      const used = all.get(place) ?? { starts: 0, failure: "", reported: new Set() };
      all.set(place, used);
      const listed = await using(used, key, { signal, mostMs: startMs }, async (connection) => {
        const list = await unlessAborted(connection.tools(), signal);
        return (
          list?.value ?? Promise.reject(new Error("Its tools can't be listed: it was canceled"))
        );
      });
      if (typeof listed === "string") return failed(listed);
      const { tools, problems } = listingOf(name, listed, declaration.tools, redact);
      const fresh = problems.filter((problem) => !used.reported.has(problem));
      for (const problem of fresh) used.reported.add(problem);
      return {
        kind: "ready",
        tools: tools.map(({ definition, offered }) => ({
          ...offered,
          timeoutSeconds: declaration.timeoutSeconds,
          run: async (call, context) => {
            const outcome = await using(used, key, context, (connection) =>
              connection.call(definition, call.params, context),
            );
            return typeof outcome === "string"
              ? failed(`The MCP server ${name} is not available. ${outcome}`)
              : outcome;
          },
        })),
        problems: fresh,
      };
    },
  };
}
