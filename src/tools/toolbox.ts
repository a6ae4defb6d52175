/** What the entry of a run offers to its tasks, as far as the permissions of each allow it. */
import { defined } from "../document/guards.ts";
import type { Entry, McpServer, Permissions, ToolDeclaration } from "../entry/model.ts";
import type { Clock } from "../platform/clock.ts";
import type { TextStream } from "../redaction/text-stream.ts";
import { allowsServer, allowsTool, boundsOf, withSandbox } from "../permissions/rules.ts";
import { type Environment, childEnvironment } from "../platform/environment.ts";
import type { RunFolder } from "../platform/run-folder.ts";
import type { ConfinedProgram, Sandbox } from "../platform/sandbox.ts";
import { Builds, type Preparation, preparationOf } from "./preparation.ts";
import {
  type ModulePrograms,
  runCommand,
  runModule,
  writeModulePrograms,
} from "./declared-tool.ts";
import { Programs, failed } from "./tool-programs.ts";
import type { CallContext, Relic, Tool, ToolCall, ToolOutcome } from "./tool.ts";

type ToolFailure = ReturnType<typeof failed>;

interface Failure {
  readonly server: string;
  readonly reason: string;
  readonly isRequired?: true;
}

interface Offer {
  readonly tools: readonly Tool[];
  /** Servers, or tools of them, that can't be used. */
  readonly failures: readonly Failure[];
  /** What is offered by now, if a server has announced a change since this was asked last. Never throws. */
  readonly changed: (signal: AbortSignal) => Promise<Omit<Offer, "changed"> | undefined>;
}

export interface Toolbox {
  /**
   * The tools that `permissions.tools` allows, those of MCP servers included: these are started if they have not been.
   * Never throws. `isRequired` of a failure: without this server, a task must not run. `only`: patterns of tools; all
   * others, and their servers, are left out.
   */
  toolsFor(permissions: Permissions, signal: AbortSignal, only?: readonly string[]): Promise<Offer>;
  /** By name. They read what the permissions allow. */
  relicsFor(names: readonly string[] | undefined, permissions: Permissions): readonly Relic[];
  /** Cancels builds and calls that are under way. Bounded in time, never throws. */
  close(): Promise<void>;
}

/** The toolbox of an entry, which can also prepare a tool without a call. */
export interface EntryTools extends Toolbox {
  /** `nothing`: the tool needs no build. */
  build(name: string, context: CallContext): Promise<ToolOutcome | { readonly kind: "nothing" }>;
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
  /** The sandbox of programs with these permissions. Default: none. */
  readonly confine?: ((permissions: Permissions) => Promise<ConfinedProgram>) | undefined;
  /** Default: each declared server fails. */
  readonly servers?: McpHost;
  /** Default: none. */
  readonly relics?: Toolbox["relicsFor"];
  /** How long processes may take to end after SIGTERM, in milliseconds. Default: 2,000. */
  readonly graceMs?: number;
}

/** Starts nothing: processes and servers start with the first use. */
export function createToolbox(options: ToolboxOptions): EntryTools {
  return new EntryToolbox(options);
}

const defaultGraceMs = 2000;

type Confined = { readonly kind: "confined"; readonly sandbox: Sandbox | undefined } | ToolFailure;

/** Its programs may do as much as the task that uses it. */
function confinedBy(tool: Tool, confinement: () => Promise<Confined>): Tool {
  return {
    ...tool,
    startsPrograms: true,
    run: async (call, context) => {
      const confined = await confinement();
      if (confined.kind === "failed") return confined;
      return tool.run(call, { ...context, sandbox: confined.sandbox });
    },
  };
}

class EntryToolbox implements EntryTools {
  readonly #options: ToolboxOptions;
  readonly #programs: Programs;
  readonly #builds: Builds;
  #modules: Promise<ModulePrograms> | undefined;
  readonly #tools: readonly Tool[];

  constructor(options: ToolboxOptions) {
    this.#options = options;
    const { workingDirectory, environment, variables = {}, redact, clock, folder } = options;
    const { graceMs = defaultGraceMs } = options;
    this.#programs = new Programs({
      workingDirectory,
      variables: { ...childEnvironment(environment), ...variables },
      container: variables,
      redact,
      clock,
      mark: folder.mark,
      graceMs,
    });
    this.#builds = new Builds(this.#programs);
    this.#tools = Object.entries(options.declarations.tools ?? {}).map(([name, declaration]) =>
      this.#tool(name, declaration),
    );
  }

  readonly toolsFor: Toolbox["toolsFor"] = async (permissions, signal, only) => {
    const { declarations, servers } = this.#options;
    const bounds = boundsOf(permissions, only);
    let version = servers?.version;
    const failures: Failure[] = [];
    const ofServers = await Promise.all(
      Object.entries(declarations.mcpServers ?? {}).map(async ([server, declaration]) => {
        if (!bounds.every((one) => allowsServer(one, server))) return [];
        const found =
          servers === undefined
            ? failed("This host has no MCP servers.")
            : await this.#toolsOf(servers, server, declaration, permissions, signal);
        if (found.kind === "ready") {
          for (const reason of found.problems ?? []) failures.push({ server, reason });
          return found.tools;
        }
        const isRequired = declaration.required !== false;
        failures.push({ server, reason: found.reason, ...(isRequired ? { isRequired } : {}) });
        return [];
      }),
    );
    // One for the session: to make it, the working directory is looked through.
    let made: Promise<Confined> | undefined;
    const own = this.#tools.map((tool) =>
      confinedBy(tool, () => (made ??= this.#confinement(permissions))),
    );
    const tools = [...own, ...ofServers.flat()];
    const offered = tools.filter(({ name }) => bounds.every((one) => allowsTool(one, name)));
    return {
      tools: offered,
      failures,
      changed: async (now) => {
        if (servers?.version === version) return undefined;
        version = servers?.version;
        return this.toolsFor(permissions, now, only);
      },
    };
  };

  async #toolsOf(
    servers: McpHost,
    name: string,
    declaration: McpServer,
    permissions: Permissions,
    signal: AbortSignal,
  ): Promise<ServerTools> {
    if (!("command" in declaration)) return servers.toolsOf(name, declaration, signal);
    const own = withSandbox(declaration.permissions ?? permissions, permissions);
    const confined = await this.#confinement(own);
    if (confined.kind === "failed") return confined;
    return servers.toolsOf(name, declaration, signal, confined.sandbox);
  }

  async #confinement(permissions: Permissions): Promise<Confined> {
    const confined = await this.#options.confine?.(permissions);
    if (confined?.kind === "refused") return failed(confined.crash.message);
    const sandbox = confined?.kind === "sandboxed" ? confined.sandbox : undefined;
    return { kind: "confined", sandbox };
  }

  readonly relicsFor: Toolbox["relicsFor"] = (names, permissions) =>
    this.#options.relics?.(names, permissions) ?? [];

  readonly build: EntryTools["build"] = async (name, context) => {
    const declaration = this.#options.declarations.tools?.[name];
    if (declaration === undefined) return failed(`The entry has no tool ${name}.`);
    const prepared = await this.#prepare(name, declaration, context);
    if (prepared.kind !== "prepared") return prepared;
    const { plan } = prepared;
    return plan === undefined ? { kind: "nothing" } : { kind: "succeeded", value: plan.key };
  };

  readonly close = (): Promise<void> => this.#programs.close();

  #tool(name: string, declaration: ToolDeclaration): Tool {
    const { description, parameters, timeoutSeconds, readOnly, parallelSafe } = declaration;
    return {
      name,
      description,
      parameters,
      ...defined({ readOnly, parallelSafe, timeoutSeconds }),
      run: (call, context) => this.#run(name, declaration, call, context),
    };
  }

  async #run(
    name: string,
    declaration: ToolDeclaration,
    call: ToolCall,
    context: CallContext,
  ): Promise<ToolOutcome> {
    const prepared = await this.#prepare(name, declaration, context);
    if (prepared.kind !== "prepared") return prepared;
    const { place } = prepared;
    const field = `tools.${name}`;
    if ("module" in declaration) {
      const module = { ...declaration, place, field: `${field}.module` };
      const files = (): Promise<ModulePrograms> =>
        (this.#modules ??= writeModulePrograms(this.#options.folder));
      return runModule(this.#programs, files, module, call, context);
    }
    const command = { ...declaration, place, field: `${field}.command` };
    return runCommand(this.#programs, command, call, context);
  }

  async #prepare(
    name: string,
    declaration: ToolDeclaration,
    context: CallContext,
  ): Promise<Preparation | ToolOutcome> {
    const preparation = preparationOf(name, declaration, this.#options);
    if (preparation.kind === "failed" || preparation.plan === undefined) return preparation;
    return (await this.#builds.prepare(preparation.plan, context)) ?? preparation;
  }
}

export interface McpHost {
  /** Another one whenever a server of the run has announced that its tools have changed. */
  readonly version: number;
  /**
   * Starts the server, or uses the one that runs already. Never rejects. The tools are named `server/tool`; their
   * results and reasons are redacted. An abort of `signal` ends the wait, with a failure.
   */
  toolsOf(
    name: string,
    declaration: McpServer,
    signal: AbortSignal,
    sandbox?: Sandbox,
  ): Promise<ServerTools>;
}

export type ServerTools =
  | {
      readonly kind: "ready";
      readonly tools: readonly Tool[];
      /** In sentences, each once in a run: tools that can't be offered. */
      readonly problems?: readonly string[];
    }
  | { readonly kind: "failed"; readonly reason: string };
