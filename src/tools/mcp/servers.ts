/**
 * The MCP servers of a host, and how each run sees them. There is one server at a time for a declaration, environment and
 * folder; a run starts it at most three times, so that one that keeps ending can't hold it up.
 */
import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Tool as ServerTool } from "@modelcontextprotocol/client";
import { defined } from "../../document/guards.ts";
import { type McpServer, defaultStartSeconds } from "../../entry/model.ts";
import { redactedValue } from "../../redaction/redacted-value.ts";
import type { Redactor } from "../../redaction/redactor.ts";
import { unlessAborted } from "../../platform/waiting.ts";
import { childEnvironment, type Environment } from "../../platform/environment.ts";
import { makeDirectory, removeDirectory } from "../../platform/files.ts";
import { makeRunFolder, RUN_MARK, type RunFolder } from "../../platform/run-folder.ts";
import { errorMessage } from "../../platform/system-error.ts";
import { Connection } from "./connection.ts";
import { redactedBeginning } from "../redacted-data.ts";
import { failed, type Tool } from "../tool.ts";
import type { McpHost, ServerStart, ServerTools } from "../toolbox.ts";
import { type ServerAddress, addressOf } from "./variables.ts";

export interface McpServersOptions {
  readonly environment: Environment;
  readonly redactor: Pick<Redactor, "text" | "stream">;
  readonly version: string;
  readonly mark?: string | undefined;
  readonly graceMs?: number;
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
    return new ServersOfRun(this, run, this.#options.redactor.text);
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

interface Used {
  starts: number;
  failure: string;
  connection: Connection | undefined;
  readonly told: Set<string>;
}

class ServersOfRun implements McpHost {
  readonly #servers: McpServers;
  readonly #run: McpRun;
  readonly #redact: (text: string) => string;
  readonly #used = new Map<string, Used>();

  constructor(servers: McpServers, run: McpRun, redact: (text: string) => string) {
    this.#servers = servers;
    this.#run = run;
    this.#redact = redact;
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
    };
    const connection = await this.#reach(name, key, signal);
    if (typeof connection === "string") return { kind: "failed", reason: connection };
    try {
      const definitions = await unlessAborted(connection.tools(), signal);
      if (definitions === undefined) throw new Error("it was canceled");
      const only = declaration.tools;
      const { tools, problems } = listingOf(name, definitions.value, only, this.#redact);
      const { told } = this.#usedAs(name, key);
      const fresh = problems.filter((problem) => !told.has(problem));
      for (const problem of fresh) told.add(problem);
      return {
        kind: "ready",
        tools: tools.map(({ definition, offered }) => ({
          ...offered,
          run: async ({ params }, context) => {
            const reached = await this.#reach(name, key, context.signal);
            if (typeof reached !== "string") return reached.call(definition, params, context);
            return failed(`The MCP server ${name} is not available. ${reached}`);
          },
        })),
        problems: fresh,
      };
    } catch (error) {
      return { kind: "failed", reason: `Its tools can't be listed: ${errorMessage(error)}` };
    }
  };

  /** A text says why it can't be reached. Never rejects. */
  async #reach(name: string, key: ServerKey, signal: AbortSignal): Promise<Connection | string> {
    const used = this.#usedAs(name, key);
    const running = this.#servers.running(key);
    if (running !== undefined) return (used.connection = running);
    used.failure = used.connection?.ended ?? used.failure;
    if (!this.#servers.isStarting(key)) {
      if (used.starts === mostStarts)
        return `${used.failure}\nIt is not started again in this run.`;
      used.starts += 1;
    }
    try {
      return (used.connection = await this.#servers.start(key, signal));
    } catch (error) {
      return (used.failure = errorMessage(error));
    }
  }

  /** A workflow may have another server of the same name. */
  #usedAs(name: string, { id }: ServerKey): Used {
    const server = `${name} ${id}`;
    const used = this.#used.get(server) ?? {
      starts: 0,
      failure: "",
      connection: undefined,
      told: new Set(),
    };
    this.#used.set(server, used);
    return used;
  }
}

interface OfferedTool {
  readonly definition: ServerTool;
  readonly offered: Omit<Tool, "run">;
}

/** As the protocol asks for. A slash would be taken for another server. */
const offerable = /^[A-Za-z0-9_.-]{1,128}$/;
/** UTF-16 units. */
const longestDescription = 4_096;
const longestName = 80;

function listingOf(
  server: string,
  definitions: readonly ServerTool[],
  only: readonly string[] | undefined,
  redact: (text: string) => string,
): { readonly tools: readonly OfferedTool[]; readonly problems: readonly string[] } {
  const tools = new Map<string, OfferedTool>();
  const left = new Map<string, string[]>();
  const leave = (why: string, name: string): void => {
    const shown = JSON.stringify(redactedBeginning(name, longestName, redact));
    left.set(why, [...(left.get(why) ?? []), shown]);
  };
  for (const definition of definitions) {
    const { name } = definition;
    if (only !== undefined && !only.includes(name)) continue;
    if (!offerable.test(name))
      leave("its name must consist of at most 128 letters, digits, _, - and .", name);
    else if (tools.has(name)) leave("there is another one of the same name", name);
    else if (definition.execution?.taskSupport === "required")
      leave("it requires the protocol's tasks, which are not supported", name);
    else tools.set(name, { definition, offered: offered(server, definition, redact) });
  }
  const known = new Set(definitions.map(({ name }) => name));
  for (const name of only ?? []) {
    if (!known.has(name)) leave("the server has no such tool", name);
  }
  return {
    tools: [...tools.values()],
    problems: [...left].map(([why, names]) => `Not offered: ${names.join(", ")}: ${why}.`),
  };
}

function offered(
  server: string,
  { name, title, description = title, inputSchema, annotations }: ServerTool,
  redact: (text: string) => string,
): Omit<Tool, "run"> {
  const readOnly = annotations?.readOnlyHint === true;
  const parameters = redactedValue(inputSchema, redact);
  const shown = description && redactedBeginning(description, longestDescription, redact);
  return {
    name: `${server}/${name}`,
    ...defined({ description: shown }),
    parameters: typeof parameters === "object" && parameters !== null ? parameters : {},
    checksParams: true,
    readOnly,
    // Nothing that it reads changes by another call of the same kind.
    parallelSafe: readOnly,
  };
}
