/**
 * The MCP servers of a host, and how each run sees them: with its own names and choice of tools.
 *
 * Invariants: of the same declaration, environment and folder there is one server at a time, however many runs ask for
 * it at once; a run starts a server at most three times, so one that keeps ending can't hold it up; after `close` there
 * is no server, and none is started.
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
import type { Sandbox } from "../../platform/sandbox.ts";
import { errorMessage } from "../../platform/system-error.ts";
import { Connection } from "./connection.ts";
import { redactedBeginning } from "../redacted-data.ts";
import type { Tool } from "../tool.ts";
import type { McpHost, ServerTools } from "../toolbox.ts";
import { type ServerAddress, addressOf } from "./variables.ts";

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

/** What belongs to a run: where its servers work, and the variables that the caller has allowed (`--env NAME`). */
interface McpRun {
  /** Absolute. Undefined: an empty folder. */
  readonly workingDirectory: string | undefined;
  readonly variables: Readonly<Record<string, string>>;
}

/** Which server it is: of the same address, environment and folder there is one. */
interface ServerKey {
  readonly id: string;
  readonly address: ServerAddress;
  readonly cwd: McpRun["workingDirectory"];
  readonly sandbox: Sandbox | undefined;
  readonly startMs: number;
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

/** In a run, of one server: the first start, and two more. */
const mostStarts = 3;

/** A server of the entry in this run. */
interface Used {
  starts: number;
  /** Why the last start failed. */
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
    sandbox?: Sandbox,
  ): Promise<ServerTools> => {
    const { variables, workingDirectory } = this.#run;
    const address = addressOf(declaration, variables);
    if (address.kind === "incomplete") {
      const reason = `It needs the environment variable ${address.missing}, which is not set or not allowed.`;
      return { kind: "failed", reason };
    }
    const parts = [address, address.kind === "program" ? workingDirectory : "", sandbox?.enter];
    const key: ServerKey = {
      // The values of variables are secrets: they are in no key.
      id: createHash("sha256").update(JSON.stringify(parts)).digest("hex"),
      address,
      cwd: workingDirectory,
      sandbox,
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
            const reason = `The MCP server ${name} is not available. ${reached}`;
            return { kind: "failed", reason };
          },
        })),
        problems: fresh,
      };
    } catch (error) {
      return { kind: "failed", reason: `Its tools can't be listed: ${errorMessage(error)}` };
    }
  };

  /** The server, started if it isn't up, or why it can't be reached. Never rejects. */
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
  /** As the server calls it. */
  readonly definition: ServerTool;
  readonly offered: Omit<Tool, "run">;
}

/** As the protocol asks for. A slash would be taken for another server. */
const offerable = /^[A-Za-z0-9_.-]{1,128}$/;
/** UTF-16 units. */
const longestDescription = 4_096;
/** Of what a server calls a tool, in a problem. */
const longestName = 80;

/** The tools to offer, and why others are left out. `only`: the declaration's `tools`. */
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
