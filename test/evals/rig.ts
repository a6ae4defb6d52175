/** An eval whose models are rehearsed: a task that says a word, and cases that expect one. */
import { stringify } from "yaml";

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
