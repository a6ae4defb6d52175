/** An eval whose models are rehearsed: a task that says a word, and cases that expect one. */
import { stringify } from "yaml";
import type { Cell } from "../../src/evals/read-eval.ts";
import type { RunResult } from "../../src/evals/results.ts";
import { runCli, type CliResult } from "../rig/cli.ts";
import { makeWorkspace, type Owner, type Workspace } from "../rig/workspace.ts";

export const entry = stringify({
  models: { driving: "small", work: "small" },
  inputs: { tone: { description: "How it speaks.", default: "plain" } },
  permissions: "read-only",
  tasks: {
    say: {
      model: { category: "work" },
      requireUserInput: true,
      prompt: "Say $user-input in a $input-tone tone.",
      criteria: {
        toolExecuted: ["job_report"],
        failureAction: { retryTimes: 0 },
      },
    },
    judge: {
      model: { category: "driving" },
      prompt: "Is it right? $report-of-say",
      criteria: {
        toolExecuted: ["job_boolean_true"],
        failureAction: { retryTimes: 0 },
      },
    },
  },
  jobs: { talk: { work: { kind: "Ref", taskId: "say" } } },
});

/** The model hands in the word, and uses so many tokens. */
export const says = (word: string, tokens = 10): object => ({
  task: "say",
  turns: [
    {
      replies: [
        { tools: [{ name: "job_report", arguments: { markdown: word } }] },
        { text: "Done.", usage: { input: tokens, output: 0 } },
      ],
    },
  ],
});

export const judges = (yes: boolean): object => ({
  task: "judge",
  turns: [
    {
      replies: [
        { tools: [{ name: `job_boolean_${yes}`, arguments: { argument: "I have read it" } }] },
        { text: "Done." },
      ],
    },
  ],
});

/** Expects "yes", and gets these words in turn. */
export function saysInTurn(name: string, ...words: readonly string[]): object {
  return {
    name,
    userInput: "yes",
    expect: { reports: { say: "yes" } },
    rehearsals: words.map((word) => ({ sessions: [says(word)] })),
  };
}

export const evalFile = (fields: object): string => stringify({ entry: "entry.yml", ...fields });

export async function evaluated(
  t: Owner,
  fields: object,
  ...args: readonly string[]
): Promise<CliResult & { workspace: Workspace }> {
  const workspace = await makeWorkspace(t, { "entry.yml": entry, "a.eval.yml": evalFile(fields) });
  return { workspace, ...(await again(workspace, ...args)) };
}

export const again = (workspace: Workspace, ...args: readonly string[]): Promise<CliResult> =>
  runCli(["eval", "a.eval.yml", ...args], { cwd: workspace.path });

/** `name passed/runs note`, of the table. */
export function rows(stdout: string): string[] {
  const row = /^(\S.*?) {2,}(\d+) +(-|\d+ %) +\d+ %–\d+ % +\d+ +(?:[\d.]+|unknown) +[\d.]+ *(.*)$/;
  return stdout.split("\n").flatMap((line) => {
    const [, name, runs, rate, notes] = row.exec(line) ?? [];
    return name === undefined ? [] : [`${name} ${runs} ${rate} ${notes}`.trim()];
  });
}

/** For tests without a run. */
export const cellOf = (number: number, axis: number): Cell => ({
  key: `${number} | ${axis}`,
  caseName: String(number),
  variant: String(axis),
  model: "",
  fingerprint: "f",
  scripts: [],
  live: true,
  models: {},
  inputs: {},
  judge: undefined,
  minPassRate: undefined,
  line: number,
});

export const resultOf = (key: string, run: number, passed: boolean): RunResult => ({
  type: "run",
  key,
  fingerprint: "f",
  run,
  failures: passed ? [] : ["wrong"],
  tokens: 1,
  cost: 0,
  milliseconds: 1,
});
