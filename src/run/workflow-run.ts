import { basename } from "node:path";
import { type Diagnostic, DiagnosticsError } from "../document/diagnostic.ts";
import type { ResolvedLimits } from "../engine/limits.ts";
import type { PermissionPreset, PreparedEntry } from "../entry/model.ts";
import type { Script } from "../rehearsal/format/script.ts";
import { bindParameters } from "../workflow/parameters.ts";
import { type Restored, restoreRun } from "../workflow/run/restore.ts";
import { scriptTags } from "../workflow/run/script-runner.ts";
import { workflowFingerprint } from "./fingerprint.ts";
import { type FlowReading, given, leavesOfJob, type LoadedFlow, type WholeFlow } from "./flows.ts";
import { allowedForPrograms, type AllowedVariables } from "./variables.ts";
import { type Answers, type Params, UsageError, type WriteName } from "./options.ts";
import {
  checkLeg,
  type ContinueOptions,
  readResumed,
  refusing,
  sameInput,
  sameTexts,
} from "./resume-job.ts";
import { suggestion } from "../document/suggest.ts";
import type { Asker } from "../workflow/run/ask.ts";
import type { Executor } from "../workflow/run/executor.ts";
import type { FlowResult } from "../workflow/run/run-flow.ts";
import { hasSecretName } from "./secrets.ts";
import { isWorkflowFile } from "./workflow-files.ts";
import type { Workflow } from "../workflow/model.ts";

export function readingOf(
  {
    env,
    permissions,
  }: { readonly env?: readonly string[]; readonly permissions?: PermissionPreset },
  script: Script | undefined,
): FlowReading {
  return { environment: env, permissions: permissions ?? script?.permissions };
}

export interface WorkflowStart {
  readonly whole: WholeFlow;
  readonly userInput?: string;
  readonly warnings: readonly Diagnostic[];
}

export interface StartOptions extends AllowedVariables {
  readonly params?: Params | undefined;
  readonly resume?: string | undefined;
  readonly leg?: string | undefined;
  readonly rerun?: boolean | undefined;
  readonly onResult?: WholeFlow["onResult"];
  readonly executors?: readonly Executor[] | undefined;
  readonly userInput?: string | undefined;
  readonly script: Script | undefined;
  /** A script plays the model. */
  readonly rehearses: boolean;
  /** With overridden models. */
  readonly entry: PreparedEntry;
  readonly limits: ResolvedLimits;
  readonly write: WriteName;
}

/** Throws `UsageError` or `DiagnosticsError` if the workflow can't begin like this. */
export async function startOfWorkflow(
  { workflow }: LoadedFlow,
  options: StartOptions,
): Promise<WorkflowStart> {
  const { script, resume, onResult } = options;
  const earlier = resume === undefined ? undefined : await readEarlier(resume, options);
  const params = earlier?.params ?? { ...script?.params, ...options.params };
  const userInput = earlier?.userInput ?? options.userInput ?? script?.userInput ?? "";
  const bound = bindParameters(workflow, given(params, userInput));
  if (bound.kind === "incomplete") throw new DiagnosticsError(bound.diagnostics);
  const { variables, warnings } = bound;
  const restored = earlier && restoredOf(workflow, { ...earlier, variables }, options);
  return { whole: { params, restored, onResult }, ...(earlier && { userInput }), warnings };
}

interface Earlier extends Omit<Parameters<typeof restoreRun>[2], "variables"> {
  readonly params: Params;
  readonly fingerprint: string | undefined;
  /** As the journal names it. */
  readonly file: string;
}

async function readEarlier(resume: string, options: StartOptions): Promise<Earlier> {
  const resuming = { ...options, resume };
  const { started, steps: events, hasEnded } = await readResumed(resuming);
  checkLeg({ started }, resuming);
  const work = started?.work;
  if (started === undefined || work?.kind !== "Flow")
    throw refusing(resuming)("it is not the journal of a run of a workflow.");
  const { file, chart, restoredSteps } = work;
  return {
    params: sameTexts("param", work.params, options.params ?? {}, resuming),
    userInput: sameInput(started.userInput, resuming),
    fingerprint: chart.fingerprint,
    file,
    events,
    hasEnded,
    restoredSteps,
  };
}

function restoredOf(
  workflow: Workflow,
  earlier: Earlier & { readonly variables: Readonly<Record<string, string>> },
  options: StartOptions,
): Restored {
  const { entry, limits, write, resume = "", rerun = false, executors } = options;
  const refuse = refusing({ resume, write });
  if (earlier.fingerprint !== workflowFingerprint(workflow)) {
    const file = basename(workflow.file);
    throw refuse(
      earlier.file === file
        ? `${workflow.file}, or a file that it uses, has changed since then.`
        : `it is of ${earlier.file}, not of ${file}.`,
    );
  }
  const environment = allowedForPrograms(entry, options);
  const tags = scriptTags({ executors });
  const found = restoreRun(workflow, { environment, limits, tags }, earlier);
  if (found.kind === "refused") throw refuse(found.reason);
  if (found.kind === "interrupted" && !rerun) {
    const { activity, failed } = found;
    const why =
      failed === undefined
        ? `${activity} was running commands when ${resume} was interrupted.`
        : `The commands of ${activity} had begun when it failed: ${failed}`;
    throw new UsageError(`${write("resume")}: ${why} Pass ${write("rerun")} to run them again.`);
  }
  return found.restored;
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
  /** With `resume`, of a job: tasks that had not started may have changed. */
  readonly resumeAnyway?: boolean;
  /** With `resume`: runs an EXECUTE again that was under way at the end of the journal. */
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
    [
      !isWorkflow && rerun === true,
      `${write("rerun")} is only for workflows (*.wf.md): in a job, what was interrupted runs again.`,
    ],
    [rerun === true && resume === undefined, `${write("rerun")} requires ${write("resume")}.`],
    [
      resumeAnyway === true && (resume === undefined || isWorkflow),
      `${write("resume-anyway")} requires ${write("resume")} and an entry.`,
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
