/** What the caller has allowed of the environment (`--env NAME`), and who gets it. */
import { variablesOf } from "../tools/mcp/variables.ts";
import type { DeclaredTools } from "../entry/model.ts";
import type { Workflow } from "../workflow/model.ts";
import { childEnvironment, type Environment } from "../platform/environment.ts";

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
