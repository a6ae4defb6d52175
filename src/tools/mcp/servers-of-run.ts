/**
 * The MCP servers of a host as one run sees them: its own names, its own choice of tools, and its share of starts.
 */
import { createHash } from "node:crypto";
import type { Tool as ServerTool } from "@modelcontextprotocol/client";
import { type McpServer, defaultStartSeconds } from "../../entry/model.ts";
import { errorMessage } from "../../platform/system-error.ts";
import type { Connection } from "./connection.ts";
import type { McpHost, ServerTools } from "../toolbox.ts";
import { type ServerAddress, addressOf } from "./variables.ts";
import type { Sandbox } from "../../platform/sandbox.ts";
import type { Tool } from "../tool.ts";
import { redactedValue } from "../../redaction/redacted-value.ts";
import { redactedBeginning } from "../redacted-data.ts";

/** What belongs to a run: where its servers work, and the variables that the caller has allowed (`--env NAME`). */
export interface McpRun {
  /** Absolute. Undefined: an empty folder. */
  readonly workingDirectory: string | undefined;
  readonly variables: Readonly<Record<string, string>>;
}

/** Which server it is: of the same address, environment and folder there is one. */
export interface ServerKey {
  readonly id: string;
  readonly address: ServerAddress;
  /** Absolute. Undefined: an empty folder. */
  readonly cwd: string | undefined;
  readonly sandbox: Sandbox | undefined;
  readonly startMs: number;
}

interface ServerSource {
  /** The server, if it is up. */
  running(key: ServerKey): Connection | undefined;
  isStarting(key: ServerKey): boolean;
  /** Rejects with an Error for people. */
  start(key: ServerKey, signal: AbortSignal): Promise<Connection>;
}

/** In a run, of one server: the first start, and two more. */
const mostStarts = 3;

/** A server of the entry in this run. */
interface Used {
  starts: number;
  /** Why the last start failed, or how the server ended. */
  failure: string;
  connection: Connection | undefined;
  /** Not yet told. */
  restarts: string[];
  readonly told: Set<string>;
}

type Reached =
  | { readonly kind: "up"; readonly connection: Connection }
  | { readonly kind: "failed"; readonly reason: string };

export class ServersOfRun implements McpHost {
  readonly #source: ServerSource;
  readonly #run: McpRun;
  readonly #redact: (text: string) => string;
  readonly #used = new Map<string, Used>();

  constructor(source: ServerSource, run: McpRun, redact: (text: string) => string) {
    this.#source = source;
    this.#run = run;
    this.#redact = redact;
  }

  get version(): number {
    return [...this.#used.values()].reduce(
      (most, { connection }) => Math.max(most, connection?.version ?? 0),
      0,
    );
  }

  readonly toolsOf = async (
    name: string,
    declaration: McpServer,
    signal: AbortSignal,
    sandbox?: Sandbox,
  ): Promise<ServerTools> => {
    const address = addressOf(declaration, this.#run.variables);
    if (address.kind === "incomplete") {
      const reason = `It needs the environment variable ${address.missing}, which is not set or not allowed.`;
      return { kind: "failed", reason };
    }
    const { startSeconds = defaultStartSeconds } = declaration;
    const key = {
      ...keyOf(address, this.#run.workingDirectory, sandbox),
      startMs: startSeconds * 1000,
    };
    const reached = await this.#reach(name, key, signal);
    if (reached.kind === "failed") return reached;
    try {
      const definitions = await reached.connection.tools();
      const { tools, problems } = listingOf(name, definitions, declaration.tools, this.#redact);
      return {
        kind: "ready",
        tools: tools.map((tool) => this.#tool(name, key, tool)),
        problems: newsOf(this.#usedAs(name, key), problems),
      };
    } catch (error) {
      return { kind: "failed", reason: `Its tools can't be listed: ${errorMessage(error)}` };
    }
  };

  #tool(name: string, key: ServerKey, { definition, offered }: OfferedTool): Tool {
    return {
      ...offered,
      run: async ({ params }, context) => {
        const reached = await this.#reach(name, key, context.signal);
        if (reached.kind === "failed") {
          return {
            kind: "failed",
            reason: `The MCP server ${name} is not available. ${reached.reason}`,
          };
        }
        return reached.connection.call(definition, params, context);
      },
    };
  }

  /** The server, started if it isn't up. Never rejects. */
  async #reach(name: string, key: ServerKey, signal: AbortSignal): Promise<Reached> {
    const used = this.#usedAs(name, key);
    const running = this.#source.running(key);
    if (running !== undefined) return use(used, running);
    used.failure = used.connection?.ended ?? used.failure;
    if (!this.#source.isStarting(key)) {
      if (used.starts === mostStarts) {
        return { kind: "failed", reason: `${used.failure}\nIt is not started again in this run.` };
      }
      used.starts += 1;
    }
    try {
      return use(used, await this.#source.start(key, signal));
    } catch (error) {
      used.failure = errorMessage(error);
      return { kind: "failed", reason: used.failure };
    }
  }

  /** A workflow may have another server of the same name. */
  #usedAs(name: string, { id }: ServerKey): Used {
    const server = `${name} ${id}`;
    const used = this.#used.get(server) ?? {
      starts: 0,
      failure: "",
      connection: undefined,
      restarts: [],
      told: new Set(),
    };
    this.#used.set(server, used);
    return used;
  }
}

function use(used: Used, connection: Connection): Reached {
  const ended = used.connection === connection ? undefined : used.connection?.ended;
  if (ended !== undefined) used.restarts.push(`It was started again. ${ended}`);
  used.connection = connection;
  return { kind: "up", connection };
}

/** What hasn't been told yet. */
function newsOf(used: Used, problems: readonly string[]): readonly string[] {
  const fresh = problems.filter((problem) => !used.told.has(problem));
  for (const problem of fresh) used.told.add(problem);
  const news = [...used.restarts, ...fresh];
  used.restarts = [];
  return news;
}

function keyOf(
  address: ServerAddress,
  cwd: ServerKey["cwd"],
  sandbox: Sandbox | undefined,
): Omit<ServerKey, "startMs"> {
  const parts = [address, address.kind === "program" ? cwd : "", sandbox?.enter];
  // The values of variables are secrets: they are in no key.
  return {
    id: createHash("sha256").update(JSON.stringify(parts)).digest("hex"),
    address,
    cwd,
    sandbox,
  };
}

interface Listing {
  readonly tools: readonly OfferedTool[];
  /** Why tools are left out, in sentences. */
  readonly problems: readonly string[];
}

export interface OfferedTool {
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

/** `only`: the declaration's `tools`. */
function listingOf(
  server: string,
  definitions: readonly ServerTool[],
  only: readonly string[] | undefined,
  redact: (text: string) => string,
): Listing {
  const tools = new Map<string, OfferedTool>();
  const left = new Map<string, string[]>();
  const leave = (why: string, name: string): void => {
    const names = left.get(why) ?? [];
    left.set(why, names);
    names.push(JSON.stringify(redactedBeginning(name, longestName, redact)));
  };
  for (const definition of definitions) {
    const { name } = definition;
    if (only !== undefined && !only.includes(name)) continue;
    const why = offerable.test(name)
      ? (tools.has(name) && "there is another one of the same name") ||
        (definition.execution?.taskSupport === "required" &&
          "it requires the protocol's tasks, which are not supported")
      : "its name must consist of at most 128 letters, digits, _, - and .";
    if (typeof why === "string") leave(why, name);
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
  return {
    name: `${server}/${name}`,
    ...(description === undefined
      ? {}
      : { description: redactedBeginning(description, longestDescription, redact) }),
    parameters: typeof parameters === "object" && parameters !== null ? parameters : {},
    checksParams: true,
    readOnly,
    // Nothing that it reads changes by another call of the same kind.
    parallelSafe: readOnly,
  };
}
