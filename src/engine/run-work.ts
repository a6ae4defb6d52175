/**
 * The control flow of a job: the only switch over the kinds of work. Statements 15–17 of
 * docs/internals/engine.md. Owns nothing but the order of things; what a leaf does is `runLeaf`.
 */
import type { LeafWork, LoopWork, Work } from "../entry/model.ts";
import { leafName, leafWorks } from "../entry/work.ts";
import { clipWords, endOf } from "../events/cut.ts";
import { sentence } from "../events/decision-words.ts";
import { scopeName, type LimitScope } from "../events/exceeded-limit.ts";

/** The work that finished last along a path, with its place in the order of all finishes. */
export interface Finished {
  readonly taskId: string;
  readonly order: number;
  /** The RESULT of a workflow, or the last answer of a task. */
  readonly output: string;
}

export type WorkResult =
  | { readonly kind: "succeeded"; readonly last: Finished | undefined }
  /** Also the answer "no" of a condition. */
  | { readonly kind: "failed"; readonly last: Finished | undefined; readonly reason: string }
  | Unanswered
  | Skipped
  /** A cancel, a limit or a crash: the whole job is coming to its end. */
  | { readonly kind: "stopped" };

/**
 * A failure without a verdict of availability or criteria: a limit, a crash, an answer that was cut. It fails
 * like any other, but a condition that ends this way has not answered, nor has one that it is a part of.
 */
interface Unanswered {
  readonly kind: "unanswered";
  readonly last: Finished | undefined;
  readonly reason: string;
  /** A condition has ended so already, and the reason says it. */
  readonly inCondition: boolean;
}

/** Nothing ran, because of the change: neutral to a `Seq` and a `Par`, the answer "no" of a condition. */
interface Skipped {
  readonly kind: "skipped";
  readonly last: Finished | undefined;
  readonly reason: string;
}

type LoopScope = Extract<LimitScope, { kind: "loop" }>;

interface WorkRunner {
  readonly loopIterations: number;
  readonly runLeaf: (work: LeafWork<number>, last: Finished | undefined) => Promise<WorkResult>;
  /** Called when a loop was about to begin more than `loopIterations` iterations. */
  readonly loopLimitExceeded: (loop: LoopScope) => void;
  readonly note: (text: string) => void;
}

/** `last`: the task that finished before this work began. */
export async function runWork(
  runner: WorkRunner,
  work: Work<number>,
  last: Finished | undefined,
): Promise<WorkResult> {
  switch (work.kind) {
    case "Ref":
    case "Flow":
      return runner.runLeaf(work, last);
    case "Seq": {
      let latest = last;
      const skipped: Skipped[] = [];
      for (const child of work.works) {
        const result = await runWork(runner, child, latest);
        if (result.kind === "skipped") skipped.push(result);
        else if (result.kind !== "succeeded") return result;
        latest = result.last;
      }
      if (skipped.length === work.works.length) return skippedAs(skipped, latest);
      return { kind: "succeeded", last: latest };
    }
    case "Par":
      return joined(
        await Promise.all(work.works.map((child) => runWork(runner, child, last))),
        last,
      );
    case "Loop":
      return runLoop(runner, work, last);
    case "Alt": {
      const asked = await runWork(runner, work.condition, last);
      const condition = asCondition(asked);
      if (condition.kind === "stopped" || condition.kind === "unanswered") return condition;
      const chosen = condition.kind === "succeeded" ? work.trueWork : work.falseWork;
      const none: WorkResult = { kind: "succeeded", last: condition.last };
      const result = chosen === undefined ? none : await runWork(runner, chosen, condition.last);
      if (asked.kind === "skipped") return chosen === undefined ? asked : result;
      return result.kind === "skipped" ? none : result;
    }
  }
}

/**
 * A body that is skipped ends the loop: it would be skipped again. Without `postCondition` the body isn't repeated, and without `preCondition` the body runs. `atMost` sets the
 * maximum of iterations: an absent condition then starts the next one.
 */
async function runLoop(
  runner: WorkRunner,
  work: LoopWork<number>,
  last: Finished | undefined,
): Promise<WorkResult> {
  const { body, postCondition, atMost } = work;
  let latest = last;
  /** Why nothing has run so far; undefined once something has. */
  let skipped: Skipped | undefined = { kind: "skipped", last, reason: "" };
  const see = (result: WorkResult): void => {
    skipped = skipped && result.kind === "skipped" ? result : undefined;
  };
  const end = (): WorkResult => skipped ?? { kind: "succeeded", last: latest };
  /** What the condition that was asked last has answered, as the continuation of a reason. */
  let goOn = "";
  /** The end of the loop, or undefined if the condition asks it to go on. */
  const ask = async (field: "preCondition" | "postCondition"): Promise<WorkResult | undefined> => {
    const condition = work[field];
    if (condition === undefined) return undefined;
    const asked = await runWork(runner, condition[1], latest);
    see(asked);
    const answer = asCondition(asked);
    if (answer.kind === "stopped" || answer.kind === "unanswered") return answer;
    latest = answer.last;
    const goesOn = (answer.kind === "succeeded") === condition[0];
    if (!goesOn) return end();
    goOn = `. ${answerText(field, answer)}`;
    return undefined;
  };
  for (let iteration = 1; ; iteration += 1) {
    const before = await ask("preCondition");
    if (before !== undefined) return before;
    if (atMost !== undefined && iteration > atMost)
      return afterAtMost(runner, work, atMost, goOn, latest);
    if (iteration > runner.loopIterations) {
      const loop = loopScope(work);
      runner.loopLimitExceeded(loop);
      const reason = `${scopeName(loop)} exceeded limits.loopIterations (${runner.loopIterations})${goOn}`;
      return { kind: "unanswered", last: latest, reason, inCondition: false };
    }
    const result = await runWork(runner, body, latest);
    see(result);
    if (result.kind === "skipped") return end();
    if (result.kind !== "succeeded") return result;
    latest = result.last;
    if (postCondition === undefined && atMost === undefined) return result;
    const after = await ask("postCondition");
    if (after !== undefined) return after;
  }
}

/** All iterations are done, and every condition that is given has asked for another one. */
function afterAtMost(
  runner: WorkRunner,
  work: LoopWork<number>,
  atMost: number,
  goOn: string,
  last: Finished | undefined,
): WorkResult {
  const { preCondition, postCondition, atMostReached = "fail" } = work;
  if (preCondition === undefined && postCondition === undefined) return { kind: "succeeded", last };
  const reason = `${scopeName(loopScope(work))} would need more than ${atMost} iteration${atMost === 1 ? "" : "s"} (atMost)${goOn}`;
  runner.note(reason);
  return atMostReached === "succeed"
    ? { kind: "succeeded", last }
    : { kind: "failed", last, reason };
}

/** The answer of a condition that didn't let its loop end. */
function answerText(
  field: "preCondition" | "postCondition",
  answer: Extract<WorkResult, { kind: "succeeded" | "failed" }>,
): string {
  const { last } = answer;
  const text =
    answer.kind === "failed"
      ? `Its ${field} still fails: ${clipWords(answer.reason, REASON_CHARACTERS)}`
      : `Its ${field} still succeeds: ${JSON.stringify(last?.taskId ?? "")}`;
  return withOutput(text, last?.output ?? "");
}

const REASON_CHARACTERS = 500;
const OUTPUT_CHARACTERS = 300;
const OUTPUT_LINES = 3;

/** A reason with the last lines of an output, which usually say what failed, unless it contains them already. */
export function withOutput(reason: string, output: string): string {
  const lines = endOf(output.trimEnd(), OUTPUT_CHARACTERS)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .slice(-OUTPUT_LINES);
  const end = lines.join("\n");
  if (end === "" || lines.every((line) => reason.includes(line))) return reason;
  return `${sentence(reason)} The end of its output: ${end}`;
}

function loopScope({ body }: LoopWork<number>): LoopScope {
  return { kind: "loop", tasks: [...new Set(leafWorks(body).map(leafName))] };
}

/** How a composite takes the end of its condition. */
function asCondition(result: WorkResult): Exclude<WorkResult, Skipped> {
  if (result.kind === "skipped") return { ...result, kind: "failed" };
  return result.kind !== "unanswered" || result.inCondition
    ? result
    : { ...result, inCondition: true, reason: `a condition did not answer: ${result.reason}` };
}

/** `Par` has waited for all: it failed if any did; the last task is the one that finished last. */
function joined(results: readonly WorkResult[], before: Finished | undefined): WorkResult {
  const ended: Exclude<WorkResult, { kind: "stopped" }>[] = [];
  for (const result of results) {
    if (result.kind === "stopped") return result;
    ended.push(result);
  }
  let last = before;
  for (const result of ended) {
    if (result.last !== undefined && result.last.order > (last?.order ?? -1)) last = result.last;
  }
  const skipped = ended.filter((result) => result.kind === "skipped");
  if (skipped.length === ended.length && ended.length > 0) return skippedAs(skipped, last);
  const failed = ended.filter((result) => result.kind === "failed" || result.kind === "unanswered");
  if (failed.length === 0) return { kind: "succeeded", last };
  const reason = [...new Set(failed.map((result) => result.reason))].join("; ");
  const unanswered = failed.filter((result) => result.kind === "unanswered");
  if (unanswered.length === 0) return { kind: "failed", last, reason };
  const inCondition = unanswered.every((result) => result.inCondition);
  return { kind: "unanswered", last, reason, inCondition };
}

/** What all parts are. */
function skippedAs(parts: readonly Skipped[], last: Finished | undefined): WorkResult {
  return {
    kind: "skipped",
    last,
    reason: [...new Set(parts.map(({ reason }) => reason))].join("; "),
  };
}
