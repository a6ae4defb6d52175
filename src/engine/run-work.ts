/**
 * The control flow of a job: the only switch over the five kinds of work. Source: "Running Jobs" of
 * the seed and rules 15–17. Owns nothing but the order of things; what a `Ref` does is `runRef`.
 */
import type { LoopWork, Work } from "../entry/model.ts";

/** The task that finished last along a path, with its place in the order of all finishes. */
export interface Finished {
  readonly taskId: string;
  readonly order: number;
}

export type WorkResult =
  | { readonly kind: "succeeded"; readonly last: Finished | undefined }
  /** Also the answer "no" of a condition. */
  | { readonly kind: "failed"; readonly last: Finished | undefined; readonly reason: string }
  | Unanswered
  /** A cancel, a limit or a crash: the whole job is coming to its end. */
  | { readonly kind: "stopped" };

/**
 * A failure that no verdict of availability or criteria has decided: a limit, a crash, an answer that was
 * cut. It fails like any other, but a condition that ends so has not answered, and so hasn't one that it
 * is a part of.
 */
export interface Unanswered {
  readonly kind: "unanswered";
  readonly last: Finished | undefined;
  readonly reason: string;
  /** A condition has ended so already, and the reason says it. */
  readonly inCondition: boolean;
}

export interface WorkRunner {
  readonly loopIterations: number;
  readonly runRef: (
    work: Extract<Work<number>, { kind: "Ref" }>,
    last: Finished | undefined,
  ) => Promise<WorkResult>;
  /** Tells that a loop was about to begin more than `loopIterations` iterations. */
  readonly loopLimitCrossed: (reason: string) => void;
}

/** `last`: the task that finished before this work began. */
export async function runWork(
  runner: WorkRunner,
  work: Work<number>,
  last: Finished | undefined,
): Promise<WorkResult> {
  switch (work.kind) {
    case "Ref":
      return runner.runRef(work, last);
    case "Seq": {
      let latest = last;
      for (const child of work.works) {
        const result = await runWork(runner, child, latest);
        if (result.kind !== "succeeded") return result;
        latest = result.last;
      }
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
      const condition = asCondition(await runWork(runner, work.condition, last));
      if (condition.kind === "stopped" || condition.kind === "unanswered") return condition;
      const chosen = condition.kind === "succeeded" ? work.trueWork : work.falseWork;
      return chosen === undefined
        ? { kind: "succeeded", last: condition.last }
        : runWork(runner, chosen, condition.last);
    }
  }
}

/** An absent condition always asks to go on: a loop with `preCondition` alone is a `while`. */
async function runLoop(
  runner: WorkRunner,
  { preCondition, body, postCondition }: LoopWork<number>,
  last: Finished | undefined,
): Promise<WorkResult> {
  let latest = last;
  for (let iteration = 1; ; iteration += 1) {
    for (const step of [preCondition, "body", postCondition] as const) {
      if (step === undefined) continue;
      if (step === "body" && iteration > runner.loopIterations) {
        const reason = `a loop did not end within ${runner.loopIterations} iterations`;
        runner.loopLimitCrossed(reason);
        return { kind: "unanswered", last: latest, reason, inCondition: false };
      }
      const run = await runWork(runner, step === "body" ? body : step[1], latest);
      const result = step === "body" ? run : asCondition(run);
      if (result.kind === "stopped" || result.kind === "unanswered") return result;
      if (step === "body" && result.kind === "failed") return result;
      latest = result.last;
      const goesOn = step === "body" || (result.kind === "succeeded") === step[0];
      if (!goesOn) return { kind: "succeeded", last: latest };
    }
  }
}

/** How a composite takes the end of its condition. */
function asCondition(result: WorkResult): WorkResult {
  return result.kind !== "unanswered" || result.inCondition
    ? result
    : { ...result, inCondition: true, reason: `a condition never answered: ${result.reason}` };
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
  const failed = ended.filter((result) => result.kind !== "succeeded");
  if (failed.length === 0) return { kind: "succeeded", last };
  const reason = [...new Set(failed.map((result) => result.reason))].join("; ");
  const unanswered = failed.filter((result) => result.kind === "unanswered");
  if (unanswered.length === 0) return { kind: "failed", last, reason };
  const inCondition = unanswered.every((result) => result.inCondition);
  return { kind: "unanswered", last, reason, inCondition };
}
