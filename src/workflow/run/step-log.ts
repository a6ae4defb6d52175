/** From what the interpreter did to the events of steps. */
import { defined } from "../../document/guards.ts";
import type { WorkRef } from "../../events/event.ts";
import {
  stepCharacters,
  type EffectResult,
  type ShellState,
  type StepEnded,
  type StepInput,
  type StepStarted,
} from "../../events/step.ts";
import type { Effect, Trace, WorkflowState } from "./state.ts";

interface OpenStep {
  readonly event: StepStarted;
  /** It is emitted when it is known what the step asks of the outside. */
  announced: boolean;
  readonly effects: EffectResult[];
}

interface Known {
  /** The next one that had ended; undefined if there is none left. */
  ended(): StepEnded | undefined;
}

type Variables = Readonly<Record<string, string>>;

export class StepLog {
  readonly #work: WorkRef;
  readonly #emit: (event: StepStarted | StepEnded) => void;
  /** A CALL stays open while the called file runs. */
  readonly #open: OpenStep[] = [];
  readonly #state: WorkflowState;
  #steps = 0;
  #result: string;
  #variables: Variables;

  constructor(work: WorkRef, state: WorkflowState, emit: (event: StepStarted | StepEnded) => void) {
    this.#work = work;
    this.#emit = emit;
    this.#state = state;
    this.#result = state.result;
    this.#variables = state.frames.at(-1)?.variables ?? {};
  }

  get step(): number {
    return this.#open.at(-1)?.event.step ?? 0;
  }

  /** What came from outside for the step that is under way. */
  received(effect: EffectResult): void {
    if (effect.kind !== "passed") this.#open.at(-1)?.effects.push(effect);
  }

  /** Emits what happened in a step of the interpreter. `shell`: what an EXECUTE has made of it. */
  observe(
    trace: readonly Trace[],
    {
      restoring,
      shell,
    }: { readonly restoring?: Known | undefined; readonly shell?: ShellState | undefined },
  ): void {
    let changed = shell;
    const mark = restoring === undefined ? {} : ({ restored: true } as const);
    for (const one of trace) {
      if (one.kind === "started") {
        this.#announce(undefined, mark);
        const { kind: _, ...started } = one;
        this.#steps += 1;
        const of = { work: this.#work, step: this.#steps };
        const event = { type: "step.started", ...of, ...started } as const;
        this.#open.push({ event, announced: false, effects: [] });
      } else if (one.kind === "ended") {
        this.#announce(undefined, mark);
        this.#end(one, changed, restoring?.ended());
        // The CALLs that end with it have not changed it.
        changed = undefined;
      }
    }
  }

  /** What the step that is under way asks of the outside, if it asks at all. */
  asks(effect: Effect, restored = false): void {
    // Before it is known what a step asks for, files may have to be read for it.
    if (effect.kind !== "read") this.#announce(inputOf(effect), restored ? { restored: true } : {});
  }

  #announce(input: StepInput | undefined, mark: { readonly restored?: true }): void {
    const open = this.#open.at(-1);
    if (open === undefined || open.announced) return;
    open.announced = true;
    this.#emit({ ...open.event, ...defined({ input }), ...mark });
  }

  #end(
    one: Extract<Trace, { kind: "ended" }>,
    changedShell: ShellState | undefined,
    before: StepEnded | undefined,
  ): void {
    const { kind: _, ...ended } = one;
    const open = this.#open.pop();
    if (open === undefined) throw new Error(`${ended.activity} has ended, but it had not begun.`);
    const { result } = this.#state;
    const variables = this.#state.frames.at(-1)?.variables ?? {};
    const changed = changedVariables(this.#variables, variables);
    const shell = before === undefined ? changedShell : before.shell;
    const received = {
      ...(open.effects.length === 0 ? {} : { effects: open.effects }),
      ...defined({ shell }),
    };
    const characters = before === undefined ? stepCharacters(received) : before.characters;
    this.#emit({
      type: "step.ended",
      work: this.#work,
      step: open.event.step,
      ...ended,
      ...received,
      ...(result === this.#result ? {} : { result }),
      ...defined({ variables: changed }),
      ...(characters === undefined || characters === 0 ? {} : { characters }),
      ...(before === undefined ? {} : { restored: true }),
    });
    this.#result = result;
    this.#variables = variables;
  }
}

function inputOf(effect: Effect): StepInput | undefined {
  if (!("activity" in effect)) return undefined;
  const { activity: _, ...input } = effect;
  return input;
}

function changedVariables(before: Variables, after: Variables): Variables | undefined {
  if (before === after) return undefined;
  const changed = Object.entries(after).filter(
    ([name, value]) => !Object.hasOwn(before, name) || before[name] !== value,
  );
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}
