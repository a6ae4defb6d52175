/** Restores the state of an earlier run. A resumption that would take another path is refused. */
import { isWhole, type UnderWay } from "../../engine/past.ts";
import type { EffectResult } from "../../events/flow.ts";
import { stepCharacters, type ShellState } from "../../events/event.ts";
import { defined } from "../../text/guards.ts";
import type { Workflow } from "../model.ts";
import { Machine } from "./machine.ts";
import type { MachineOptions } from "../kinds/kind.ts";
import type { Effect, FlowEvent, Step, Variables } from "./state.ts";

/** A machine at the beginning, or after the steps of an earlier run: they are its first events. */
export interface Begun extends Step {
  readonly machine: Machine;
  readonly shell?: ShellState | undefined;
  /** The earlier answers, by ASK. */
  readonly answered?: ReadonlyMap<string, readonly string[]>;
}

export type Restored =
  | ({ readonly kind: "restored" } & Begun)
  /** Nothing is left to do, or it can't be repeated. */
  | { readonly kind: "refused"; readonly reason: string };

export interface FlowStart {
  readonly variables: Variables;
  readonly userInput: string;
}

export function beginRun(
  workflow: Workflow,
  options: MachineOptions,
  { variables, userInput }: FlowStart,
): Begun {
  const machine = new Machine(workflow, options, variables, userInput);
  return { machine, events: [], effect: { kind: "pass" } };
}

/** Goes through the recorded steps again, and compares each with what it would be now. */
export function restoreRun(
  workflow: Workflow,
  options: MachineOptions,
  start: FlowStart,
  { steps, outcome, failed }: Pick<UnderWay, "steps" | "outcome" | "failed">,
): Restored {
  const refused = (reason: string): Restored => ({ kind: "refused", reason });
  const { machine, ...first } = beginRun(workflow, options, start);
  const ended = steps.filter((event) => event.type === "step.ended");
  const results = ended.flatMap(({ effects = [] }) => effects);
  const rest = [...steps];
  const events: FlowEvent[] = [];
  let left = ended.length;
  let isDifferent = false;
  const take = (now: FlowEvent): void => {
    if (now.type === "decision") return;
    const before = rest[0];
    if (before !== undefined && !isSame(essence(before), essence(now))) isDifferent = true;
    else rest.shift();
    if (left === 0) events.push(now);
    else if (now.type === "step.started") events.push({ ...now, restored: true });
    else {
      const { shell, characters } = ended[ended.length - left] ?? {};
      events.push({ ...now, ...defined({ shell, characters }), restored: true });
      left -= 1;
    }
  };
  const resultOf = ({ kind }: Effect): EffectResult | undefined => {
    if (kind === "pass") return { kind: "passed" };
    return kind === "done" ? undefined : results.shift();
  };
  const answered = new Map<string, string[]>();
  let at: Step = first;
  const advance = (result: EffectResult): void => {
    at = machine.step(result);
    at.events.forEach(take);
  };
  for (;;) {
    const { effect: asked } = at;
    const result = left === 0 || isDifferent ? undefined : resultOf(asked);
    if (result === undefined) break;
    if (asked.kind === "ask" && result.kind === "answered")
      answered.set(asked.activity, [...(answered.get(asked.activity) ?? []), result.text]);
    advance(result);
  }
  const isComplete = isWhole(JSON.stringify([machine.state, at.effect]));
  // A step had begun; what it asks for is compared, too.
  if (left === 0 && !isDifferent && at.effect.kind === "pass" && rest.length > 0)
    advance({ kind: "passed" });
  const { effect } = at;
  const [next] = rest;
  if (isDifferent || left > 0)
    return refused(
      `Step ${next?.step} (${next?.activity}) would now be different. The workflow, a parameter, a limit or a variable of the environment has changed.`,
    );
  const shell = ended.findLast((event) => event.shell !== undefined)?.shell;
  if (outcome !== undefined && failed === undefined && effect.kind === "done")
    return effect.status === "FAILED"
      ? refused("The run has ended: FAILED. There is nothing to resume.")
      : { kind: "restored", machine, events, effect, shell, answered };
  const incomplete = ended.find((one) => stepCharacters(one) !== (one.characters ?? 0));
  if (incomplete === undefined || (isComplete && isWhole(JSON.stringify(shell ?? ""))))
    return { kind: "restored", machine, events, effect, shell, answered };
  const { step, activity } = incomplete;
  return refused(
    `The journal does not hold all that came of step ${step} (${activity}): it contained a secret, or was too long. The rest of the run may need it.`,
  );
}

/** The parts of an event that are equal in two runs that take the same path. */
function essence(event: Exclude<FlowEvent, { type: "decision" }>): unknown {
  const { type, step, file, activity } = event;
  if (event.type === "step.started") return { type, step, file, activity, input: event.input };
  const { succeeded, to, result, variables } = event;
  return { type, step, file, activity, succeeded, to, result, variables };
}

/** Compares texts only if the journal holds the whole text. */
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
