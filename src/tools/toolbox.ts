import { resolve } from "node:path";
import type { Entry, McpServer, Permissions, ToolDeclaration } from "../entry/model.ts";
import type { Clock } from "../platform/clock.ts";
import type { TextStream } from "../redaction/secret-search.ts";
import { allowsServer, allowsTool, boundsOf, withSandbox } from "../permissions/rules.ts";
import { type Environment, childEnvironment } from "../platform/environment.ts";
import type { RunFolder } from "../platform/run-folder.ts";
import { isUnder } from "../permissions/paths.ts";
import { isBareName } from "../platform/search-path.ts";
import { errorMessage } from "../platform/system-error.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { relativePath } from "./mcp/variables.ts";
import { Builds } from "./builds.ts";
import {
  fileIn,
  type ModulePrograms,
  type Preparation,
  preparationOf,
  recipeOf,
  runDeclared,
  writeModulePrograms,
} from "./declared-tool.ts";
import { Programs } from "./tool-programs.ts";
import { failed, type CallContext, type Relic, type Tool, type ToolOutcome } from "./tool.ts";

interface Failure {
  readonly server: string;
  readonly reason: string;
  readonly isRequired?: true;
}

interface Offer {
  readonly tools: readonly Tool[];
  readonly failures: readonly Failure[];
  readonly changed: (signal: AbortSignal) => Promise<Omit<Offer, "changed"> | undefined>;
}

export interface Toolbox {
  /**
   * The tools that `permissions.tools` allows. Starts MCP servers. Never throws. `isRequired`: without it, a task must not
   * run. `only`: patterns of tools; others, and their servers, are left out.
   */
  toolsFor(permissions: Permissions, signal: AbortSignal, only?: readonly string[]): Promise<Offer>;
  relicsFor(names: readonly string[] | undefined, permissions: Permissions): readonly Relic[];
  close(): Promise<void>;
}

export interface EntryTools extends Toolbox {
  build(name: string, context: CallContext): Promise<ToolOutcome | { readonly kind: "nothing" }>;
}

export interface ToolboxOptions {
  readonly declarations: Pick<Entry<number>, "tools" | "mcpServers">;
  /** Where commands run and what modules are relative to: the job's. Absolute. */
  readonly workingDirectory: string;
  /** The environment of this process. Tools see the variables of the allow-list, and `variables`. */
  readonly environment: Environment;
  /** Variables that the caller has allowed (`--env NAME`) or the run itself sets. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly redact: () => TextStream;
  readonly clock: Clock;
  /** For files of the toolbox. Its mark is in the environment of each process. The caller removes it. */
  readonly folder: RunFolder;
  /** The sandbox of programs with these permissions. Rejects if they must not start without one. Default: none. */
  readonly confine?: ((permissions: Permissions) => Promise<Sandbox | undefined>) | undefined;
  /** Whether agents may have changed files by now. Then builds run in a sandbox, too. */
  readonly hasWriters?: (() => boolean) | undefined;
  readonly servers?: McpHost;
  readonly relics?: Toolbox["relicsFor"];
  /** How long processes may take to end after SIGTERM, in milliseconds. Default: 2,000. */
  readonly graceMs?: number;
}

const defaultGraceMs = 2000;

export function createToolbox(options: ToolboxOptions): EntryTools {
  const { declarations, servers, confine, hasWriters, folder, variables = {}, graceMs } = options;
  const { workingDirectory, environment, redact, clock } = options;
  const programs = new Programs({
    workingDirectory,
    variables: { ...childEnvironment(environment), ...variables },
    container: variables,
    redact,
    clock,
    mark: folder.mark,
    graceMs: graceMs ?? defaultGraceMs,
  });
  const builds = new Builds(programs);
  // Before an agent can have changed anything.
  const recipes = new Map(
    Object.entries(declarations.tools ?? {}).map(([name, declaration]) => [
      name,
      recipeOf(name, declaration, workingDirectory),
    ]),
  );
  const local = new Set(
    Object.values(declarations.mcpServers ?? {}).filter((one) => isLocal(one, workingDirectory)),
  );
  let modules: Promise<ModulePrograms> | undefined;
  const modulePrograms = (): Promise<ModulePrograms> => (modules ??= writeModulePrograms(folder));

  const prepare = async (
    name: string,
    declaration: ToolDeclaration,
    context: CallContext,
  ): Promise<Preparation | ToolOutcome> => {
    const preparation = preparationOf(name, declaration, options, recipes.get(name));
    if (preparation.kind === "failed" || preparation.build === undefined) return preparation;
    const { confineBuild } = declaration.build === undefined ? {} : context;
    return (await builds.prepare(preparation.build, { ...context, confineBuild })) ?? preparation;
  };

  const tools = Object.entries(declarations.tools ?? {}).map(([name, declaration]): Tool => {
    const { description, parameters, timeoutSeconds, readOnly, parallelSafe } = declaration;
    return {
      name,
      description,
      parameters,
      readOnly,
      parallelSafe,
      timeoutSeconds,
      startsPrograms: true,
      async run(call, context) {
        const prepared = await prepare(name, declaration, context);
        if (prepared.kind !== "prepared") return prepared;
        const kind = "module" in declaration ? "module" : "command";
        const at = { field: `tools.${name}.${kind}`, programs, files: modulePrograms };
        return runDeclared(declaration, prepared, at, call, context);
      },
    };
  });

  const toolsOf = async (
    name: string,
    declaration: McpServer,
    permissions: Permissions,
    signal: AbortSignal,
  ): Promise<ServerTools> => {
    if (servers === undefined) return failed("This host has no MCP servers.");
    if (!("command" in declaration)) return servers.toolsOf(name, declaration, signal);
    const own = withSandbox(declaration.permissions ?? permissions, permissions);
    try {
      const sandbox = await confine?.(own);
      const start = { sandbox, isLocal: local.has(declaration) };
      return await servers.toolsOf(name, declaration, signal, start);
    } catch (error) {
      return failed(errorMessage(error));
    }
  };

  const toolsFor: Toolbox["toolsFor"] = async (permissions, signal, only) => {
    const bounds = boundsOf(permissions, only);
    let version = servers?.version;
    const failures: Failure[] = [];
    const ofServers = await Promise.all(
      Object.entries(declarations.mcpServers ?? {}).map(async ([server, declaration]) => {
        if (!bounds.every((one) => allowsServer(one, server))) return [];
        const found = await toolsOf(server, declaration, permissions, signal);
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
    let made: Promise<Sandbox | undefined> | undefined;
    const own = tools.map((tool): Tool => ({
      ...tool,
      async run(call, context) {
        made ??= confine?.(permissions);
        const confineBuild =
          hasWriters?.() === true ? () => confine?.(forBuild(permissions)) : undefined;
        return tool.run(call, { ...context, sandbox: await made, confineBuild });
      },
    }));
    const all = [...own, ...ofServers.flat()];
    return {
      tools: all.filter(({ name }) => bounds.every((one) => allowsTool(one, name))),
      failures,
      async changed(now) {
        if (servers?.version === version) return undefined;
        version = servers?.version;
        return toolsFor(permissions, now, only);
      },
    };
  };

  return {
    toolsFor,
    relicsFor: (names, permissions) => options.relics?.(names, permissions) ?? [],
    async build(name, context) {
      const declaration = declarations.tools?.[name];
      if (declaration === undefined) return failed(`The entry has no tool ${name}.`);
      const prepared = await prepare(name, declaration, context);
      if (prepared.kind !== "prepared") return prepared;
      const { build } = prepared;
      return build === undefined ? { kind: "nothing" } : { kind: "succeeded", value: build.key };
    },
    close: () => programs.close(),
  };
}

function forBuild(permissions: Permissions): Permissions {
  const task = typeof permissions === "string" ? { preset: permissions } : permissions;
  return task.preset === "all" ? task : { ...task, preset: "workspace", write: [] };
}

export interface McpHost {
  readonly version: number;
  /** Never rejects. Results and reasons are redacted. An abort of `signal` ends the wait, with a failure. */
  toolsOf(
    name: string,
    declaration: McpServer,
    signal: AbortSignal,
    start?: ServerStart,
  ): Promise<ServerTools>;
}

export interface ServerStart {
  readonly sandbox?: Sandbox | undefined;
  /** Whether it starts in the working directory. Default: in an empty folder. */
  readonly isLocal?: boolean;
}

export type ServerTools =
  | {
      readonly kind: "ready";
      readonly tools: readonly Tool[];
      readonly problems?: readonly string[];
    }
  | { readonly kind: "failed"; readonly reason: string };

/**
 * Whether the server is a program of the folder: its command or its first argument is a path there. Asked before an
 * agent can have made a file of such a name. A name with a version or without an ending may be that of a package, and
 * a proposed change can add a file of that name.
 */
function isLocal(declaration: McpServer, folder: string): boolean {
  if (!("command" in declaration)) return false;
  const { command, args: [script = ""] = [] } = declaration;
  const isThere = (word: string): boolean => isUnder(resolve(folder, word), folder);
  return (
    (!isBareName(command) && isThere(command)) ||
    (relativePath.test(script) && isThere(script)) ||
    (/^[^@]*\.[a-z]+$/i.test(script) && fileIn(folder, script) !== undefined)
  );
}
