import type { ActivityOf } from "../model.ts";
import { notAnswered, succeeded, unanswered, type Kind } from "./kind.ts";

export const ask: Kind<ActivityOf<"ask">> = {
  read: ({ text }) => (text === "" ? { kind: "ask" } : { kind: "ask", question: text }),
  facts: ({ question }) => ({
    label: question ?? "",
    uses: question === undefined ? [] : [{ as: "text", text: question }],
  }),
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
