/** What an earlier run has done. A resumption that would have gone another way is refused, never guessed. */
import { defined } from "../../text/guards.ts";
import type { EffectResult } from "../../events/flow.ts";
import {
  stepCharacters,
  type ShellState,
  type StepEnded,
  type StepStarted,
} from "../../events/step.ts";
import { MASK } from "../../redaction/text-stream.ts";
import { Machine, type MachineOptions } from "./machine.ts";
import type { Workflow } from "../model.ts";
import type { Effect, FlowEvent } from "./state.ts";

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

/** The steps of an earlier run that have ended, for a machine that goes through them again. */
export class Recorded {
  readonly #ended: readonly StepEnded[];
  readonly #results: readonly EffectResult[];
  #next = 0;
  #taken = 0;

  constructor(ended: readonly StepEnded[] = []) {
    this.#ended = ended;
    this.#results = ended.flatMap(({ effects = [] }) => effects);
  }

  get isOver(): boolean {
    return this.#next >= this.#ended.length;
  }

  /** What came of an effect; undefined if it is still to be done. */
  result({ kind }: Effect): EffectResult | undefined {
    if (this.isOver || kind === "done") return undefined;
    if (kind === "pass") return { kind: "passed" };
    this.#taken += 1;
    return this.#results[this.#taken - 1];
  }

  /** The event as one of the earlier run; undefined if it is a new one. */
  take(event: Exclude<FlowEvent, { type: "decision" }>): typeof event | undefined {
    if (this.isOver) return undefined;
    if (event.type === "step.started") return { ...event, restored: true };
    const before = this.#ended[this.#next];
    this.#next += 1;
    const { shell, characters } = before ?? {};
    return { ...event, ...defined({ shell, characters }), restored: true };
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
  const { events, hasEnded, restoredSteps = 0 } = earlier;
  const refused = (reason: string): Restorable => ({ kind: "refused", reason });
  if (endedOf(events).length < restoredSteps) {
    return refused(
      `It ends before that run had taken over all ${restoredSteps} steps of the run that it resumed. Resume the journal of that one.`,
    );
  }
  const known = events.slice(0, unhandledFailure(events));
  const failure = events[known.length];
  const before = replayed(workflow, options, { ...earlier, events: known });
  if (before.difference !== undefined) return refused(before.difference);
  if (hasEnded) {
    const { effect, exceeded, difference } =
      failure === undefined ? before : replayed(workflow, options, earlier);
    if (difference === undefined && effect.kind === "done") {
      if (exceeded) return refused(`${effect.failure?.reason} Raise the limit to go on.`);
      // The workflow itself has decided. What a crash, a limit or a missing answer ends can go on.
      if (failure === undefined || effect.failure?.unanswered !== true)
        return refused(`The run has ended: ${effect.status}. There is nothing to resume.`);
    }
  }
  const ended = endedOf(known);
  const shell = ended.findLast((event) => event.shell !== undefined)?.shell;
  const incomplete = ended.find((one) => stepCharacters(one) !== (one.characters ?? 0));
  if (incomplete !== undefined && !(before.isComplete && isWhole(JSON.stringify(shell ?? "")))) {
    const { step, activity } = incomplete;
    return refused(
      `The journal does not hold all that came of step ${step} (${activity}): it contained a secret, or was too long. The rest of the run may need it.`,
    );
  }
  const restored = { ended, ...defined({ shell }) };
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

function endedOf(events: readonly StepEvent[]): readonly StepEnded[] {
  return events.filter((event) => event.type === "step.ended");
}

/** The step that has failed, and the CALLs with it, but none whose failure was handled by an edge or by ON_FAILED. */
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
  /** The last step has exceeded a limit of the interpreter: it would again. */
  readonly exceeded: boolean;
  readonly difference: string | undefined;
}

function replayed(
  workflow: Workflow,
  options: MachineOptions,
  { variables, userInput, events }: Pick<EarlierRun, "variables" | "userInput" | "events">,
): Replay {
  const machine = new Machine(workflow, options, variables, userInput);
  const recorded = new Recorded(endedOf(events));
  const rest = [...events];
  let difference: string | undefined;
  const compare = (now: FlowEvent): void => {
    if (now.type === "decision") return;
    const before = rest.shift();
    recorded.take(now);
    if (before === undefined || isSame(essence(before), essence(now))) return;
    difference ??= `Step ${before.step} (${before.activity}) would now be different.`;
  };
  let effect: Effect = { kind: "pass" };
  let exceeded = false;
  for (;;) {
    const result = difference === undefined ? recorded.result(effect) : undefined;
    if (result === undefined) break;
    const step = machine.step(result);
    ({ effect } = step);
    exceeded =
      result.kind !== "failed" &&
      step.events.some(
        (event) => event.type === "decision" && event.decision.kind === "limit-exceeded",
      );
    step.events.forEach(compare);
  }
  if (!recorded.isOver)
    difference ??= `Step ${rest[0]?.step} (${rest[0]?.activity}) would now be different.`;
  const isComplete = isWhole(JSON.stringify([machine.state, effect]));
  // A step had begun; what it asks for is compared, too.
  if (difference === undefined && effect.kind === "pass" && rest.length > 0)
    machine.step({ kind: "passed" }).events.forEach(compare);
  const why = "The workflow, a parameter, a limit or a variable of the environment has changed.";
  return { isComplete, effect, exceeded, difference: difference && `${difference} ${why}` };
}

/** What must be the same in a run that goes the same way. */
function essence(event: Exclude<FlowEvent, { type: "decision" }>): unknown {
  const { type, step, file, activity } = event;
  if (event.type === "step.started") return { type, step, file, activity, input: event.input };
  const { succeeded, to, result, variables } = event;
  return { type, step, file, activity, succeeded, to, result, variables };
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
