/**
 * The state of a run of a workflow, what it asks of the outside, and what it is told. All of it is plain JSON: a state
 * that was written and read again goes on in the same way, and so does one that is made again from the same results.
 */
import type { ExceededLimit } from "../../events/exceeded-limit.ts";
import type { EffectResult, Script, ScriptRun, StepInput } from "../../events/step.ts";

export type { EffectResult, Script, ScriptRun };

export type WorkflowStatus = "CREATED" | "DOING" | "SUCCESS" | "FAILED";

export interface WorkflowState {
  readonly status: WorkflowStatus;
  readonly result: string;
  /** The running file last. Never empty. */
  readonly frames: readonly Frame[];
  /** By number; those that a file can still prompt. */
  readonly agents: Readonly<Record<number, Conversation>>;
  readonly nextAgent: number;
  readonly phase: Phase;
  /** Activities that have begun, in all files. */
  readonly activities: number;
  /** How often each ASK has been answered, by its id. */
  readonly asked: Readonly<Record<string, number>>;
  /** Names without a value that have been reported. */
  readonly reported: readonly string[];
}

export interface Frame {
  readonly file: string;
  readonly variables: Readonly<Record<string, string>>;
  /** Parameters whose value is a file that has not been read. */
  readonly unread: readonly string[];
  /** By activity. */
  readonly hits: Hits;
  /** Which of the ends is being handled; each is handled once. */
  readonly handling: "nothing" | "success" | "failed";
  readonly handled: readonly ("success" | "failed")[];
  /** Its number in `agents`. */
  readonly agent?: number;
  /** The CALL that waits for the frame above this one. */
  readonly calling?: string;
  /** Why the file has failed, while that is handled. */
  readonly failure?: Failure;
  /** The failure that has led here, as long as nothing has been decided since. */
  readonly before?: Failure;
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

export type Phase =
  /** The activity begins with the next step. */
  | { readonly kind: "ready"; readonly activity: string }
  /** It has begun, and its effect is under way. What it needs of files is read before anything else. */
  | {
      readonly kind: "waiting";
      readonly activity: string;
      readonly effect: Exclude<Effect, { kind: "pass" | "done" }>;
      readonly files: Readonly<Record<string, string>>;
    }
  | { readonly kind: "ended"; readonly failure?: Failure };

/** What the machine needs from the outside to go on. */
export type Effect =
  /** Nothing: an activity is over, and the next one begins with the next step. */
  | { readonly kind: "pass" }
  /** What an activity asks of the outside. */
  | (StepInput & { readonly activity: string })
  /** Read a file, relative to a file of the workflow. */
  | { readonly kind: "read"; readonly path: string; readonly from: string }
  | {
      readonly kind: "done";
      readonly status: "SUCCESS" | "FAILED";
      readonly result: string;
      readonly variables: Readonly<Record<string, string>>;
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
      /** Where the flow goes on; absent at an end. */
      readonly to?: string;
    }
  | {
      readonly kind: "limit";
      readonly exceeded: ExceededLimit;
      readonly file: string;
      readonly activity: string;
    }
  | { readonly kind: "missing"; readonly name: string; readonly activity: string }
  /** Why an EXECUTE had nothing to run. */
  | { readonly kind: "skipped"; readonly activity: string; readonly reason: string };

export interface Step {
  readonly state: WorkflowState;
  readonly effect: Effect;
  readonly trace: readonly Trace[];
}

/** How often each activity of a file has run. In parts, so that a new state does not copy the counts of all activities. */
export type Hits = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Of a workflow with 10,000 activities, a part has about as many counts as there are parts. */
const PARTS = 101;

export function hitsOf(hits: Hits, activity: string): number {
  const counts = hits[partOf(activity)] ?? {};
  return Object.hasOwn(counts, activity) ? (counts[activity] ?? 0) : 0;
}

export function withHit(hits: Hits, activity: string): Hits {
  const part = partOf(activity);
  return { ...hits, [part]: { ...hits[part], [activity]: hitsOf(hits, activity) + 1 } };
}

function partOf(activity: string): string {
  let hash = 0;
  for (let index = 0; index < activity.length; index += 1)
    hash = (hash * 31 + activity.charCodeAt(index)) % 1_000_003;
  return String(hash % PARTS);
}
