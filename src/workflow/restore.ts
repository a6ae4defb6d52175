/** What an earlier run of a workflow has done, from its steps: a run that is resumed takes it over instead of doing it. */
import type { EffectResult, ShellState, StepEnded, StepStarted } from "../events/step.ts";
import { workflowMachine, type MachineOptions } from "./machine.ts";
import type { Workflow } from "./model.ts";
import type { Effect, Trace } from "./state.ts";

export interface Restored {
  /** What came from outside, in order. */
  readonly results: readonly EffectResult[];
  /** How many steps had ended. */
  readonly steps: number;
  readonly shell?: ShellState;
}

export type Restorable =
  | { readonly kind: "restored"; readonly restored: Restored }
  /** An EXECUTE was under way: whether it may run again is not ours to decide. */
  | { readonly kind: "interrupted"; readonly activity: string; readonly restored: Restored }
  /** The run has nothing left to do, or it can't be repeated. */
  | { readonly kind: "refused"; readonly reason: string };

/** Hands out what is known, until nothing is. */
export class Restoring {
  readonly #results: readonly EffectResult[];
  #taken = 0;
  #steps: number;

  constructor({ results, steps }: Restored) {
    this.#results = results;
    this.#steps = steps;
  }

  /** What came of an effect; undefined if it is still to be done. */
  next({ kind }: Effect): EffectResult | undefined {
    if (kind === "done") return undefined;
    if (kind === "pass") return this.#steps > 0 ? { kind: "passed" } : undefined;
    const result = this.#results[this.#taken];
    if (result !== undefined) this.#taken += 1;
    return result;
  }

  saw(trace: readonly Trace[]): void {
    this.#steps -= trace.filter(({ kind }) => kind === "ended").length;
  }
}

export interface EarlierRun {
  readonly variables: Readonly<Record<string, string>>;
  readonly userInput: string;
  /** All steps of the work, in order. */
  readonly events: readonly (StepStarted | StepEnded)[];
}

/** Runs the interpreter over what is known, and compares what it does with what was done. */
export function restoreRun(
  workflow: Workflow,
  options: MachineOptions,
  { variables, userInput, events }: EarlierRun,
): Restorable {
  const ended = withoutLastFailure(events.filter((event) => event.type === "step.ended"));
  const results = ended.flatMap(({ effects = [] }) => effects);
  const shell = ended.findLast((event) => event.shell !== undefined)?.shell;
  const known = { results, steps: ended.length };
  const restored = shell === undefined ? known : { ...known, shell };

  const machine = workflowMachine(workflow, options);
  const restoring = new Restoring(restored);
  let state = machine.start(variables, userInput);
  let effect: Effect = { kind: "pass" };
  let compared = 0;
  for (;;) {
    const result = restoring.next(effect);
    if (result === undefined) break;
    const step = machine.step(state, result);
    ({ state, effect } = step);
    restoring.saw(step.trace);
    for (const one of step.trace) {
      if (one.kind !== "ended") continue;
      const before = ended[compared];
      compared += 1;
      const isSame =
        before !== undefined &&
        before.file === one.file &&
        before.activity === one.activity &&
        before.to === one.to;
      if (!isSame) {
        const then =
          before === undefined ? "nothing" : `${before.activity} → ${before.to ?? "the end"}`;
        const reason = `Step ${compared} was ${then}, and would now be ${one.activity} → ${one.to ?? "the end"}. The workflow, or a variable of the environment, has changed.`;
        return { kind: "refused", reason };
      }
    }
  }
  if (effect.kind === "done") {
    return {
      kind: "refused",
      reason: `The run has ended: ${effect.status}. There is nothing to resume.`,
    };
  }
  const open = events.findLast((event) => event.type === "step.started");
  const wasStarted =
    open !== undefined && open.step > Math.max(0, ...ended.map(({ step }) => step));
  return wasStarted && effect.kind === "execute"
    ? { kind: "interrupted", activity: effect.activity, restored }
    : { kind: "restored", restored };
}

/** What failed for a limit, a crash or a missing answer, and ended the run, is done again. */
function withoutLastFailure(ended: readonly StepEnded[]): readonly StepEnded[] {
  const last = ended.findLastIndex(({ effects }) => effects !== undefined);
  const failed = ended[last];
  const isFailure = failed?.effects?.some(({ kind }) => kind === "failed") === true;
  // What follows it are the CALLs that failed with it.
  const isEnd = ended.slice(last).every(({ to }) => to === undefined);
  return isFailure && isEnd ? ended.slice(0, last) : ended;
}
