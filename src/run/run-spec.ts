/** What a run is, in the engine's terms: the same for every edge. */
import { defined } from "../document/guards.ts";
import type { FlowSpec } from "../engine/flow.ts";
import type { RunSpec } from "../engine/plan.ts";
import type { ResolvedLimits } from "../engine/limits.ts";
import type { ToolSource } from "../engine/ports.ts";
import type {
  DeclaredTools,
  PermissionPreset,
  Permissions,
  PreparedEntry,
} from "../entry/model.ts";
import { version } from "../generated/version.ts";
import { leafWorks } from "../entry/work.ts";
import { allowsServer, allowsTool, boundsOf, effectivePermissions } from "../permissions/rules.ts";
import { actionDialogues } from "./action-dialogues.ts";
import { entryFingerprint } from "./fingerprint.ts";
import {
  declaredFor,
  permissionsOfFlow,
  type FlowOptions,
  type Flows,
  type LoadedFlow,
} from "./flows.ts";
import { runTools, type ToolSettings } from "./run-tools.ts";

interface SpecOptions {
  readonly entry: PreparedEntry;
  /** The entry before its models were overridden. Default: the same. */
  readonly fingerprintOf?: PreparedEntry;
  /** As the user named it. */
  readonly entryFile?: string;
  readonly userInput: string;
  /** Absolute. */
  readonly workingDirectory: string;
  readonly limits: ResolvedLimits;
  /** Default permissions, and an upper bound for those of the entry. */
  readonly permissions: PermissionPreset | undefined;
  /** How the tools of the entry are called. */
  readonly tools: ToolSettings;
  /** The workflows of the entry. */
  readonly flows?: Flows;
  /** How they are run. */
  readonly specsOf?: (
    run: Pick<FlowOptions, "entry" | "limits" | "permissions" | "toolSourceOf">,
  ) => Readonly<Record<string, FlowSpec>>;
}

/** What a task may do, under the option that is a ceiling. */
export function permissionsOfTask(
  entry: PreparedEntry,
  taskId: string,
  option: PermissionPreset | undefined,
): Permissions {
  const own = entry.tasks[taskId]?.permissions;
  return effectivePermissions(entry.permissions, own, option, Object.keys(entry.tools ?? {}));
}

/** The tasks that a job may run. One with the action protocol may delegate to any other. */
function tasksOfJob(entry: PreparedEntry, jobName: string): readonly string[] {
  const job = entry.jobs[jobName];
  const own = (job === undefined ? [] : leafWorks(job.work)).flatMap((leaf) =>
    leaf.kind === "Flow" ? [] : [leaf.taskId],
  );
  const delegates = own.some((name) => entry.tasks[name]?.protocol !== undefined);
  return [...new Set(delegates ? Object.keys(entry.tasks) : own)];
}

/** A task or a workflow: what it may do, and which of the declared tools and servers its agents may call. */
export interface Caller {
  readonly permissions: Permissions;
  readonly declared: DeclaredTools;
  readonly mayCall: (tool: string) => boolean;
  readonly mayUse: (server: string) => boolean;
}

/** Under the option that is a ceiling. */
export function callerOfTask(
  entry: PreparedEntry,
  taskId: string,
  option: PermissionPreset | undefined,
): Caller {
  return callerWith(permissionsOfTask(entry, taskId, option), entry, undefined);
}

export function callerOfFlow(
  entry: PreparedEntry,
  { workflow }: Pick<LoadedFlow, "workflow">,
  option: PermissionPreset | undefined,
): Caller {
  const { agentTools = [] } = workflow.settings;
  const permissions = permissionsOfFlow(workflow, entry, option);
  return callerWith(permissions, declaredFor(workflow, entry), agentTools);
}

function callerWith(
  permissions: Permissions,
  declared: DeclaredTools,
  only: readonly string[] | undefined,
): Caller {
  const bounds = boundsOf(permissions, only);
  return {
    permissions,
    declared,
    mayCall: (tool) => bounds.every((one) => allowsTool(one, tool)),
    mayUse: (server) => bounds.every((one) => allowsServer(one, server)),
  };
}

/** Each task and each workflow of a job, under the option that is a ceiling. */
export function callersOfJob(
  entry: PreparedEntry,
  jobName: string,
  option: PermissionPreset | undefined,
  flows: Flows = {},
): readonly Caller[] {
  const job = entry.jobs[jobName];
  return [
    ...tasksOfJob(entry, jobName).map((name) => callerOfTask(entry, name, option)),
    ...(job === undefined ? [] : leafWorks(job.work)).flatMap((leaf) => {
      const flow = leaf.kind === "Flow" ? flows[leaf.file] : undefined;
      return flow === undefined ? [] : [callerOfFlow(entry, flow, option)];
    }),
  ];
}

export function runSpec(spec: SpecOptions): RunSpec {
  const { fingerprintOf, permissions, flows = {}, specsOf, tools: settings, ...options } = spec;
  const { entry, limits, workingDirectory } = options;
  const permissionsOf = (taskId: string): Permissions =>
    permissionsOfTask(entry, taskId, permissions);
  const toolsOf = (callable: PreparedEntry): ReturnType<typeof runTools> =>
    runTools({ ...settings, entry: callable, flows, workingDirectory });
  const tools = toolsOf(entry);
  const toolSourceOf = ({ workflow }: LoadedFlow): ToolSource | undefined => {
    const {
      agentTools = [],
      tools: own = entry.tools,
      mcpServers = entry.mcpServers,
    } = workflow.settings;
    if (agentTools.length === 0) return undefined;
    // It declares nothing itself, or the entry was made from it.
    if (own === entry.tools && mcpServers === entry.mcpServers) return tools?.source;
    return toolsOf({ ...entry, ...declaredFor(workflow, entry), tasks: {} })?.source;
  };
  const { redact } = settings;
  const dialogues = tools && actionDialogues({ entry, limits, permissionsOf, tools, redact });
  return {
    ...options,
    version,
    entryFingerprint: entryFingerprint(fingerprintOf ?? entry, flows),
    ...(specsOf === undefined
      ? {}
      : { flows: specsOf({ entry, limits, permissions, toolSourceOf }) }),
    ...(tools === undefined ? {} : { toolSource: tools.source }),
    ...defined({ dialogues }),
    permissionsOf,
  };
}
