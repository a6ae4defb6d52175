/** The only place that executes works (statements 15–17 of docs/internals/engine.md). */
import { plural } from "../text/numbers.ts";
import type { EachWork, LeafWork, LoopWork, ParallelWork, Work } from "../entry/model.ts";
import { isLeaf, leafName, leafWorks } from "../entry/work.ts";
import { truncateUnredacted, withOutput } from "../text/truncate.ts";
import { scopeName, type LimitScope } from "../events/exceeded-limit.ts";
import type { Item, Place } from "./place.ts";
import type { Transition } from "./ports.ts";
import { stopText } from "./scope.ts";

export interface Finished {
  readonly taskId: string | undefined;
  readonly order: number;
  /** The RESULT of a workflow, the last answer of a task, or the end of what a command after it printed. */
  readonly output: string;
}

export type WorkResult =
  | { readonly kind: "succeeded"; readonly last: Finished | undefined }
  | Failed
  | Skipped
  | { readonly kind: "stopped" };

/** `unanswered`: without a verdict (a limit, a crash, a cut answer). A condition that ends so has not answered. */
interface Failed {
  readonly kind: "failed" | "unanswered";
  readonly last: Finished | undefined;
  readonly reason: string;
}

/** Nothing ran, because of the change or of a missing shard: neutral to a `Seq` and a `Par`, the answer "no" of a condition. */
interface Skipped {
  readonly kind: "skipped";
  readonly last: Finished | undefined;
  readonly reason: string;
}

/** Of an `Each`. */
export type Items =
  | { readonly kind: "found"; readonly items: readonly Item[] }
  | { readonly kind: "unanswered" | "skipped"; readonly reason: string }
  | { readonly kind: "stopped" };

type LoopScope = Extract<LimitScope, { kind: "loop" }>;

export interface WorkRunner {
  readonly loopIterations: number;
  /** The number of members of a `Par` or a parallel `Each` that run at the same time. */
  readonly parallel: number;
  readonly runLeaf: (
    work: LeafWork<number>,
    last: Finished | undefined,
    place: Place,
  ) => Promise<WorkResult>;
  readonly itemsOf: (work: EachWork<Work<number>>, place: Place) => Promise<Items>;
  readonly loopLimitExceeded: (loop: LoopScope) => void;
  readonly leaveOut: (work: LeafWork<number>, place: Place, reason: string) => void;
  readonly note: (text: string) => void;
  readonly onTransition?: ((transition: Transition) => void) | undefined;
  readonly only?: { readonly of: Work<number>; readonly members: ReadonlySet<number> };
}

export async function runWork(
  runner: WorkRunner,
  work: Work<number>,
  last: Finished | undefined,
  place: Place,
): Promise<WorkResult> {
  if (isLeaf(work)) return runner.runLeaf(work, last, place);
  switch (work.kind) {
    case "Seq": {
      let latest = last;
      const skipped: Skipped[] = [];
      for (const child of work.works) {
        const result = await runWork(runner, child, latest, place);
        if (result.kind === "skipped") skipped.push(result);
        else if (result.kind !== "succeeded") return result;
        latest = result.last;
      }
      if (skipped.length === work.works.length) return skippedAs(skipped, latest);
      return { kind: "succeeded", last: latest };
    }
    case "Par":
      return runMembers(
        membersHere(runner, work, work.works),
        runner.parallel,
        last,
        (child, index) => runPart(runner, work, child, last, branchOf(place, index)),
      );
    case "Loop":
      return runLoop(runner, work, last, place);
    case "Each":
      return runEach(runner, work, last, place);
    case "Alt": {
      const asked = await runWork(runner, work.condition, last, place);
      const condition = asCondition(asked);
      if (condition.kind === "stopped" || condition.kind === "unanswered") return condition;
      const taken = condition.kind === "succeeded" ? "trueWork" : "falseWork";
      runner.onTransition?.({ work, taken });
      const chosen = work[taken];
      const none: WorkResult = { kind: "succeeded", last: condition.last };
      const result =
        chosen === undefined ? none : await runWork(runner, chosen, condition.last, place);
      if (asked.kind === "skipped") return chosen === undefined ? asked : result;
      return result.kind === "skipped" ? none : result;
    }
  }
}

function membersHere<Member>(
  { only }: WorkRunner,
  work: Work<number>,
  all: readonly Member[],
): readonly Member[] {
  return only?.of === work ? all.filter((_, index) => only.members.has(index)) : all;
}

/** Bounds the running members of a `Par` or `Each`: steps wait for slots anyway, so more would only take memory. */
async function runMembers<Member>(
  members: readonly Member[],
  atOnce: number,
  before: Finished | undefined,
  run: (member: Member, index: number) => Promise<WorkResult>,
  what?: "items",
): Promise<WorkResult> {
  const ends: Exclude<WorkResult, { kind: "stopped" }>[] = [];
  let [last, isStopped] = [before, false];
  const rest = members.entries();
  const runRest = async (): Promise<void> => {
    for (const [index, member] of rest) {
      const result = await run(member, index);
      isStopped ||= result.kind === "stopped";
      if (isStopped || result.kind === "stopped") return;
      if (result.last !== undefined && result.last.order > (last?.order ?? -1)) last = result.last;
      // The output of a step may be long, and only that of the last one counts.
      ends[index] = { ...result, last: undefined };
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, members.length) }, runRest));
  return isStopped ? { kind: "stopped" } : joined(ends, last, what);
}

/** One of several parts that don't depend on each other: with `onCrash: continue`, its crash is its own failure. */
async function runPart(
  runner: WorkRunner,
  { onCrash = "stop" }: ParallelWork<Work<number>> | EachWork<Work<number>>,
  part: Work<number>,
  last: Finished | undefined,
  place: Place,
): Promise<WorkResult> {
  if (onCrash === "stop") return runWork(runner, part, last, place);
  const scope = place.scope.child();
  const result = await runWork(runner, part, last, { ...place, scope });
  scope.dispose();
  const { stopped } = scope;
  if (result.kind !== "stopped" || stopped?.kind !== "task-crashed") return result;
  if (place.scope.stopped !== undefined) return result;
  return { kind: "unanswered", last, reason: stopText(stopped) };
}

/** Each item begins after what came before the `Each`. All run, whatever becomes of the others. */
async function runEach(
  runner: WorkRunner,
  work: EachWork<Work<number>>,
  last: Finished | undefined,
  place: Place,
): Promise<WorkResult> {
  const found = await runner.itemsOf(work, place);
  if (found.kind !== "found") return found.kind === "stopped" ? found : { ...found, last };
  const items = membersHere(runner, work, found.items);
  if (items.length > 0) runner.onTransition?.({ work, taken: "items" });
  const isParallel = work.parallel === true;
  const run = async (item: Item, index: number): Promise<WorkResult> => {
    const around = isParallel ? branchOf(place, index) : place;
    const at = { ...around, items: [...place.items, item] };
    const result = await runPart(runner, work, work.work, last, at);
    if (result.kind !== "failed" && result.kind !== "unanswered") return result;
    return { ...result, reason: `${JSON.stringify(item.text)}: ${result.reason}` };
  };
  return runMembers(items, isParallel ? runner.parallel : 1, last, run, "items");
}

function branchOf(place: Place, index: number): Place {
  return { ...place, branch: [...place.branch, index] };
}

/** `atMost`: an absent condition starts the next iteration. A skipped body ends the loop: it would be skipped again. */
async function runLoop(
  runner: WorkRunner,
  work: LoopWork<Work<number>>,
  last: Finished | undefined,
  place: Place,
): Promise<WorkResult> {
  const { body, postCondition, atMost } = work;
  let latest = last;
  let skipped: Skipped | undefined = { kind: "skipped", last, reason: "" };
  const see = (result: WorkResult): void => {
    skipped = skipped && result.kind === "skipped" ? result : undefined;
  };
  const end = (): WorkResult => skipped ?? { kind: "succeeded", last: latest };
  let lastAnswer = "";
  const ask = async (field: "preCondition" | "postCondition"): Promise<WorkResult | undefined> => {
    const condition = work[field];
    if (condition === undefined) return undefined;
    const asked = await runWork(runner, condition[1], latest, place);
    see(asked);
    const answer = asCondition(asked);
    if (answer.kind === "stopped" || answer.kind === "unanswered") return answer;
    const goesOn = (answer.kind === "succeeded") === condition[0];
    latest = answer.last;
    if (!goesOn) return end();
    lastAnswer = `. ${answerText(field, condition[1], answer)}`;
    return undefined;
  };
  for (let iteration = 1; ; iteration += 1) {
    const before = await ask("preCondition");
    if (iteration === 1 && (before?.kind === "succeeded" || before?.kind === "skipped"))
      runner.onTransition?.({ work, taken: "noPass" });
    if (before !== undefined) return before;
    if (atMost !== undefined && iteration > atMost)
      return afterAtMost(runner, work, atMost, lastAnswer, latest);
    if (iteration > runner.loopIterations) {
      const loop = loopScope(work);
      runner.loopLimitExceeded(loop);
      const reason = `${scopeName(loop)} exceeded limits.loopIterations (${runner.loopIterations})${lastAnswer}`;
      return { kind: "unanswered", last: latest, reason };
    }
    if (iteration === 2) runner.onTransition?.({ work, taken: "furtherPass" });
    const result = await runWork(runner, body, latest, place);
    see(result);
    if (result.kind === "skipped") return end();
    if (result.kind !== "succeeded") return result;
    latest = result.last;
    if (postCondition === undefined && atMost === undefined) return result;
    const after = await ask("postCondition");
    if (after !== undefined) return after;
  }
}

function afterAtMost(
  runner: WorkRunner,
  work: LoopWork<Work<number>>,
  atMost: number,
  lastAnswer: string,
  last: Finished | undefined,
): WorkResult {
  const { preCondition, postCondition, atMostReached = "fail" } = work;
  if (preCondition === undefined && postCondition === undefined) return { kind: "succeeded", last };
  runner.onTransition?.({ work, taken: "atMost" });
  const reason = `${scopeName(loopScope(work))} would need more than ${plural(atMost, "iteration")} (atMost)${lastAnswer}`;
  runner.note(reason);
  return atMostReached === "succeed"
    ? { kind: "succeeded", last }
    : { kind: "failed", last, reason };
}

function answerText(
  field: "preCondition" | "postCondition",
  condition: Work<number>,
  answer: Exclude<WorkResult, Skipped | { kind: "stopped" }>,
): string {
  const { last } = answer;
  const name = isLeaf(condition) ? leafName(condition) : (last?.taskId ?? "");
  const text =
    answer.kind === "failed"
      ? `Its ${field} still fails: ${truncateUnredacted(answer.reason, REASON_CHARACTERS, "…")}`
      : `Its ${field} still succeeds: ${JSON.stringify(name)}`;
  return withOutput(text, last?.output ?? "");
}

const REASON_CHARACTERS = 500;

function loopScope({ body }: LoopWork<Work<number>>): LoopScope {
  return { kind: "loop", tasks: [...new Set(leafWorks(body).map(leafName))] };
}

const NO_ANSWER = "a condition did not answer: ";

function asCondition(result: WorkResult): Exclude<WorkResult, Skipped> {
  if (result.kind === "skipped") return { ...result, kind: "failed" };
  return result.kind !== "unanswered" || result.reason.startsWith(NO_ANSWER)
    ? result
    : { ...result, reason: `${NO_ANSWER}${result.reason}` };
}

function joined(
  ended: readonly Exclude<WorkResult, { kind: "stopped" }>[],
  last: Finished | undefined,
  what: "items" | undefined,
): WorkResult {
  const skipped = ended.filter((result) => result.kind === "skipped");
  if (skipped.length === ended.length && ended.length > 0) return skippedAs(skipped, last);
  const failed = ended.filter((result) => result.kind !== "succeeded" && result.kind !== "skipped");
  if (failed.length === 0) return { kind: "succeeded", last };
  const of = what === undefined ? "" : `${failed.length} of ${ended.length} ${what} failed: `;
  const shown = [...new Set(failed.map(({ reason }) => reason))];
  const rest = shown.length > SHOWN_REASONS ? `; and ${shown.length - SHOWN_REASONS} more` : "";
  const reason = `${of}${shown.slice(0, SHOWN_REASONS).join("; ")}${rest}`;
  const isAnswer = failed.every((result) => result.kind === "failed");
  return { kind: isAnswer ? "failed" : "unanswered", last, reason };
}

const SHOWN_REASONS = 10;

function skippedAs(parts: readonly Skipped[], last: Finished | undefined): WorkResult {
  return {
    kind: "skipped",
    last,
    reason: [...new Set(parts.map(({ reason }) => reason))].join("; "),
  };
}
