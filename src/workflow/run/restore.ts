/**
 * What an earlier run of a workflow has done, from its steps: a run that is resumed takes it over instead of doing it.
 *
 * The interpreter is run over the recorded results, and everything that it then says about its steps is compared with
 * what is recorded. A run that would have gone another way is refused, never guessed.
 */
import { defined } from "../../document/guards.ts";
import type { WorkRef } from "../../events/event.ts";
import {
  stepCharacters,
  type EffectResult,
  type ShellState,
  type StepEnded,
  type StepStarted,
} from "../../events/step.ts";
import { MASK } from "../../redaction/text-stream.ts";
import { kindOf } from "../kinds/kinds.ts";
import { Machine, type MachineOptions } from "./machine.ts";
import type { Workflow } from "../model.ts";
import type { Effect, Trace } from "./state.ts";
import { StepLog } from "./step-log.ts";

export interface Restored {
  readonly ended: readonly StepEnded[];
  readonly shell?: ShellState;
}

export type Restorable =
  | { readonly kind: "restored"; readonly restored: Restored }
  /** Commands were running or have failed: whether they may run again is not ours to decide. */
  | {
      readonly kind: "interrupted";
      readonly activity: string;
      /** Absent: they were running. */
      readonly failed?: string;
      readonly restored: Restored;
    }
  /** The run has nothing left to do, or it can't be repeated. */
  | { readonly kind: "refused"; readonly reason: string };

/** Hands out what is known, until nothing is. */
export class Restoring {
  readonly #ended: readonly StepEnded[];
  #next = 0;
  #taken = 0;

  constructor({ ended }: Restored) {
    this.#ended = ended;
  }

  get isOver(): boolean {
    return this.#next >= this.#ended.length;
  }

  /** What came of an effect; undefined if it is still to be done. */
  result({ kind }: Effect): EffectResult | undefined {
    const step = this.#ended[this.#next];
    if (kind === "done" || step === undefined) return undefined;
    if (kind === "pass") return { kind: "passed" };
    const result = step.effects?.[this.#taken];
    const answer = kind === "read" ? kind : kindOf(kind).answer;
    if (result === undefined || (result.kind !== answer && result.kind !== "failed"))
      return undefined;
    this.#taken += 1;
    return result;
  }

  ended(): StepEnded | undefined {
    const step = this.#ended[this.#next];
    this.#next += 1;
    this.#taken = 0;
    return step;
  }
}

type StepEvent = StepStarted | StepEnded;

export interface EarlierRun {
  readonly variables: Readonly<Record<string, string>>;
  readonly userInput: string;
  readonly events: readonly StepEvent[];
  /** Whether the end of the work is recorded. */
  readonly hasEnded: boolean;
  /** How many steps it had to take over itself, from a run before it. */
  readonly restoredSteps?: number | undefined;
}

export function restoreRun(
  workflow: Workflow,
  options: MachineOptions,
  earlier: EarlierRun,
): Restorable {
  const { events, restoredSteps = 0 } = earlier;
  if (endedOf(events).length < restoredSteps) {
    const reason = `It ends before that run had taken over all ${restoredSteps} steps of the run that it resumed. Resume the journal of that one.`;
    return { kind: "refused", reason };
  }
  const known = events.slice(0, unhandledFailure(events));
  const replay = (steps: readonly StepEvent[]): Replay =>
    replayed(workflow, options, { ...earlier, events: steps });
  const before = replay(known);
  if (before.difference !== undefined) return { kind: "refused", reason: before.difference };
  const { effect } = before;
  if (effect.kind === "done" && earlier.hasEnded) return endOf(effect);

  const failure = events[known.length];
  if (failure !== undefined && earlier.hasEnded) {
    // If it does not end in the same way any more, for a limit is higher now, it goes on.
    const { difference, effect: end, last, exceeded } = replay(events);
    if (difference === undefined && end.kind === "done" && last?.kind !== "failed") {
      if (!exceeded) return endOf(end);
      return { kind: "refused", reason: `${end.failure?.reason} Raise the limit to go on.` };
    }
  }
  const ended = endedOf(known);
  const missing = missingText(before, ended);
  if (missing !== undefined) return { kind: "refused", reason: missing };
  const shell = ended.findLast((event) => event.shell !== undefined)?.shell;
  const restored = shell === undefined ? { ended } : { ended, shell };
  const open = known.at(-1);
  const begins = open?.type === "step.started" && open.input?.kind === "execute";
  // Commands that were not allowed have not begun.
  const hasBegun =
    failure?.type !== "step.ended" ||
    failure.effects?.some((one) => one.kind === "failed" && one.runs !== undefined) === true;
  if (!begins || !hasBegun) return { kind: "restored", restored };
  const failed = failure?.type === "step.ended" ? (failure.reason ?? "") : undefined;
  return { kind: "interrupted", activity: open.activity, restored, ...defined({ failed }) };
}

function endOf({ status }: Extract<Effect, { kind: "done" }>): Restorable {
  return {
    kind: "refused",
    reason: `The run has ended: ${status}. There is nothing to resume.`,
  };
}

function endedOf(events: readonly StepEvent[]): readonly StepEnded[] {
  return events.filter((event) => event.type === "step.ended");
}

/**
 * Where the end of a failed run begins: the step that has failed, and the CALLs that have failed with it. A failure
 * that was handled, by an edge or by ON_FAILED, is not one of them.
 */
function unhandledFailure(events: readonly StepEvent[]): number {
  let first = events.length;
  for (;;) {
    const event = events[first - 1];
    if (event?.type !== "step.ended" || event.succeeded || event.to !== undefined) return first;
    const after = events[first];
    // A CALL began before the steps that it contains.
    if (after !== undefined && after.step >= event.step) return first;
    first -= 1;
  }
}

interface Replay {
  /** Whether the journal holds all that the rest of the run may use of it. */
  readonly isComplete: boolean;
  readonly effect: Effect;
  readonly last: EffectResult | undefined;
  /** The last step of the interpreter has exceeded a limit. */
  readonly exceeded: boolean;
  readonly difference: string | undefined;
}

const anyWork: WorkRef = { workId: 0, taskId: "", iteration: 1 };

function replayed(
  workflow: Workflow,
  options: MachineOptions,
  { variables, userInput, events }: Pick<EarlierRun, "variables" | "userInput" | "events">,
): Replay {
  const machine = new Machine(workflow, options, variables, userInput);
  const restoring = new Restoring({ ended: endedOf(events) });
  let effect: Effect = { kind: "pass" };
  let last: EffectResult | undefined;
  let trace: readonly Trace[] = [];
  let compared = 0;
  let difference: string | undefined;
  const log = new StepLog(anyWork, machine.state, (now) => {
    const before = events[compared];
    compared += 1;
    if (before !== undefined) difference ??= differenceOf(before, now);
  });
  for (;;) {
    log.asks(effect);
    const result = difference === undefined ? restoring.result(effect) : undefined;
    if (result === undefined) break;
    last = result;
    log.received(result);
    ({ effect, trace } = machine.step(result));
    log.observe(trace, { restoring });
  }
  const exceeded = trace.some(({ kind }) => kind === "limit");
  if (difference === undefined && !restoring.isOver) {
    const { step = 0, activity = "" } = restoring.ended() ?? {};
    difference = otherwise(`Step ${step} (${activity}) would not end as it did.`);
  }
  const isComplete = isWhole(JSON.stringify([machine.state, effect]));
  if (difference === undefined && effect.kind === "pass" && compared < events.length) {
    // A step had begun; what it asks for is compared, too.
    const begun = machine.step({ kind: "passed" });
    log.observe(begun.trace, {});
    log.asks(begun.effect);
  }
  return { isComplete, effect, last, exceeded, difference };
}

function differenceOf(before: StepEvent, now: StepEvent): string | undefined {
  const { step, activity } = before;
  const was = `Step ${step} was ${activity}`;
  if (before.type !== now.type || step !== now.step || before.file !== now.file)
    return otherwise(`${was}, and would now be step ${now.step}, ${now.activity}.`);
  if (activity !== now.activity) return otherwise(`${was}, and would now be ${now.activity}.`);
  if (before.type === "step.started") {
    const isKept = now.type === "step.started" && isSame(before.input, now.input);
    return isKept
      ? undefined
      : otherwise(`Step ${step} (${activity}) would now ask for something else.`);
  }
  if (now.type !== "step.ended") return undefined;
  if (before.to !== now.to || before.succeeded !== now.succeeded) {
    const [then, to] = [before.to ?? "the end", now.to ?? "the end"];
    return otherwise(`${was} → ${then}, and would now be ${activity} → ${to}.`);
  }
  return isSame(before.result, now.result) && isSame(before.variables, now.variables)
    ? undefined
    : otherwise(`Step ${step} (${activity}) would now set RESULT or variables to other values.`);
}

function otherwise(difference: string): string {
  return `${difference} The workflow, a parameter, a limit or a variable of the environment has changed.`;
}

/** As far as the journal holds it. */
function isSame(before: unknown, now: unknown): boolean {
  if (before === now) return true;
  if (typeof before === "string") return typeof now === "string" && !isWhole(before);
  if (typeof before !== "object" || typeof now !== "object" || before === null || now === null)
    return false;
  const [fields, others] = [Object.entries(before), Object.entries(now)];
  return (
    fields.length === others.length &&
    fields.every(([name, value], index) => {
      const [otherName, other] = others[index] ?? [];
      return name === otherName && isSame(value, other);
    })
  );
}

/** Whether the journal may hold a text as it was: without a secret, and not cut. */
export function isWhole(text: string): boolean {
  return !text.includes(MASK) && !/… \(\d+ characters omitted\)/.test(text);
}

/** A text that the journal doesn't hold as it was, and that the rest of the run may use. */
function missingText({ isComplete }: Replay, ended: readonly StepEnded[]): string | undefined {
  const incomplete = ended.find((one) => stepCharacters(one) !== (one.characters ?? 0));
  if (incomplete === undefined) return undefined;
  const shell = ended.findLast((one) => one.shell !== undefined)?.shell;
  if (isComplete && isWhole(JSON.stringify(shell ?? ""))) return undefined;
  const { step, activity } = incomplete;
  return `The journal does not hold all that came of step ${step} (${activity}): it contained a secret, or was too long. The rest of the run may need it.`;
}
