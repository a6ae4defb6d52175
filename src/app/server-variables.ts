/** The environment variables that the MCP servers of an entry name (`env:NAME`): whether they are there, and their values. */
import { variablesOf } from "../calls/mcp-variables.ts";
import type { PermissionPreset, PreparedEntry } from "../entry/model.ts";
import { allowsServer } from "../permissions/rules.ts";
import type { Environment } from "../platform/environment.ts";
import { allowedOf } from "./allowed-variables.ts";
import { UsageError, type WriteName } from "./options.ts";
import { permissionsOfTask, tasksOfJob } from "./run-spec.ts";
import { secretsIn } from "./secrets.ts";

export interface ServerStart {
  readonly entry: PreparedEntry;
  /** The option that is a ceiling. */
  readonly permissions: PermissionPreset | undefined;
  readonly environment: Environment;
  /** The names that the caller has allowed. */
  readonly env?: readonly string[] | undefined;
}

/** Throws `UsageError` if a required server that a task of the job may call lacks a variable. */
export function checkServersOfJob(started: ServerStart, jobName: string, write: WriteName): void {
  checkServersOfTasks(started, tasksOfJob(started.entry, jobName), write);
}

/** The same for tasks. */
export function checkServersOfTasks(
  { entry, permissions, environment, env = [] }: ServerStart,
  taskNames: readonly string[],
  write: WriteName,
): void {
  const granted = [...new Set(taskNames)].map((name) =>
    permissionsOfTask(entry, name, permissions),
  );
  const problems = Object.entries(entry.mcpServers ?? {}).flatMap(([server, declaration]) => {
    if (declaration.required === false) return [];
    if (!granted.some((one) => allowsServer(one, server))) return [];
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
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
}

/** The values that servers of the entry are given: nothing may show them. */
export function serverSecrets({
  entry,
  ...allowed
}: Omit<ServerStart, "permissions">): readonly string[] {
  const values = allowedOf(allowed);
  return Object.values(entry.mcpServers ?? {})
    .flatMap((declaration) => variablesOf(declaration))
    .flatMap((name) => (Object.hasOwn(values, name) ? secretsIn(values[name] ?? "") : []));
}

function isSet(environment: Environment, name: string): boolean {
  return (environment[name] ?? "") !== "";
}
