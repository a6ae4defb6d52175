/** What an earlier run has done. A resumption that would have gone another way is refused, never guessed. */
import { isWhole, type UnderWay } from "../../engine/past.ts";
import type { EffectResult } from "../../events/flow.ts";
import { stepCharacters, type ShellState, type StepEnded } from "../../events/step.ts";
import { defined } from "../../text/guards.ts";
import { Machine, type MachineOptions } from "./machine.ts";
import type { Workflow } from "../model.ts";
import type { Effect, FlowEvent, Variables } from "./state.ts";

export interface Restored {
  readonly ended: readonly StepEnded[];
  readonly shell?: ShellState | undefined;
}

export type Restorable =
  | { readonly kind: "restored"; readonly restored: Restored }
  /** Nothing is left to do, or it can't be repeated. */
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

export interface EarlierFlow extends Pick<UnderWay, "steps" | "outcome" | "failed"> {
  readonly variables: Variables;
  readonly userInput: string;
}

export function restoreRun(
  workflow: Workflow,
  options: MachineOptions,
  earlier: EarlierFlow,
): Restorable {
  const { steps, outcome, failed } = earlier;
  const refused = (reason: string): Restorable => ({ kind: "refused", reason });
  const { difference, effect, isComplete } = replayed(workflow, options, earlier);
  if (difference !== undefined) return refused(difference);
  if (outcome !== undefined && failed === undefined && effect.kind === "done")
    return refused(`The run has ended: ${effect.status}. There is nothing to resume.`);
  const ended = steps.filter((event) => event.type === "step.ended");
  const shell = ended.findLast((event) => event.shell !== undefined)?.shell;
  const incomplete = ended.find((one) => stepCharacters(one) !== (one.characters ?? 0));
  if (incomplete === undefined || (isComplete && isWhole(JSON.stringify(shell ?? ""))))
    return { kind: "restored", restored: { ended, shell } };
  const { step, activity } = incomplete;
  return refused(
    `The journal does not hold all that came of step ${step} (${activity}): it contained a secret, or was too long. The rest of the run may need it.`,
  );
}

interface Replay {
  /** Whether the journal holds all that the rest of the run may use of it. */
  readonly isComplete: boolean;
  readonly effect: Effect;
  readonly difference: string | undefined;
}

function replayed(
  workflow: Workflow,
  options: MachineOptions,
  { variables, userInput, steps }: EarlierFlow,
): Replay {
  const machine = new Machine(workflow, options, variables, userInput);
  const recorded = new Recorded(steps.filter((event) => event.type === "step.ended"));
  const rest = [...steps];
  let difference: string | undefined;
  const compare = (now: FlowEvent): void => {
    if (now.type === "decision") return;
    const before = rest.shift();
    recorded.take(now);
    if (before === undefined || isSame(essence(before), essence(now))) return;
    difference ??= `Step ${before.step} (${before.activity}) would now be different.`;
  };
  let effect: Effect = { kind: "pass" };
  for (;;) {
    const result = difference === undefined ? recorded.result(effect) : undefined;
    if (result === undefined) break;
    const step = machine.step(result);
    ({ effect } = step);
    step.events.forEach(compare);
  }
  if (!recorded.isOver)
    difference ??= `Step ${rest[0]?.step} (${rest[0]?.activity}) would now be different.`;
  const isComplete = isWhole(JSON.stringify([machine.state, effect]));
  // A step had begun; what it asks for is compared, too.
  if (difference === undefined && effect.kind === "pass" && rest.length > 0)
    machine.step({ kind: "passed" }).events.forEach(compare);
  const why = "The workflow, a parameter, a limit or a variable of the environment has changed.";
  return { isComplete, effect, difference: difference && `${difference} ${why}` };
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
