/** What the entry of a run offers to its tasks, as far as the permissions of each allow it. */
import type { Entry, Permissions, ToolDeclaration } from "../entry/model.ts";
import type { Clock } from "../events/clock.ts";
import type { TextStream } from "../events/text-stream.ts";
import { allowsServer, allowsTool } from "../permissions/rules.ts";
import { childEnvironment, type Environment } from "../platform/environment.ts";
import type { RunFolder } from "../platform/run-folder.ts";
import { runCommand } from "./command-tool.ts";
import type { McpHost } from "./mcp-host.ts";
import { failed, Programs } from "./programs.ts";
import type { CallContext, Relic, Tool, ToolCall, ToolOutcome } from "./tool.ts";

export interface Toolbox {
  /**
   * The tools that `permissions.tools` allows, those of MCP servers included: these are started if they have not been.
   * Never throws. `failures`: servers that can't be used.
   */
  toolsFor(
    permissions: Permissions,
    signal: AbortSignal,
  ): Promise<{
    readonly tools: readonly Tool[];
    readonly failures: readonly { readonly server: string; readonly reason: string }[];
  }>;
  /** By name. They read what the permissions allow. */
  relicsFor(names: readonly string[] | undefined, permissions: Permissions): readonly Relic[];
  /** Cancels builds and calls that are under way. Bounded in time, never throws. */
  close(): Promise<void>;
}

export interface ToolboxOptions {
  readonly declarations: Pick<Entry<number>, "tools" | "mcpServers">;
  /** Where commands run and what modules are relative to: the job's. Absolute. */
  readonly workingDirectory: string;
  /** Of this process. Tools see what is on the allow-list for every process, and `variables`. */
  readonly environment: Environment;
  /** What the caller has allowed in addition (`--env NAME`), and what the run itself sets. */
  readonly variables?: Readonly<Record<string, string>>;
  /** For what tools print, and for why they fail. */
  readonly redact: () => TextStream;
  readonly clock: Clock;
  /** For files of the toolbox. Its mark is in the environment of each process. The caller removes it. */
  readonly folder: RunFolder;
  /** Default: each declared server fails. */
  readonly servers?: McpHost;
  /** Default: none. */
  readonly relics?: Toolbox["relicsFor"];
  /** How long processes may take to end after SIGTERM, in milliseconds. Default: 2,000. */
  readonly graceMs?: number;
}

/** Starts nothing: processes and servers start with the first use. */
export function createToolbox(options: ToolboxOptions): Toolbox {
  return new EntryToolbox(options);
}

const defaultGraceMs = 2000;
const defaultTimeoutSeconds = 600;

class EntryToolbox implements Toolbox {
  readonly #options: ToolboxOptions;
  readonly #programs: Programs;
  readonly #tools: readonly Tool[];

  constructor(options: ToolboxOptions) {
    this.#options = options;
    const { workingDirectory, environment, variables, redact, clock, folder } = options;
    const { graceMs = defaultGraceMs } = options;
    this.#programs = new Programs({
      workingDirectory,
      variables: { ...childEnvironment(environment), ...variables },
      redact,
      clock,
      mark: folder.mark,
      graceMs,
    });
    this.#tools = Object.entries(options.declarations.tools ?? {}).map(([name, declaration]) =>
      this.#tool(name, declaration),
    );
  }

  readonly toolsFor: Toolbox["toolsFor"] = async (permissions, signal) => {
    const { declarations, servers } = this.#options;
    const failures: { server: string; reason: string }[] = [];
    const ofServers = await Promise.all(
      Object.entries(declarations.mcpServers ?? {}).map(async ([server, declaration]) => {
        if (!allowsServer(permissions, server)) return [];
        const found =
          servers === undefined
            ? failed("This host has no MCP servers.")
            : await servers.toolsOf(server, declaration, signal);
        if (found.kind === "ready") return found.tools;
        failures.push({ server, reason: found.reason });
        return [];
      }),
    );
    const tools = [...this.#tools, ...ofServers.flat()];
    return { tools: tools.filter(({ name }) => allowsTool(permissions, name)), failures };
  };

  readonly relicsFor: Toolbox["relicsFor"] = (names, permissions) =>
    this.#options.relics?.(names, permissions) ?? [];

  readonly close = (): Promise<void> => this.#programs.close();

  #tool(name: string, declaration: ToolDeclaration): Tool {
    const { description, parameters, timeoutSeconds, readOnly, parallelSafe } = declaration;
    return {
      name,
      description,
      parameters,
      ...(readOnly === undefined ? {} : { readOnly }),
      ...(parallelSafe === undefined ? {} : { parallelSafe }),
      timeoutSeconds: timeoutSeconds ?? defaultTimeoutSeconds,
      run: (call, context) => this.#run(name, declaration, call, context),
    };
  }

  async #run(
    name: string,
    declaration: ToolDeclaration,
    call: ToolCall,
    context: CallContext,
  ): Promise<ToolOutcome> {
    if ("module" in declaration) return failed("Modules can't be called yet.");
    const { command } = declaration;
    return runCommand(this.#programs, { command, field: `tools.${name}.command` }, call, context);
  }
}
