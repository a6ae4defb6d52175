/** The state of a run of a workflow, what it asks of the outside, and what it is told. */
import type { ExceededLimit } from "../../events/exceeded-limit.ts";
import type { EffectResult, StepInput } from "../../events/step.ts";

export type { EffectResult };

export type Variables = Readonly<Record<string, string>>;

export type MachineLimit =
  "activityHits" | "activities" | "callDepth" | "promptCharacters" | "outputCharacters";

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
  | (StepInput & { readonly activity: string })
  /** Read a file, relative to a file of the workflow. */
  | { readonly kind: "read"; readonly path: string; readonly from: string }
  | {
      readonly kind: "done";
      readonly status: "SUCCESS" | "FAILED";
      readonly result: string;
      readonly variables: Variables;
      readonly failure?: Failure;
    };

/** What happened in a step, for events and reports. */
export type Trace =
  | {
      readonly kind: "started";
      readonly file: string;
      readonly activity: string;
      /** Which run of this activity, from 1 on. */
      readonly hit: number;
      readonly depth: number;
    }
  | {
      readonly kind: "ended";
      readonly file: string;
      readonly activity: string;
      readonly succeeded: boolean;
      readonly reason?: string;
      readonly to?: string;
    }
  | {
      readonly kind: "limit";
      readonly exceeded: ExceededLimit;
      readonly file: string;
      readonly activity: string;
    }
  | { readonly kind: "missing"; readonly name: string; readonly activity: string }
  | { readonly kind: "skipped"; readonly activity: string; readonly reason: string };

export interface Step {
  readonly effect: Effect;
  readonly trace: readonly Trace[];
}
