/** The interface of a kind of activity: how its node is read, what it uses, and what it does. */
import type { EffectResult } from "../../events/flow.ts";
import type { Activity, ActivityPlace } from "../model.ts";
import type { Running } from "../run/running.ts";
import type { Failure, Flow } from "../run/state.ts";
import type { FlowLabel } from "../read/flowchart-scanner.ts";
import type { Place, Problems } from "../read/problems.ts";

export interface Kind<A extends Activity> {
  /** Has no text, and does nothing that `activityHits` would count. */
  readonly isMark?: true;
  /** Whether its outcome is a choice between two ways: always, or only if it has an edge for a failure. */
  readonly decides?: "always" | "with-edge";
  /** Undefined after an error, which has been reported. */
  read(node: ReadNode): Own<A> | undefined;
  /** The texts that it uses. Absent: none. */
  uses?(activity: A): readonly Use[];
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
