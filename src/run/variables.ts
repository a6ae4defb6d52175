/** The variables of the environment that the caller has allowed (`--env NAME`): who gets them, and whether they are there. */
import { variablesOf } from "../tools/mcp/variables.ts";
import type { PermissionPreset, PreparedEntry } from "../entry/model.ts";
import type { Workflow } from "../workflow/model.ts";
import { childEnvironment, type Environment } from "../platform/environment.ts";
import { callerOfTask, permissionScopes, type Caller } from "./callers.ts";
import { commandName, commandsOf } from "../entry/work.ts";
import { UsageError, type WriteName } from "./options.ts";
import { secretsIn } from "./secrets.ts";

export interface AllowedVariables {
  readonly environment: Environment;
  readonly env?: readonly string[] | undefined;
}

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

type NamesVariables = Pick<PreparedEntry, "mcpServers" | "provider"> &
  Partial<Pick<PreparedEntry, "jobs" | "tasks">>;

export function reservedEnvNames(
  { mcpServers, provider, jobs = {}, tasks = {} }: NamesVariables,
  flows: Readonly<Record<string, { readonly workflow: Workflow }>> = {},
): readonly string[] {
  const ofFlows = Object.values(flows).map(({ workflow }) => workflow.settings.mcpServers);
  return [
    ...variablesOf({ url: "", ...provider }),
    ...[mcpServers, ...ofFlows].flatMap((servers) =>
      Object.values(servers ?? {}).flatMap(variablesOf),
    ),
    ...commandsOf(Object.values(jobs), tasks).flatMap(({ env = [] }) => env),
  ];
}

/** All but what an MCP server or a command of the author names: that is most likely a token, for it alone. */
export function allowedForPrograms(
  entry: NamesVariables,
  { environment, env = [] }: AllowedVariables,
  flows?: Parameters<typeof reservedEnvNames>[1],
): Readonly<Record<string, string>> {
  const reserved = new Set(reservedEnvNames(entry, flows));
  return allowedOf({ environment, env: env.filter((name) => !reserved.has(name)) });
}

export interface ServerStart extends AllowedVariables {
  readonly entry: PreparedEntry;
  readonly flows?: Parameters<typeof reservedEnvNames>[1];
  readonly permissions: PermissionPreset | undefined;
  /** No model server is reached. */
  readonly rehearses?: boolean;
}

type Need = readonly [who: string, variable: string];

export function checkVariablesOfJob(started: ServerStart, jobName: string, write: WriteName): void {
  const { entry, permissions, flows } = started;
  const job = entry.jobs[jobName];
  const commands = job === undefined ? [] : commandsOf([job], entry.tasks);
  const needs = commands.flatMap((command) =>
    (command.env ?? []).map((name): Need => [
      `The command ${JSON.stringify(commandName(command))}`,
      name,
    ]),
  );
  const callers = permissionScopes(entry, jobName, permissions, flows);
  checkNeeds([...needs, ...modelNeeds(started), ...serverNeeds(callers)], started, write);
}

export function checkServersOfTask(started: ServerStart, taskName: string, write: WriteName): void {
  const caller = callerOfTask(started.entry, taskName, started.permissions);
  checkNeeds([...modelNeeds(started), ...serverNeeds([caller])], started, write);
}

function modelNeeds({ entry: { provider }, rehearses }: ServerStart): readonly Need[] {
  const names = rehearses === true ? [] : variablesOf({ url: "", ...provider });
  return names.map((name) => ["The model server (`provider`)", name]);
}

function serverNeeds(callers: readonly Caller[]): readonly Need[] {
  return callers.flatMap(({ declared, mayUse }) =>
    Object.entries(declared.mcpServers ?? {}).flatMap(([server, declaration]) =>
      declaration.required === false || !mayUse(server)
        ? []
        : variablesOf(declaration).map((name): Need => [
            `The MCP server ${JSON.stringify(server)}`,
            name,
          ]),
    ),
  );
}

function checkNeeds(
  needs: readonly Need[],
  { environment, env = [] }: AllowedVariables,
  write: WriteName,
): void {
  const problems = needs.flatMap(([who, name]) => {
    const text = `${who} needs the environment variable ${name}`;
    if (!env.includes(name)) return [`${text}. Allow it with ${write("env")}.`];
    if ((environment[name] ?? "") !== "") return [];
    return [`${text}, which ${write("env")} allows, but it is not set or empty.`];
  });
  if (problems.length > 0) throw new UsageError([...new Set(problems)].join("\n"));
}

/** The values that servers and commands are given: nothing may show them. */
export function reservedSecrets({
  entry,
  flows,
  ...allowed
}: Omit<ServerStart, "permissions">): readonly string[] {
  const values = allowedOf(allowed);
  return reservedEnvNames(entry, flows).flatMap((name) =>
    Object.hasOwn(values, name) ? secretsIn(values[name] ?? "") : [],
  );
}
