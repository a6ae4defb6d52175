import type { ActivityOf } from "../model.ts";
import { succeeded, unanswered, type Kind } from "./kind.ts";
import { oneLineName } from "../value.ts";

export const assign: Kind<ActivityOf<"assign">> = {
  read: ({ text, need }) =>
    text === "" ? need("a value") : { kind: "assign", value: oneLineName(text) },
  facts: ({ value }) => ({
    label: value,
    uses: [{ as: isTemplate(value) ? "text" : "value", text: value }],
  }),
  *run({ value }, run) {
    const text = yield* run.value(value, isTemplate(value) ? value : undefined);
    if (typeof text !== "string") return unanswered(text.reason);
    run.set("RESULT", text);
    return succeeded;
  },
};

/** A text with `{{NAME}}` is a text. Everything else must have a value. */
function isTemplate(value: string): boolean {
  return value.includes("{{");
}
