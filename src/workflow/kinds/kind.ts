/** The interface of a kind of activity: how its node is read, what it uses, and what it does. */
import type { Limits } from "../../entry/model.ts";
import type { MadeDecision } from "../../events/decision.ts";
import type { ExceededLimit } from "../../events/exceeded-limit.ts";
import type { EffectResult, StepInput } from "../../events/flow.ts";
import type { Activity, ActivityPlace, Workflow, WorkflowFile } from "../model.ts";
import type { Conversation, Failure, Flow, Frame, Message, WorkflowState } from "../run/state.ts";
import type { FlowLabel } from "../read/flowchart-scanner.ts";
import type { Place, Problems } from "../read/problems.ts";

export interface Kind<A extends Activity> {
  /** Has no text, and does nothing that `activityHits` would count. */
  readonly isMark?: true;
  /** Whether its outcome is a choice between two ways: always, or only if it has an edge for a failure. */
  readonly decides?: "always" | "with-edge";
  /** Undefined after an error, which has been reported. */
  read(node: ReadNode): Own<A> | undefined;
  /** The label and the texts that it uses. Absent: none. */
  facts?(activity: A): Facts;
  run(activity: A, run: Running): Flow<Ended> | Ended;
}

type Own<A> = A extends unknown ? Omit<A, keyof ActivityPlace> : never;

export interface ReadNode {
  readonly id: string;
  readonly label: FlowLabel | undefined;
  readonly text: string;
  readonly at: (offset: number) => Place;
  readonly problems: Problems;
  /** Reports that something is missing. */
  readonly need: (what: string) => undefined;
}

export interface Facts {
  readonly label: string;
  readonly uses: readonly Use[];
}

export interface Use {
  readonly text: string;
  /**
   * `text`: names in double braces are replaced. `assigned`: the value of a variable. `value`, `prompt`: must exist.
   * `compared`: the left side of a check, `operand` its right one. `command`: a template for a shell.
   */
  readonly as: "text" | "assigned" | "value" | "prompt" | "compared" | "operand" | "command";
}

export type Ended =
  /** `remark`: for readers. */
  | { readonly kind: "succeeded"; readonly remark?: string }
  | { readonly kind: "failed"; readonly failure: Failure }
  /** And the file with it. */
  | { readonly kind: "end"; readonly failure?: Failure };

export interface Running {
  readonly workflow: Workflow;
  readonly state: WorkflowState;
  readonly frame: Frame;
  readonly file: WorkflowFile;
  readonly tags: readonly string[] | undefined;
  perform(input: StepInput): Flow<EffectResult>;
  /** The text of a written value: a constant, a file, a name, else `otherwise`. */
  value(written: string, otherwise?: string): Flow<string | Failure>;
  read(path: string): Flow<string | Failure>;
  command(text: string): string | Failure;
  limit(name: keyof Limits): ExceededLimit;
  exceed(limit: ExceededLimit): Failure;
  set(name: string, text: string): void;
  agent(): number;
  addAgent(conversation: Conversation): void;
  converse(...messages: readonly Message[]): void;
  decide(decision: MadeDecision): void;
  call(target: string): Flow<Failure | undefined>;
}

export const succeeded: Ended = { kind: "succeeded" };

export function failedWith(failure: Failure): Ended {
  return { kind: "failed", failure };
}

/** For a limit, a crash, a denial or a missing value: nothing was judged. */
export function unanswered(reason: string): Ended {
  return failedWith({ reason, unanswered: true });
}

export function notAnswered(result: EffectResult): Ended {
  return unanswered("reason" in result ? result.reason : `Unexpected result: ${result.kind}.`);
}

export function isResult(name: string): boolean {
  return name === "RESULT" || name === "CONTENT";
}
