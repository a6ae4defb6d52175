/** The inputs of the actions. This is the only file of the room that reads the environment. */
import { tmpdir } from "node:os";
import { named, type Named } from "../run/option-assignments.ts";
import { andThen, isRepeated, quote } from "../run/option-kinds.ts";
import type { Flag, Kind, Repeated } from "../run/option-kinds.ts";
import { optionTable, type Option, type Value } from "../run/option-table.ts";
import type { WriteName } from "../run/options.ts";
import { readProvider } from "../run/options-provider.ts";
import { isWorkflowFile } from "../run/workflow-files.ts";
import { truncate } from "../text/truncate.ts";
import { parseCentral } from "../github/commit-files.ts";
import { actions, inputName, inputTable, variables, type Mode, type Rows } from "./actions.ts";

/** Options of a run that are other inputs here, variables of the environment, or only on the command line. */
const otherNames: Readonly<Record<string, string>> = {
  answer: "inputs",
  input: "inputs",
  param: "inputs",
  "in-place": "agent-jobs rehearse --in-place",
  "resume-anyway": "agent-jobs run --resume-anyway",
  "provider-type": "AGENT_JOBS_PROVIDER_TYPE",
  "provider-wire-api": "AGENT_JOBS_PROVIDER_WIRE_API",
  "runtime-path": "AGENT_JOBS_RUNTIME_PATH",
  share: "AGENT_JOBS_SHARE",
};

export const asInput: WriteName = (name) =>
  `\`${Object.hasOwn(otherNames, name) ? otherNames[name] : name}\``;

export type Environment = Readonly<Record<string, string | undefined>>;

export function readEnvironment(): Environment {
  return process.env;
}

export const AUTO = "auto";

type Table = typeof inputTable & typeof variables;

type RawInputs = Omit<
  {
    readonly [Name in keyof Table]: Table[Name] extends { readonly kind: Flag }
      ? boolean
      : Table[Name] extends { readonly kind: Repeated<infer T> }
        ? T
        : Table[Name] extends { readonly preset: string }
          ? Value<Table[Name]>
          : Value<Table[Name]> | undefined;
  },
  "inputs"
> & { readonly inputs: Named };

export function inputVariable(name: string): string {
  return `INPUT_${name.replaceAll(" ", "_").toUpperCase()}`;
}

export type Inputs = ReturnType<typeof settled>;

export interface ReadInputs {
  /** With problems: the defaults in place of what is wrong, so that valid inputs about reports apply. */
  readonly inputs: Inputs;
  readonly problems: readonly string[];
}

export function readInputs(mode: Mode, environment: Environment): ReadInputs {
  const problems: string[] = [];
  const inputs = settled(mode, rawInputs(mode, environment, problems), environment, problems);
  const need = (isWrong: boolean, problem: string): void =>
    void (isWrong && problems.push(problem));
  const { userInput, userInputFile, resume } = inputs;
  const isRun = mode === "run";
  need(
    userInput !== undefined && userInputFile !== undefined,
    "`user-input` and `user-input-file` can't be used together.",
  );
  need(
    isRun && inputs.shard !== undefined && (resume === undefined || resume === AUTO),
    "`shard` requires `resume` with the journal of the plan.",
  );
  need(mode === "plan" && inputs.shards === undefined, "The input `shards` is required.");
  need(mode === "merge" && inputs.journals.length === 0, "The input `journals` is required.");
  need(mode === "deliver" && inputs.journal === undefined, "The input `journal` is required.");
  return { inputs, problems };
}

function rawInputs(mode: Mode, environment: Environment, problems: string[]): RawInputs;
function rawInputs(
  mode: Mode,
  environment: Environment,
  problems: string[],
): Readonly<Record<string, unknown>> {
  const rows: Rows = { ...inputTable, ...variables };
  const declared = actions[mode].inputs;
  const isWorkflow = isWorkflowFile((environment["INPUT_ENTRY"] ?? "").trim().replace(/@\w+$/, ""));
  // Variables for the models of other steps don't change how a rehearsal runs.
  const asksModels = mode !== "rehearse" && mode !== "deliver";
  return Object.fromEntries(
    Object.entries(rows).map(([field, row]) => {
      const name = inputName(field, row);
      const kind = field === "inputs" ? named(isWorkflow) : row.kind;
      const input = declared.includes(field) ? environment[inputVariable(name)] : undefined;
      const variable = asksModels || field === "runtimePath" ? row.env : undefined;
      const given = present(input) ?? present(environment[variable ?? ""]) ?? present(row.preset);
      const { value, wrong } = readInput(kind, given);
      problems.push(...wrong.map((problem) => `${asInput(name)}${problem}.`));
      return [field, value ?? (row.preset && readInput(kind, row.preset).value)];
    }),
  );
}

/** A line may be the text of an event. */
const MAX_QUOTED = 100;

/** The values that `getBooleanInput` of the toolkit takes. */
const booleans = { true: /^(?:true|True|TRUE)$/, false: /^(?:false|False|FALSE)$/ };

function readInput(
  kind: Kind<unknown>,
  given: string | undefined,
): { readonly value: unknown; readonly wrong: readonly string[] } {
  const wrong: string[] = [];
  if (isRepeated(kind)) {
    let value = kind.none;
    for (const { line, argument } of given === undefined ? [] : kind.lines(given)) {
      const read = andThen(argument, (one) => kind.parse(one, value));
      if (read.kind === "value") ({ value } = read);
      else wrong.push(`: the line ${quote(truncate(line, MAX_QUOTED, "…"))} ${read.problem}`);
    }
    return { value, wrong };
  }
  if (kind.isFlag === true) {
    const isKnown = given === undefined || booleans.false.test(given) || booleans.true.test(given);
    if (!isKnown) wrong.push(` must be true or false, not ${quote(given)}`);
    return { value: booleans.true.test(given ?? ""), wrong };
  }
  const read = given === undefined ? undefined : kind.parse(given);
  if (read?.kind === "wrong") wrong.push(` ${read.problem}`);
  return { value: read?.kind === "value" ? read.value : undefined, wrong };
}

function settled(mode: Mode, raw: RawInputs, environment: Environment, problems: string[]) {
  const { entry, prompt, promptFile } = raw;
  // So a relative path in the command isn't a file of the checkout.
  const place = { folder: environment["RUNNER_TEMP"] || tmpdir(), environment };
  const { provider, problems: wrong } = readProvider(raw, asInput, place);
  // The environment may contain a key for other steps.
  for (const name of ["provider-api-key", "provider-token-command"])
    if (raw.providerBaseUrl === undefined && present(environment[inputVariable(name)]))
      problems.push(`${asInput(name)} needs ${asInput("provider-base-url")}.`);
  const central = entry === undefined ? undefined : parseCentral(entry);
  problems.push(...wrong);
  const jobs = [entry, prompt, promptFile].filter((one) => one !== undefined);
  const isPrompt = (prompt ?? promptFile) !== undefined;
  const ways = mode === "run" ? "One of `entry`, `prompt` and `prompt-file`" : "The input `entry`";
  if (mode !== "rehearse" && jobs.length === 0) problems.push(`${ways} is required.`);
  if (jobs.length > 1)
    problems.push("Only one of `entry`, `prompt` and `prompt-file` can be used.");
  if (central?.kind === "wrong") problems.push(`\`entry\` ${central.problem}.`);
  return {
    ...raw,
    ...raw.inputs,
    mode,
    /** For a prompt that is no file, only a name: the workflow that has it. */
    entry: entry ?? promptFile ?? (prompt === undefined ? "" : workflowOf(environment)),
    job: raw.job ?? (isPrompt ? present(environment["GITHUB_JOB"]) : undefined),
    /** The entry, if it is one of another repository. */
    central: central?.kind === "value" ? central.value : undefined,
    provider,
    gitHubToken: raw.githubToken ?? present(environment["GITHUB_TOKEN"]),
  };
}

/** `GITHUB_WORKFLOW_REF` is `owner/repo/.github/workflows/review.yml@ref`. */
function workflowOf({ GITHUB_WORKFLOW_REF: ref = "" }: Environment): string {
  return /^[^/]+\/[^/]+\/(.+?)@/.exec(ref)?.[1] ?? "prompt";
}

/** Every value among the inputs and beside them that the runner has to mask, whether it is used or not. */
export function secretInputs(environment: Environment): readonly string[] {
  const inputs = Object.entries<Option>(inputTable).map(([field, row]) => inputName(field, row));
  const secrets = inputs.filter((name) => /-(?:token|key)$/.test(name)).map(inputVariable);
  return [...secrets, "GITHUB_TOKEN", optionTable.providerApiKey.env]
    .map((name) => present(environment[name]))
    .filter((value) => value !== undefined);
}

function present(value: string | undefined): string | undefined {
  const trimmed = value?.trim() ?? "";
  return trimmed === "" ? undefined : trimmed;
}
