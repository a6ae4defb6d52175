/** Whether the options of a run fit its entry, and what they and the environment change in its models. */
import { type Diagnostic, suggestion } from "../document/diagnostic.ts";
import type { PreparedEntry, LeafWork, Model, Prices } from "../entry/model.ts";
import type { Script } from "../rehearsal/format/script.ts";
import { type FlowReading, leavesOfJob } from "./flows.ts";
import type { FieldsOn } from "./option-table.ts";
import { UsageError, type WriteName, ALL_MODELS, guessText, type Models } from "./options.ts";
import type { ContinueOptions } from "./prepared-run.ts";
import { hasSecretName } from "./secrets.ts";
import { isPromptFile, isWorkflowFile } from "./workflow-files.ts";
import { schemaCheck } from "../document/schema-check.ts";
import { pricesSchema } from "../entry/limits.ts";
import type { Environment } from "../platform/environment.ts";
import { parsedJson } from "../text/guards.ts";
import { mapLeaves } from "../entry/work.ts";

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

const VARIABLE = "AGENT_JOBS_PRICES";
const check = schemaCheck<Prices>(pricesSchema, VARIABLE);

/** Adds the prices of the environment, which are those of its model server and override those of the entry. */
export function withPrices(entry: PreparedEntry, environment: Environment): PreparedEntry {
  const text = environment[VARIABLE] ?? "";
  if (text === "") return entry;
  const prices = parsedJson(text);
  if (!check.accepts(prices))
    throw new UsageError(
      `${VARIABLE} must be JSON like \`prices\` of an entry. ${check.fault(prices)}`,
    );
  return { ...entry, prices: { ...entry.prices, ...prices } };
}

/** Sets all prices to 0, because a script plays the model. */
export function withoutCost(entry: PreparedEntry): PreparedEntry {
  return { ...entry, prices: { default: { input: 0, output: 0 } } };
}

/** Throws a `UsageError` for a category that the entry doesn't have. */
export function overrideModels(entry: PreparedEntry, given: Models): PreparedEntry {
  const { [ALL_MODELS]: all, ...models } = given;
  if (all !== undefined) return overrideModels(withModel(entry, all), models);
  const known = Object.keys(entry.models);
  const unknown = Object.keys(models).find((category) => !known.includes(category));
  if (unknown !== undefined)
    throw new UsageError(
      `There is no model category ${JSON.stringify(unknown)} in the entry${guessText(unknown, known)}. It has: ${known.join(", ")}.`,
    );
  const { driving } = models;
  // The first of them stands for the driving model itself.
  const retries = entry.drivingSessionRetries?.map((retry, index) =>
    index === 0 && driving !== undefined ? { ...retry, modelId: driving } : retry,
  );
  return { ...entry, models: { ...entry.models, ...models }, drivingSessionRetries: retries };
}

function withModel(entry: PreparedEntry, id: string): PreparedEntry {
  const { models, tasks, jobs, drivingSessionRetries: retries } = entry;
  const replaced = (model: Model | undefined): Model | undefined =>
    model !== undefined && "id" in model ? { id } : model;
  const withId = (leaf: LeafWork<number>): LeafWork<number> =>
    leaf.kind === "Ref" ? { ...leaf, modelOverride: replaced(leaf.modelOverride) } : leaf;
  return {
    ...entry,
    models: { ...mapped(models, () => id), driving: id },
    tasks: mapped(tasks, (task) => ({ ...task, model: replaced(task.model) })),
    jobs: mapped(jobs, (job) => ({
      ...job,
      work: mapLeaves<number, number, LeafWork<number>>(job.work, withId),
    })),
    drivingSessionRetries: retries?.map((retry) => ({ ...retry, modelId: id })),
  };
}

function mapped<T, R>(
  values: Readonly<Record<string, T>>,
  change: (value: T) => R,
): Readonly<Record<string, R>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}
