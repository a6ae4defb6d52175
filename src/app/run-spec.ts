/** What a run is, in the engine's terms: the same for every edge. */
import type { FlowSpec } from "../engine/flow.ts";
import type { RunSpec } from "../engine/plan.ts";
import type { ResolvedLimits } from "../engine/limits.ts";
import type { PermissionPreset, Permissions, PreparedEntry } from "../entry/model.ts";
import { leafWorks } from "../entry/work.ts";
import { effectivePermissions } from "../permissions/rules.ts";
import { actionDialogues } from "./action-dialogues.ts";
import { entryFingerprint } from "./fingerprint.ts";
import type { FlowOptions, Flows } from "./flows.ts";
import { runTools, type ToolSettings } from "./run-tools.ts";

/** Of agent-jobs. Kept equal to `package.json` by a test. */
export const version = "0.1.0";

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
    run: Pick<FlowOptions, "entry" | "limits" | "permissions">,
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
export function tasksOfJob(entry: PreparedEntry, jobName: string): readonly string[] {
  const job = entry.jobs[jobName];
  const own = (job === undefined ? [] : leafWorks(job.work)).flatMap((leaf) =>
    leaf.kind === "Flow" ? [] : [leaf.taskId],
  );
  const delegates = own.some((name) => entry.tasks[name]?.protocol !== undefined);
  return [...new Set(delegates ? Object.keys(entry.tasks) : own)];
}

/** What each task and each workflow of a job may do, under the option that is a ceiling. */
export function permissionsOfJob(
  entry: PreparedEntry,
  jobName: string,
  option: PermissionPreset | undefined,
  flows: Flows = {},
): readonly Permissions[] {
  const job = entry.jobs[jobName];
  const tools = Object.keys(entry.tools ?? {});
  return [
    ...tasksOfJob(entry, jobName).map((name) => permissionsOfTask(entry, name, option)),
    ...(job === undefined ? [] : leafWorks(job.work)).flatMap((leaf) => {
      if (leaf.kind !== "Flow") return [];
      const own = flows[leaf.file]?.workflow.settings.permissions;
      return [effectivePermissions(entry.permissions, own, option, tools)];
    }),
  ];
}

export function runSpec(spec: SpecOptions): RunSpec {
  const { fingerprintOf, permissions, flows = {}, specsOf, tools: settings, ...options } = spec;
  const { entry, limits, workingDirectory } = options;
  const permissionsOf = (taskId: string): Permissions =>
    permissionsOfTask(entry, taskId, permissions);
  const tools = runTools({ ...settings, entry, workingDirectory });
  const { redact } = settings;
  const dialogues = tools && actionDialogues({ entry, limits, permissionsOf, tools, redact });
  return {
    ...options,
    version,
    entryFingerprint: entryFingerprint(fingerprintOf ?? entry, flows),
    ...(specsOf === undefined ? {} : { flows: specsOf({ entry, limits, permissions }) }),
    ...(tools === undefined ? {} : { toolSource: tools.source }),
    ...(dialogues === undefined ? {} : { dialogues }),
    permissionsOf,
  };
}
