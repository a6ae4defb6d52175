/** The steps of a run as events: what each activity asked of the outside, what came of it, and what it changed. */
import { defined } from "../../text/guards.ts";
import type { EffectResult, StepInput } from "../../events/flow.ts";
import { stepCharacters, type ShellState, type StepStarted } from "../../events/step.ts";
import type { FlowEvent, Variables, WorkflowState } from "./state.ts";

interface OpenStep {
  readonly started: Omit<StepStarted, "work">;
  /** Its start is told when it is known what it asks of the outside. */
  isTold: boolean;
  readonly effects: EffectResult[];
  /** What its commands have made of the shell. */
  shell?: ShellState | undefined;
}

export class Steps {
  readonly #state: WorkflowState;
  readonly #tell: (event: FlowEvent) => void;
  /** A CALL stays open while the called file runs. */
  readonly #open: OpenStep[] = [];
  #count = 0;
  #result: string;
  #variables: Variables;

  constructor(state: WorkflowState, tell: (event: FlowEvent) => void) {
    this.#state = state;
    this.#tell = tell;
    this.#result = state.result;
    this.#variables = state.frames.at(-1)?.variables ?? {};
  }

  get running(): OpenStep | undefined {
    return this.#open.at(-1);
  }

  begin(file: string, activity: string, hit: number): void {
    this.#count += 1;
    const depth = this.#state.frames.length - 1;
    const started = {
      type: "step.started",
      step: this.#count,
      file,
      activity,
      hit,
      depth,
    } as const;
    this.#open.push({ started, isTold: false, effects: [] });
  }

  asks(input?: StepInput): void {
    const open = this.running;
    if (open === undefined || open.isTold) return;
    open.isTold = true;
    this.#tell({ ...open.started, ...defined({ input }) });
  }

  end(succeeded: boolean, reason?: string, to?: string): void {
    this.asks();
    const open = this.#open.pop();
    if (open === undefined) throw new Error("A step ends that has not begun.");
    const { step, file, activity } = open.started;
    const { shell } = open;
    const effects = open.effects.length === 0 ? undefined : open.effects;
    const came = defined({ effects, shell });
    const { result } = this.#state;
    const variables = this.#state.frames.at(-1)?.variables ?? {};
    this.#tell({
      type: "step.ended",
      step,
      file,
      activity,
      succeeded,
      ...defined({ reason, to }),
      ...came,
      ...(result === this.#result ? {} : { result }),
      ...defined({ variables: changedVariables(this.#variables, variables) }),
      ...defined({ characters: stepCharacters(came) || undefined }),
    });
    this.#result = result;
    this.#variables = variables;
  }
}

function changedVariables(before: Variables, after: Variables): Variables | undefined {
  if (before === after) return undefined;
  const changed = Object.entries(after).filter(
    ([name, value]) => !Object.hasOwn(before, name) || before[name] !== value,
  );
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}
