/** The state of a run of a workflow, what it asks of the outside, and what it says of its steps. */
import type { MadeDecision } from "../../events/decision.ts";
import type { EffectResult, StepInput } from "../../events/flow.ts";
import {
  type ShellState,
  type StepEnded,
  type StepStarted,
  stepCharacters,
} from "../../events/event.ts";
import { defined } from "../../text/guards.ts";

export type Variables = Readonly<Record<string, string>>;

export interface WorkflowState {
  status: "CREATED" | "DOING" | "SUCCESS" | "FAILED";
  result: string;
  /** The running file last. Never empty. */
  readonly frames: Frame[];
  /** By number; those that a file can still prompt. */
  agents: Record<number, Conversation>;
  nextAgent: number;
  /** Activities that have begun, in all files. */
  activities: number;
  /** How often each ASK has been answered, by its id. */
  readonly asked: Record<string, number>;
}

export interface Frame {
  readonly file: string;
  variables: Variables;
  /** Parameters whose value is a file that has not been read. */
  unread: readonly string[];
  readonly hits: Map<string, number>;
  /** The ends of the file that are handled, the last one last. */
  readonly handled: Set<"success" | "failed">;
  /** Its number in `agents`. */
  agent: number | undefined;
  /** Why the file has failed, once that is handled. */
  failure: Failure | undefined;
  /** The failure that has led here, as long as nothing has been decided since. */
  before: Failure | undefined;
}

export interface Failure {
  readonly reason: string;
  /** A limit, a crash, a denial or a missing value is the cause: nothing was judged. */
  readonly unanswered?: true;
}

export interface Conversation {
  readonly system?: string;
  readonly messages: readonly Message[];
}

export interface Message {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/** A request of the machine to the outside. */
export type Effect =
  /** It needs nothing: an activity is over, and the next one begins with the next step. */
  | { readonly kind: "pass" }
  | (StepInput & Pick<StepStarted, "step" | "file" | "activity" | "hit">)
  /** Read a file, relative to a file of the workflow. */
  | { readonly kind: "read"; readonly path: string; readonly from: string }
  | {
      readonly kind: "done";
      readonly status: "SUCCESS" | "FAILED";
      readonly result: string;
      readonly variables: Variables;
      readonly failure?: Failure;
    };

/** Yields its requests to the outside, and receives their results. */
export type Flow<T> = Generator<Effect, T, EffectResult>;

export type FlowEvent =
  | Omit<StepStarted, "work">
  | Omit<StepEnded, "work">
  | { readonly type: "decision"; readonly decision: MadeDecision };

export interface Step {
  readonly effect: Effect;
  readonly events: readonly FlowEvent[];
}

interface OpenStep {
  readonly started: Omit<StepStarted, "work">;
  /** Its start is reported when it is known what it asks of the outside. */
  isReported: boolean;
  readonly effects: EffectResult[];
  /** The state of the shell after its commands. */
  shell?: ShellState | undefined;
}

export class Steps {
  readonly #state: WorkflowState;
  readonly #emit: (event: FlowEvent) => void;
  /** A CALL stays open while the called file runs. */
  readonly #open: OpenStep[] = [];
  #count = 0;
  #result: string;
  #variables: Variables;

  constructor(state: WorkflowState, emit: (event: FlowEvent) => void) {
    this.#state = state;
    this.#emit = emit;
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
    this.#open.push({ started, isReported: false, effects: [] });
  }

  asks(input?: StepInput): void {
    const open = this.running;
    if (open === undefined || open.isReported) return;
    open.isReported = true;
    this.#emit({ ...open.started, ...defined({ input }) });
  }

  end(succeeded: boolean, reason?: string, to?: string): void {
    this.asks();
    const open = this.#open.pop();
    if (open === undefined) throw new Error("A step ends that has not begun.");
    const { step, file, activity } = open.started;
    const { shell } = open;
    const effects = open.effects.length === 0 ? undefined : open.effects;
    const outcome = defined({ effects, shell });
    const { result } = this.#state;
    const variables = this.#state.frames.at(-1)?.variables ?? {};
    this.#emit({
      type: "step.ended",
      step,
      file,
      activity,
      succeeded,
      ...defined({ reason, to }),
      ...outcome,
      ...(result === this.#result ? {} : { result }),
      ...defined({ variables: changedVariables(this.#variables, variables) }),
      ...defined({ characters: stepCharacters(outcome) || undefined }),
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
