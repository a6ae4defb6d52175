/**
 * The environment variables that the MCP servers of an entry and of its workflows name (`env:NAME`): whether they are
 * there, and their values.
 */
import { variablesOf } from "../tools/mcp/variables.ts";
import type { PermissionPreset, PreparedEntry } from "../entry/model.ts";
import type { Environment } from "../platform/environment.ts";
import { allowedOf, namedByServers } from "./allowed-variables.ts";
import type { Flows } from "./flows.ts";
import { UsageError, type WriteName } from "./options.ts";
import { callerOfTask, callersOfJob, type Caller } from "./run-spec.ts";
import { secretsIn } from "./secrets.ts";

export interface ServerStart {
  readonly entry: PreparedEntry;
  readonly flows?: Flows | undefined;
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
      if (isSet(environment, name)) return [];
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

function isSet(environment: Environment, name: string): boolean {
  return (environment[name] ?? "") !== "";
}
