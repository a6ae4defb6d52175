/** Whether the options of a run fit its entry. */
import { type Diagnostic, suggestion } from "../document/diagnostic.ts";
import type { PreparedEntry } from "../entry/model.ts";
import type { Script } from "../rehearsal/format/script.ts";
import { type FlowReading, leavesOfJob } from "./flows.ts";
import type { FieldsOn } from "./option-table.ts";
import { UsageError, type WriteName } from "./options.ts";
import type { ContinueOptions } from "./prepared-run.ts";
import { hasSecretName } from "./secrets.ts";
import { isPromptFile, isWorkflowFile } from "./workflow-files.ts";

type Fields = FieldsOn<"run">;

export function readingOf(
  { env, permissions }: Pick<Fields, "env" | "permissions">,
  script: Script | undefined,
): FlowReading {
  return { environment: env, permissions: permissions ?? script?.permissions };
}

export function checkEntryOptions(
  options: Fields &
    ContinueOptions & {
      readonly entryFile?: string | undefined;
      readonly jobName?: string | undefined;
    },
  write: WriteName,
): void {
  const { params = {}, resume, jobName, record } = options;
  const { prompt, promptFile, outputs } = options;
  const isPart = options.plan === true || (options.shard ?? options.journals) !== undefined;
  const given = options.entryFile ?? promptFile;
  const entryFile = given ?? "";
  const isWorkflow = isWorkflowFile(entryFile);
  const isPrompt = (prompt ?? promptFile) !== undefined || isPromptFile(entryFile);
  const several = [options.entryFile, prompt, promptFile].filter((one) => one !== undefined);
  const names = `${write("prompt")} and ${write("prompt-file")}`;
  const problems: readonly (readonly [applies: boolean, problem: string])[] = [
    [several.length === 0, `There is no entry. Name its file, or use one of ${names}.`],
    [several.length > 1, `Only one of an entry, ${names} can be used.`],
    [
      outputs !== undefined && !isPrompt,
      `${write("outputs")} is only for a prompt. The entry ${entryFile} has its own \`outputs\`.`,
    ],
    [isPrompt && isPart, "A prompt can't be split into shards."],
    [
      record !== undefined && isPrompt && (given === undefined || !isPromptFile(given)),
      `${write("record")} needs a file that the recording can name: write the prompt to a file *.prompt.md.`,
    ],
    [isWorkflow && isPart, `${entryFile} is a workflow, which can't be split into shards.`],
    [isWorkflow && jobName !== undefined, "A workflow has no jobs. Name only the file."],
    [
      !isWorkflow && Object.keys(params).length > 0,
      `Only a workflow (*.wf.md) has parameters, but ${write("param")} is given for the entry ${entryFile}.`,
    ],
    [
      resume !== undefined && record !== undefined,
      `${write("record")} can't be combined with ${write("resume")}: a recording needs the run from its beginning.`,
    ],
  ];
  const [, problem] = problems.find(([applies]) => applies) ?? [];
  if (problem !== undefined) throw new UsageError(problem);
  checkResumeOptions(options, write);
}

export function checkResumeOptions(
  { resume, resumeAnyway, rerun }: Pick<Fields, "resume" | "resumeAnyway" | "rerun">,
  write: WriteName,
): void {
  if (resume !== undefined) return;
  const given = { rerun, "resume-anyway": resumeAnyway };
  for (const [name, isGiven] of Object.entries(given))
    if (isGiven === true) throw new UsageError(`${write(name)} requires ${write("resume")}.`);
}

export function checkFlowOptions(
  entry: PreparedEntry,
  jobName: string,
  { answers = {} }: Pick<Fields, "answers">,
  write: WriteName,
): void {
  if (Object.keys(answers).length === 0 || hasFlow(entry, jobName)) return;
  const ids = Object.keys(answers).join(", ");
  throw new UsageError(
    `${write("answer")} answers ${ids}, but the job ${JSON.stringify(jobName)} has no workflow that could ask.`,
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
