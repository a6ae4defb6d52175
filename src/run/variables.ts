/**
 * The variables of the environment that the caller has allowed (`--env NAME`): who gets them, and whether those that the
 * MCP servers of an entry and of its workflows name (`env:NAME`) are there.
 */
import { variablesOf } from "../tools/mcp/variables.ts";
import type { DeclaredTools, PermissionPreset, PreparedEntry } from "../entry/model.ts";
import type { Workflow } from "../workflow/model.ts";
import { childEnvironment, type Environment } from "../platform/environment.ts";
import { callerOfTask, callersOfJob, type Caller } from "./callers.ts";
import { UsageError, type WriteName } from "./options.ts";
import { secretsIn } from "./secrets.ts";

export interface AllowedVariables {
  readonly environment: Environment;
  /** The names that the caller has allowed. */
  readonly env?: readonly string[] | undefined;
}

/** The variables that are set, with their values. `PATH` has the value that every started process gets. */
export function allowedOf({
  environment,
  env = [],
}: AllowedVariables): Readonly<Record<string, string>> {
  const common = childEnvironment(environment);
  return Object.fromEntries(
    env.flatMap((name) => {
      const value = name.toUpperCase() === "PATH" ? common[name] : environment[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** What the MCP servers of an entry and of its workflows name. */
export function namedByServers(
  { mcpServers }: Pick<DeclaredTools, "mcpServers">,
  flows: Readonly<Record<string, { readonly workflow: Workflow }>> = {},
): readonly string[] {
  const ofFlows = Object.values(flows).map(({ workflow }) => workflow.settings.mcpServers);
  return [mcpServers, ...ofFlows].flatMap((servers) =>
    Object.values(servers ?? {}).flatMap(variablesOf),
  );
}

/**
 * For the tools and scripts of the checkout: all but what an MCP server names. Such a variable is most likely a token,
 * which is for that server alone.
 */
export function allowedForPrograms(
  entry: Pick<DeclaredTools, "mcpServers">,
  { environment, env = [] }: AllowedVariables,
  flows?: Parameters<typeof namedByServers>[1],
): Readonly<Record<string, string>> {
  const ofServers = new Set(namedByServers(entry, flows));
  return allowedOf({ environment, env: env.filter((name) => !ofServers.has(name)) });
}

export interface ServerStart {
  readonly entry: PreparedEntry;
  readonly flows?: Parameters<typeof namedByServers>[1];
  /** The option that is a ceiling. */
  readonly permissions: PermissionPreset | undefined;
  readonly environment: Environment;
  /** The names that the caller has allowed. */
  readonly env?: readonly string[] | undefined;
}

/** Throws `UsageError` if a required server that a task or a workflow of the job may call lacks a variable. */
export function checkServersOfJob(started: ServerStart, jobName: string, write: WriteName): void {
  const { entry, permissions, flows } = started;
  checkServers(started, callersOfJob(entry, jobName, permissions, flows), write);
}

/** The same for a task. */
export function checkServersOfTask(started: ServerStart, taskName: string, write: WriteName): void {
  checkServers(started, [callerOfTask(started.entry, taskName, started.permissions)], write);
}

function checkServers(
  { environment, env = [] }: ServerStart,
  callers: readonly Caller[],
  write: WriteName,
): void {
  const usable = callers.flatMap(({ declared, mayUse }) =>
    Object.entries(declared.mcpServers ?? {}).filter(([server]) => mayUse(server)),
  );
  const problems = usable.flatMap(([server, declaration]) => {
    if (declaration.required === false) return [];
    const quoted = JSON.stringify(server);
    return variablesOf(declaration).flatMap((name) => {
      if (!env.includes(name)) {
        return [
          `The MCP server ${quoted} needs the environment variable ${name}. Allow it with ${write("env")}.`,
        ];
      }
      if ((environment[name] ?? "") !== "") return [];
      return [
        `The MCP server ${quoted} needs the environment variable ${name}, which ${write("env")} allows, but it is not set or empty.`,
      ];
    });
  });
  if (problems.length > 0) throw new UsageError([...new Set(problems)].join("\n"));
}

/** The values that servers are given: nothing may show them. */
export function serverSecrets({
  entry,
  flows,
  ...allowed
}: Omit<ServerStart, "permissions">): readonly string[] {
  const values = allowedOf(allowed);
  return namedByServers(entry, flows).flatMap((name) =>
    Object.hasOwn(values, name) ? secretsIn(values[name] ?? "") : [],
  );
}
