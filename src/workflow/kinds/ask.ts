import type { ActivityOf } from "../model.ts";
import { type Kind, notAnswered, succeeded, unanswered } from "./kind.ts";
import type { WorkRef } from "../../events/event.ts";

export const ask: Kind<ActivityOf<"ask">> = {
  read: ({ text }) => (text === "" ? { kind: "ask" } : { kind: "ask", question: text }),
  uses: ({ question }) => (question === undefined ? [] : [{ as: "text", text: question }]),
  *run({ id, question: written }, run) {
    const { state } = run;
    const question = written === undefined ? state.result : yield* run.value(written, written);
    if (typeof question !== "string") return unanswered(question.reason);
    const times = state.asked[id] ?? 0;
    const answer = yield* run.perform({ kind: "ask", question, times });
    if (answer.kind !== "answered") return notAnswered(answer);
    state.asked[id] = times + 1;
    run.set("RESULT", answer.text);
    return succeeded;
  },
};

/** A question of an ASK. */
export interface Question {
  /** The id of the ASK. */
  readonly activity: string;
  /** With its variables; empty if there is none. */
  readonly question: string;
  /** How often this ASK has been answered in this run. */
  readonly times: number;
  /** The work that is the workflow. */
  readonly work: WorkRef;
  /** The `step` of its `step.started`. */
  readonly step: number;
}

/** The answer to a question. */
export type Answer =
  | { readonly kind: "answered"; readonly text: string }
  /** There is none: the activity fails. */
  | { readonly kind: "unanswered"; readonly reason: string };

/** Asks a person. Ends soon after `signal` has aborted; what it says then doesn't matter. */
export type Asker = (question: Question, signal: AbortSignal) => Promise<Answer>;

/** By the id of the ASK; several are used in order. */
export type Answers = Readonly<Record<string, readonly string[]>>;

export function missingAnswer(activity: string, times: number): string {
  const answers = times === 1 ? "one answer" : `${times} answers`;
  const given =
    times === 0 ? "has no answer, and nobody is there to be asked" : `has only ${answers}`;
  return `${activity} ${given}. Give one with --answer ${activity}=…, with the input \`inputs\` of the action, or with answers in the front matter.`;
}
