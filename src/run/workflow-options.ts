/** The options of a run that are for workflows: which of them a run can have, and what is odd about them. */
import { stat } from "node:fs/promises";
import type { Diagnostic } from "../document/diagnostic.ts";
import { suggestion } from "../document/suggest.ts";
import type { PreparedEntry } from "../entry/model.ts";
import { commandsOf, leafWorks } from "../entry/work.ts";
import type { Asker } from "../workflow/run/ask.ts";
import type { Executor } from "../workflow/run/executor.ts";
import type { FlowResult } from "../workflow/run/run-flow.ts";
import { UsageError, type Answers, type Params, type WriteName } from "./options.ts";
import { hasSecretName } from "./secrets.ts";
import { isWorkflowFile } from "./workflow-files.ts";

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
  /** Called with the end of a workflow that is the whole run. */
  readonly onResult?: (result: FlowResult) => void;
}

/** Throws `UsageError` for options that an entry of this kind can't have. */
export async function checkEntryOptions(
  entryFile: string,
  options: WorkflowRunOptions & { readonly jobName?: string; readonly record?: string | undefined },
  write: WriteName,
): Promise<void> {
  const { params, resume, resumeAnyway, rerun, jobName, record } = options;
  if (isWorkflowFile(entryFile)) {
    if (jobName !== undefined) {
      throw new UsageError("A workflow has no jobs. Name only the file.");
    }
  } else {
    if (params !== undefined && Object.keys(params).length > 0) {
      throw new UsageError(
        `Only a workflow (*.wf.md) has parameters, but ${write("param")} is given for the entry ${entryFile}.`,
      );
    }
    if (rerun === true) {
      throw new UsageError(
        `${write("rerun")} is only for workflows (*.wf.md): in a job, what was interrupted runs again.`,
      );
    }
  }
  if (rerun === true && resume === undefined) {
    throw new UsageError(`${write("rerun")} requires ${write("resume")}.`);
  }
  if (resumeAnyway === true && (resume === undefined || isWorkflowFile(entryFile))) {
    throw new UsageError(`${write("resume-anyway")} requires ${write("resume")} and an entry.`);
  }
  if (resume !== undefined && record !== undefined) {
    throw new UsageError(
      `${write("record")} can't be combined with ${write("resume")}: a recording needs the run from its beginning.`,
    );
  }
  if (resume !== undefined) await checkJournal(resume, write);
}

async function checkJournal(path: string, write: WriteName): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() === true) return;
  const why = found === undefined ? "does not exist" : "is not a regular file";
  throw new UsageError(`${write("resume")}: the journal ${path} ${why}.`);
}

/** Throws `UsageError` for options that have no effect on a job, because nothing in it is a workflow. */
export function checkOptionsOfJob(
  entry: PreparedEntry,
  jobName: string,
  { answers, env, history }: WorkflowRunOptions & { readonly history?: string | undefined },
  write: WriteName,
): void {
  if (entry.jobs[jobName] === undefined || hasFlow(entry, jobName)) return;
  const quoted = JSON.stringify(jobName);
  if (env !== undefined && env.length > 0 && !declaresPrograms(entry)) {
    throw new UsageError(
      `${write("env")} is only for workflows, tools, MCP servers and commands, and the job ${quoted} has none.`,
    );
  }
  const given = [
    answers === undefined || Object.keys(answers).length === 0 ? undefined : "answer",
    history === undefined ? undefined : "history",
  ].find((option) => option !== undefined);
  if (given === undefined) return;
  throw new UsageError(`${write(given)} is only for workflows, and the job ${quoted} has none.`);
}

export function hasFlow(entry: PreparedEntry, jobName: string): boolean {
  const job = entry.jobs[jobName];
  return job !== undefined && leafWorks(job.work).some(({ kind }) => kind === "Flow");
}

function declaresPrograms({ tools, mcpServers, jobs, tasks }: PreparedEntry): boolean {
  if (Object.keys({ ...tools, ...mcpServers }).length > 0) return true;
  return commandsOf(Object.values(jobs), tasks).some(({ env }) => env !== undefined);
}

/**
 * What is odd about the names of the environment that a run allows. `unread`: those that no workflow reads, whose texts
 * can't end up in prompts; tools and MCP servers get the values as programs.
 */
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
