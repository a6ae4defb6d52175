/** The state of a run of a workflow, what it asks of the outside, and what it says of its steps. */
import type { MadeDecision } from "../../events/decision.ts";
import type { EffectResult, StepInput } from "../../events/flow.ts";
import type { StepEnded, StepStarted } from "../../events/step.ts";

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
  handling: "nothing" | "success" | "failed";
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

/** What the machine needs from the outside to go on. */
export type Effect =
  /** Nothing: an activity is over, and the next one begins with the next step. */
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

/** Yields what it needs from the outside, and is given what came of it. */
export type Flow<T> = Generator<Effect, T, EffectResult>;

export type FlowEvent =
  | Omit<StepStarted, "work">
  | Omit<StepEnded, "work">
  | { readonly type: "decision"; readonly decision: MadeDecision };

export interface Step {
  readonly effect: Effect;
  readonly events: readonly FlowEvent[];
}
