/** The port through which a workflow asks a person. */
import type { WorkRef } from "../events/event.ts";

export interface Question {
  /** The id of the ASK. */
  readonly activity: string;
  /** Text that anyone may have written, a model among them. */
  readonly question: string;
  /** How often this ASK has been answered before, in this run. */
  readonly times: number;
  readonly work: WorkRef;
  readonly step: number;
}

export type Answer =
  | { readonly kind: "answered"; readonly text: string }
  /** `reason`: a sentence, such as that the person has ended the input. */
  | { readonly kind: "unanswered"; readonly reason: string };

/** Never rejects. Ends with `unanswered` when the signal aborts. Several questions may be asked at the same time. */
export type Asker = (question: Question, signal: AbortSignal) => Promise<Answer>;

/** For a run that has neither an answer nor somebody to ask. */
export function howToAnswer(activity: string): string {
  return `Give an answer with --answer ${activity}=…, with the input \`answers\` of the action, or with \`answers\` in the front matter.`;
}
