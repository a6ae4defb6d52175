import type { ActivityOf } from "../model.ts";
import { oneLineName, roleOf } from "../value.ts";
import { failedWith, notAnswered, succeeded, unanswered, type Kind } from "./kind.ts";

export const prompt: Kind<ActivityOf<"prompt">> = {
  read: ({ text, need }) =>
    text === ""
      ? need("the name of a prompt, such as User Ask")
      : { kind: "prompt", prompt: oneLineName(text) },
  facts: (one) => ({
    label: one.prompt,
    uses: [{ as: "prompt", text: one.prompt }],
  }),
  *run({ prompt: id }, run) {
    const text = yield* run.value(id);
    if (typeof text !== "string") return unanswered(text.reason);
    const most = run.limit("promptCharacters");
    if (text.length > most.value) return failedWith(run.exceed(most));
    switch (roleOf(id)) {
      case "system":
        run.addAgent({ system: text, messages: [] });
        run.set("RESULT", "");
        return succeeded;
      case "assistant":
        run.converse({ role: "assistant", text });
        run.set("RESULT", text);
        return succeeded;
      case "user":
      case undefined: {
        if (text.trim() === "") return unanswered("The prompt is empty.");
        const agent = run.agent();
        const answer = yield* run.perform({ kind: "prompt", agent, text });
        if (answer.kind !== "answered") return notAnswered(answer);
        run.converse({ role: "user", text }, { role: "assistant", text: answer.text });
        run.set("RESULT", answer.text);
        return succeeded;
      }
    }
  },
};
