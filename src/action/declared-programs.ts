/** The programs that an entry and its workflows declare and a job may start. */
import { allowsCommands } from "../permissions/rules.ts";
import type { PreparedRun } from "../run/prepare-run.ts";
import { callersOfJob, type Caller } from "../run/run-spec.ts";

/** `field`: such as `tools.build`, `mcpServers.docs`. */
export type DeclaredProgram =
  | { readonly kind: "tool"; readonly field: string }
  | { readonly kind: "server"; readonly field: string; readonly command: readonly string[] };

/** What decides about the programs of a prepared run. */
export type PreparedJob = Pick<PreparedRun, "entry" | "jobName" | "permissions" | "loaded">;

export function declaredPrograms(job: PreparedJob): readonly DeclaredProgram[] {
  // By declaration: several may call the same.
  const programs = new Map<object, DeclaredProgram>();
  for (const { declared, mayCall, mayUse } of callersOf(job)) {
    for (const [name, declaration] of Object.entries(declared.tools ?? {}))
      if (mayCall(name)) programs.set(declaration, { kind: "tool", field: `tools.${name}` });
    for (const [name, declaration] of Object.entries(declared.mcpServers ?? {})) {
      if (!("command" in declaration) || !mayUse(name)) continue;
      const command = [declaration.command, ...(declaration.args ?? [])];
      programs.set(declaration, { kind: "server", field: `mcpServers.${name}`, command });
    }
  }
  return [...programs.values()];
}

/** Whether agents or workflows of the job may run commands. */
export function mayRunCommands(job: PreparedJob): boolean {
  return callersOf(job).some(({ permissions }) => allowsCommands(permissions));
}

export function callersOf({ entry, jobName, permissions, loaded }: PreparedJob): readonly Caller[] {
  return callersOfJob(entry, jobName, permissions, loaded.flows);
}
