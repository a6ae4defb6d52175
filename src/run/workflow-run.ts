import { type Diagnostic, DiagnosticsError } from "../document/diagnostic.ts";
import type { ResolvedLimits } from "../engine/limits.ts";
import type { PermissionPreset, PreparedEntry } from "../entry/model.ts";
import type { Script } from "../rehearsal/format/script.ts";
import { bindParameters } from "../workflow/parameters.ts";
import { restoreRun } from "../workflow/run/restore.ts";
import { scriptTags } from "../workflow/run/script-runner.ts";
import {
  type FlowReading,
  leavesOfJob,
  type LoadedFlow,
  type WholeFlow,
  withUserInput,
} from "./flows.ts";
import { allowedForPrograms, type AllowedVariables } from "./variables.ts";
import { type Answers, type Params, UsageError, type WriteName } from "./options.ts";
import type { ContinueOptions, ResumedJob } from "./resume-job.ts";
import { suggestion } from "../document/suggest.ts";
import type { Asker } from "../workflow/kinds/ask.ts";
import type { Executor } from "../workflow/run/executors.ts";
import type { FlowResult } from "../workflow/run/run-flow.ts";
import { hasSecretName } from "./secrets.ts";
import { isWorkflowFile } from "./workflow-files.ts";

export function readingOf(
  {
    env,
    permissions,
  }: { readonly env?: readonly string[]; readonly permissions?: PermissionPreset },
  script: Script | undefined,
): FlowReading {
  return { environment: env, permissions: permissions ?? script?.permissions };
}

interface WorkflowStart extends AllowedVariables {
  readonly params: Params;
  readonly userInput: string;
  readonly resumed: ResumedJob | undefined;
  readonly onResult?: WholeFlow["onResult"];
  readonly executors?: readonly Executor[] | undefined;
  /** With overridden models. */
  readonly entry: PreparedEntry;
  readonly limits: ResolvedLimits;
  readonly refuse: (reason: string) => UsageError;
}

/** Throws `UsageError` or `DiagnosticsError` if the workflow can't begin like this. */
export function startWorkflow(
  { workflow }: LoadedFlow,
  options: WorkflowStart,
): { readonly whole: WholeFlow; readonly warnings: readonly Diagnostic[] } {
  const { resumed, onResult, entry, limits, executors, refuse, userInput } = options;
  const params = resumed?.params ?? options.params;
  const bound = bindParameters(workflow, withUserInput(params, userInput));
  if (bound.kind === "incomplete") throw new DiagnosticsError(bound.diagnostics);
  const { variables, warnings } = bound;
  if (resumed?.isOver === true) {
    const status = resumed.past.works.length > 0 ? "SUCCESS" : "FAILED";
    throw refuse(`The run has ended: ${status}. There is nothing to resume.`);
  }
  const [underWay] = resumed?.past.underWay ?? [];
  if (underWay !== undefined) {
    const environment = allowedForPrograms(entry, options);
    const machine = { environment, limits, tags: scriptTags({ executors }) };
    const found = restoreRun(workflow, machine, { variables, userInput }, underWay);
    if (found.kind === "refused") throw refuse(found.reason);
  }
  return { whole: { params, onResult }, warnings };
}

export interface WorkflowRunOptions {
  /** For an entry that is a workflow. */
  readonly params?: Params;
  /** Come before those of a rehearsal and of the front matter. */
  readonly answers?: Answers;
  /** Names of the environment that workflows may read, and that tools and MCP servers may be given. Default: none. */
  readonly env?: readonly string[];
  /** The journal of an earlier run of the job or workflow, which is to be continued. */
  readonly resume?: string;
  /** With `resume`: tasks that had not started may have changed. */
  readonly resumeAnyway?: boolean;
  /** With `resume`: reruns commands that were interrupted. */
  readonly rerun?: boolean;
  /** Asks a person what `answers` doesn't answer. Default: such an ASK fails. */
  readonly asker?: Asker;
  /** Run code fences of further tags, or those that there are in another way. */
  readonly executors?: readonly Executor[];
  readonly onResult?: (result: FlowResult) => void;
}

export function checkEntryOptions(
  entryFile: string,
  options: WorkflowRunOptions &
    ContinueOptions & { readonly jobName?: string; readonly record?: string | undefined },
  write: WriteName,
): void {
  const { params = {}, resume, resumeAnyway, rerun, jobName, record } = options;
  const isPart = options.plan === true || (options.shard ?? options.journals) !== undefined;
  const isWorkflow = isWorkflowFile(entryFile);
  const problems: readonly (readonly [applies: boolean, problem: string])[] = [
    [isWorkflow && isPart, `${entryFile} is a workflow, which can't be split into shards.`],
    [isWorkflow && jobName !== undefined, "A workflow has no jobs. Name only the file."],
    [
      !isWorkflow && Object.keys(params).length > 0,
      `Only a workflow (*.wf.md) has parameters, but ${write("param")} is given for the entry ${entryFile}.`,
    ],
    [rerun === true && resume === undefined, `${write("rerun")} requires ${write("resume")}.`],
    [
      resumeAnyway === true && resume === undefined,
      `${write("resume-anyway")} requires ${write("resume")}.`,
    ],
    [
      resume !== undefined && record !== undefined,
      `${write("record")} can't be combined with ${write("resume")}: a recording needs the run from its beginning.`,
    ],
  ];
  const [, problem] = problems.find(([applies]) => applies) ?? [];
  if (problem !== undefined) throw new UsageError(problem);
}

export function checkFlowOptions(
  entry: PreparedEntry,
  jobName: string,
  { answers = {}, history }: WorkflowRunOptions & { readonly history?: string | undefined },
  write: WriteName,
): void {
  const option = Object.keys(answers).length > 0 ? "answer" : "history";
  if ((option === "history" && history === undefined) || hasFlow(entry, jobName)) return;
  throw new UsageError(
    `${write(option)} is only for workflows, and the job ${JSON.stringify(jobName)} has none.`,
  );
}

export function hasFlow(entry: PreparedEntry, jobName: string): boolean {
  return leavesOfJob(entry, jobName).some(({ kind }) => kind === "Flow");
}

/** `unread`: those that no workflow reads, so that they can't end up in prompts. */
export function environmentWarnings(
  names: readonly string[] = [],
  environment: Readonly<Record<string, string | undefined>>,
  unread: readonly string[],
): readonly Diagnostic[] {
  return names.flatMap((name): Diagnostic[] => {
    const warning = { codePath: "", severity: "warning" } as const;
    if (environment[name] === undefined) {
      const set = Object.keys(environment).filter((other) => environment[other] !== undefined);
      const reason = `The environment has no variable ${JSON.stringify(name)}.`;
      return [{ ...warning, reason, ...suggestion(name, set) }];
    }
    if (unread.includes(name) || !hasSecretName(name)) return [];
    const reason = `Workflows may read ${name}, which has the name of a secret. A prompt that contains it goes to the model.`;
    return [{ ...warning, reason }];
  });
}
