/**
 * The actions: a main one, and sisters in folders of their names. Their action.yml files are made from this. Inputs are
 * rows of the table of options, and rows of the same form.
 */
import type { OutputName } from "../github/step-outputs.ts";
import { choice, count, flag, limits, logins, paths, text, word } from "../run/option-kinds.ts";
import { kebab, optionsOn, optionTable, type Option } from "../run/option-table.ts";

export type Rows = Readonly<Record<string, Option>>;

/** Options of a run that are no inputs: few workflows need them. */
const { providerType, providerWireApi, runtimePath, share } = optionTable;
export const variables = { providerType, providerWireApi, runtimePath, share };

const runInputs = {
  entry: {
    kind: text,
    help: "The entry file, or a workflow (`*.wf.md`). It is read from the commit of the event, with every file that it names. Or `owner/repo/path@SHA`: one of another repository, at a full commit SHA.",
  },
  job: {
    kind: text,
    help: "The job to run. May be omitted if the entry has only one.",
  },
  ...optionsOn("action"),
  limits: {
    kind: limits,
    help: "`limits` as in an entry, as YAML or JSON, such as `{ jobMinutes: 20 }`. They override those of the entry.",
  },
  shard: optionTable.shard,
  onCommand: {
    kind: word,
    help: "On `issue_comment`: runs only for this command, such as `/review`. The rest of its line is `$user-input`; without one, `user-input` or “(none)”. The comment gets 👀, which needs `issues: write` or `pull-requests: write`.",
  },
  leg: {
    kind: text,
    help: "The name of this leg of a matrix. Default: a digest of the matrix, the runner, and the inputs that configure the run.",
    expression: "${{ toJSON(matrix) }}",
  },
  allowedUsers: {
    kind: logins(/^(?:\*|[A-Za-z0-9][A-Za-z0-9_-]*(?:\[bot\])?)$/, "octocat or dependabot[bot]"),
    help: "Who may start an agent besides users with write access, one login per line: users, bots (`dependabot[bot]`), or `*` for everybody, including authors of pull requests from forks.",
    risk: "a listed bot acts for whoever can make it act, and anybody can register a login that was given up. With `*`, strangers spend your tokens and instruct an agent that runs in your job.",
  },
  githubToken: {
    kind: text,
    help: "Pays for the models, and is used to check who triggered the event and to write on GitHub. The built-in token requires `permissions: copilot-requests: write` for models. A fine-grained personal token requires “Copilot Requests”, and the built-in token in the environment variable `GITHUB_TOKEN`.",
    expression: "${{ github.token }}",
  },
  entryToken: {
    kind: text,
    help: "Reads an entry of another repository: `contents: read` there. Default: the step's token.",
  },
  deliveryToken: {
    kind: text,
    help: "Writes on GitHub what the job publishes, and does nothing else: the token of a GitHub App, so that checks start on what is pushed or opened. Default: the step's token.",
  },
  staged: {
    kind: flag,
    help: "`true` shows everything that would be written on GitHub, but writes nothing; `false` publishes it.",
  },
  summary: {
    kind: choice(["full", "compact", "off"]),
    help: "The job summary.",
    preset: "full",
  },
  failOn: {
    kind: choice(["failure", "refused", "never"]),
    help: "`failure`: the step fails if the job fails, or if its verdict or a finding reaches `failOn` of the entry's `outputs`. `refused`: also if a delivery is refused. `never`: only wrong inputs and an invalid entry fail the step.",
    preset: "failure",
  },
} as const satisfies Rows;

const sisterInputs = {
  shards: {
    kind: count,
    help: "The number of shards, at most 256.",
  },
  journals: {
    kind: paths,
    help: "The journals of the plan and its shards, or folders with `*.jsonl` files, one per line.",
    risk: "they decide what counts as done.",
  },
  onMissing: optionTable.onMissing,
  journal: {
    kind: text,
    help: "The journal to deliver, or a folder with it.",
  },
  journalDigest: {
    kind: text,
    help: "The output `journal-digest` of the job that wrote the journal. Required within one workflow run.",
  },
  files: {
    kind: paths,
    help: "Rehearsals, folders or globs, one per line. A single file shows its run as that of a job. Default: all `*.rehearsal.yml` that git doesn't ignore.",
  },
} as const satisfies Rows;

export const inputTable = { ...runInputs, ...sisterInputs } as const;

/** A plan, its shards and their merge must agree on these. */
const inputsOfParts = [
  "inputs",
  "userInput",
  "workingDirectory",
  "base",
  "env",
  "models",
  "permissions",
  "limits",
  "leg",
  "allowedUsers",
  "githubToken",
  "entryToken",
] as const;

const outputsOfRun = [
  "result",
  "reason",
  "verdict",
  "findings",
  "report",
  "report-file",
  "results",
  "failed-tasks",
  "reported-document",
  "output-dir",
  "journal",
] as const;
const outputsOfJournal = ["journal-digest", "journal-artifact"] as const;

export type Mode = "run" | "plan" | "merge" | "deliver" | "rehearse";

interface Action {
  readonly description: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly OutputName[];
  /** Descriptions of inputs that mean less here than in the main action. */
  readonly meanings?: Readonly<Record<string, string>>;
}

export const actions: Readonly<Record<Mode, Action>> = {
  run: {
    description:
      "Runs AI agents the way a test runner runs tests: declared in a file, checked, retried, bounded, reported.",
    inputs: Object.keys(runInputs),
    outputs: [...outputsOfRun, ...outputsOfJournal, "deliveries", "cost"],
  },
  plan: {
    description: "Splits a job into the shards of a matrix.",
    inputs: ["shards", "entry", "job", ...inputsOfParts],
    outputs: [
      "result",
      "reason",
      "matrix",
      "journal-pattern",
      "output-dir",
      "journal",
      "journal-artifact",
      "cost",
    ],
  },
  merge: {
    description: "Combines the shards of a job into one run. It writes nothing on GitHub.",
    inputs: ["journals", "onMissing", "entry", ...inputsOfParts],
    outputs: [...outputsOfRun, ...outputsOfJournal, "cost"],
  },
  deliver: {
    description:
      "Starts no agent: writes on GitHub what the journal of an earlier job contains, as far as `outputs` of the entry of the base allows.",
    inputs: [
      "journal",
      "journalDigest",
      "entry",
      "job",
      "staged",
      "githubToken",
      "deliveryToken",
      "entryToken",
      "summary",
      "failOn",
    ],
    outputs: ["result", "reason", "deliveries"],
    meanings: {
      job: "The job whose journal it is. May be omitted if the entry has only one.",
      githubToken: "Reads the entry and the pull request, and writes on GitHub.",
    },
  },
  rehearse: {
    description:
      "Runs rehearsals, whose scripts play the model: no token, no network, no cost. The step fails if a rehearsal fails.",
    inputs: ["files", "workingDirectory", "env", "sandbox", "outputDir", "summary", "failOn"],
    outputs: outputsOfRun,
    meanings: {
      workingDirectory:
        "The folder in which a rehearsal works, unless it names one. Default: the workspace.",
    },
  },
};

/** `model` for `models`: an input has one value, or a line for each. */
export function inputName(field: string, { name = field }: Pick<Option, "name"> = {}): string {
  return kebab(name);
}
