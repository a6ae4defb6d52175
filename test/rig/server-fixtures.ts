/** Tasks with a fixed fate, and the rules that play them: the vocabulary of the tests of the server's routes. */
import type { Answer } from "./answer.ts";

export const model = "gpt-5-mini";
export const models = { driving: model };
const driving = { category: "driving" };

/** Fails unless the model calls the tool. */
const mustReport = {
  model: driving,
  prompt: "Report.",
  criteria: { toolExecuted: ["job_prepare_document"], failureAction: { retryTimes: 0 } },
};

export const call = (name: string, argument: string): Answer => ({
  name,
  arguments: { argument },
});
/** A turn in which the model calls tools. */
export const calls = (...tools: readonly Answer[]): Answer => ({ replies: [{ tools }, "Done."] });
export const reports = calls(call("job_prepare_document", "a report"));

export const tasks = {
  ok: { model: driving, prompt: "Do it." },
  fails: mustReport,
  crashes: { model: driving, prompt: "Crash." },
  hangs: { model: driving, prompt: "Hang." },
  /** Succeeds in its first iteration only. */
  first: mustReport,
};

export const sessions: readonly Answer[] = [
  { task: "ok", turns: ["Done."] },
  { task: "fails", turns: ["I did nothing."] },
  { task: "crashes", turns: [{ error: { status: 400, message: "a bad request" } }] },
  { task: "hangs", turns: [{ text: "I begin", hang: true }] },
  { task: "first", iteration: 1, turns: [reports] },
  { task: "first", turns: ["I did nothing."] },
];

export const ref = (taskId: string): Answer => ({ kind: "Ref", taskId });
export const seq = (...works: readonly Answer[]): Answer => ({ kind: "Seq", works });
export const par = (...works: readonly Answer[]): Answer => ({ kind: "Par", works });
export const alt = (condition: Answer, trueWork: Answer, falseWork?: Answer): Answer =>
  JSON.parse(JSON.stringify({ kind: "Alt", condition, trueWork, falseWork }));
/** Its fields are in reading order. */
export const loop = (
  body: Answer,
  conditions: { readonly preCondition?: unknown; readonly postCondition?: unknown },
): Answer => {
  const { preCondition, postCondition } = conditions;
  return JSON.parse(JSON.stringify({ kind: "Loop", preCondition, body, postCondition }));
};

/** An entry with these jobs, of the tasks above. */
export const entryOf = (works: Readonly<Record<string, Answer>>): Answer => ({
  models,
  tasks,
  jobs: Object.fromEntries(Object.entries(works).map(([name, work]) => [name, { work }])),
});

/**
 * What the feed of a job must be, from a short form: `0 started`, `0 succeeded`, `0 failed`, `jobFailed`. The ids
 * of tasks are those of the feed itself.
 */
export function jobFeed(lines: readonly string[], actual: readonly Answer[]): readonly Answer[] {
  const taskIds = actual.filter((one) => "taskId" in one).map((one) => one["taskId"]);
  return lines.map((line) => {
    const [, work, what] = /^(\d+) (started|succeeded|failed)$/.exec(line) ?? [];
    if (work === undefined) return { callback: line };
    const workId = Number(work);
    return what === "started"
      ? { callback: "workStarted", workId, taskId: taskIds.shift() }
      : { callback: "workStopped", workId, succeeded: what === "succeeded" };
  });
}
