import type {
  DeclaredTools,
  PermissionPreset,
  Permissions,
  PreparedEntry,
  SandboxMode,
} from "../entry/model.ts";
import { reachedTasks } from "../entry/reached.ts";
import { commandsOf, leafWorks } from "../entry/work.ts";
import {
  allowsCommands,
  allowsServer,
  allowsTool,
  boundsOf,
  effectivePermissions,
  ruleSet,
  sandboxMode,
} from "../permissions/rules.ts";
import type { Workflow } from "../workflow/model.ts";
import { UsageError, type WriteName } from "./options.ts";

type Workflows = Readonly<Record<string, { readonly workflow: Workflow }>>;

/** The permissions of a task. `option` is their upper bound. */
export function permissionsOfTask(
  entry: PreparedEntry,
  taskId: string,
  option: PermissionPreset | undefined,
): Permissions {
  const own = entry.tasks[taskId]?.permissions;
  return effectivePermissions(entry.permissions, own, option, Object.keys(entry.tools ?? {}));
}

export interface Caller {
  readonly permissions: Permissions;
  readonly declared: DeclaredTools;
  readonly mayCall: (tool: string) => boolean;
  readonly mayUse: (server: string) => boolean;
}

export function callerOfTask(
  entry: PreparedEntry,
  taskId: string,
  option: PermissionPreset | undefined,
): Caller {
  return callerWith(permissionsOfTask(entry, taskId, option), entry);
}

export function callerOfFlow(
  entry: PreparedEntry,
  { workflow }: { readonly workflow: Workflow },
  option: PermissionPreset | undefined,
): Caller {
  const { agentTools = [] } = workflow.settings;
  const permissions = permissionsOfFlow(workflow, entry, option);
  return callerWith(permissions, declaredFor(workflow, entry), agentTools);
}

function callerWith(
  permissions: Permissions,
  declared: DeclaredTools,
  only?: readonly string[],
): Caller {
  const bounds = boundsOf(permissions, only);
  return {
    permissions,
    declared,
    mayCall: (tool) => bounds.every((one) => allowsTool(one, tool)),
    mayUse: (server) => bounds.every((one) => allowsServer(one, server)),
  };
}

export function permissionScopes(
  entry: PreparedEntry,
  jobName: string,
  option: PermissionPreset | undefined,
  flows: Workflows = {},
): readonly Caller[] {
  const job = entry.jobs[jobName];
  if (job === undefined) return [];
  const tasks = reachedTasks(entry, job.work).map((name) => callerOfTask(entry, name, option));
  const ofFlows = leafWorks(job.work).flatMap((leaf) => {
    const flow = leaf.kind === "Flow" ? flows[leaf.file] : undefined;
    return flow === undefined ? [] : [callerOfFlow(entry, flow, option)];
  });
  return [...tasks, ...ofFlows];
}

/** Declarations that the agents of a workflow may call: its own override those of the entry. */
export function declaredFor(
  { settings }: Pick<Workflow, "settings">,
  { tools, mcpServers }: DeclaredTools,
): DeclaredTools {
  return {
    tools: { ...tools, ...settings.tools },
    mcpServers: { ...mcpServers, ...settings.mcpServers },
  };
}

export function permissionsOfFlow(
  workflow: Pick<Workflow, "settings">,
  entry: DeclaredTools & Pick<PreparedEntry, "permissions">,
  option: PermissionPreset | undefined,
): Permissions {
  const declared = Object.keys(declaredFor(workflow, entry).tools ?? {});
  return effectivePermissions(entry.permissions, workflow.settings.permissions, option, declared);
}

/** Whether the entry turns the sandbox off for all of its tasks: then git does without one, too. */
export function gitSandbox(
  entry: PreparedEntry,
  option: PermissionPreset | undefined,
): "off" | undefined {
  const modes = Object.keys(entry.tasks).map((name) =>
    sandboxMode(permissionsOfTask(entry, name, option)),
  );
  return modes.length > 0 && modes.every((mode) => mode === "off") ? "off" : undefined;
}

export function checkSandboxOption(
  option: SandboxMode | undefined,
  callers: readonly Caller[],
  write: WriteName,
): void {
  if (option !== "off" || callers.every((one) => sandboxMode(one.permissions) === "off")) return;
  throw new UsageError(
    `${write("sandbox")} can't turn off the sandbox unless the entry allows it with \`permissions: { sandbox: off }\`, for each task of the job.`,
  );
}

export function needsSandbox(callers: readonly Caller[], option: SandboxMode | undefined): boolean {
  return callers.some(({ permissions, declared: { tools = {}, mcpServers = {} }, ...caller }) => {
    const mode = sandboxMode(permissions, option);
    const startsPrograms =
      allowsCommands(permissions) ||
      Object.keys(tools).some(caller.mayCall) ||
      Object.entries(mcpServers).some(
        ([name, server]) => "command" in server && caller.mayUse(name),
      );
    return mode === "required" || (mode === "auto" && startsPrograms);
  });
}

/** Whether a task of the job may write files, or a command runs, which may write files. */
export function mayChangeFiles(
  entry: PreparedEntry,
  jobName: string,
  option: PermissionPreset | undefined,
  flows: Workflows = {},
): boolean {
  const job = entry.jobs[jobName];
  if (job !== undefined && commandsOf([job], entry.tasks).length > 0) return true;
  return permissionScopes(entry, jobName, option, flows).some(({ permissions }) =>
    allowChanges(permissions),
  );
}

export function allowChanges(permissions: Permissions): boolean {
  const { preset, write, shell, tools } = ruleSet(permissions);
  const commands = shell.allow === true || shell.allow.length > 0;
  return preset !== "read-only" || commands || write.allow.length > 0 || tools.allow.length > 0;
}
