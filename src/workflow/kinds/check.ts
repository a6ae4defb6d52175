import { evaluateCheck, parseCheck, signOf } from "../check.ts";
import type { ActivityOf } from "../model.ts";
import { isQuoted } from "../value.ts";
import { failedWith, succeeded, unanswered, type Kind } from "./kind.ts";

export const check: Kind<ActivityOf<"check">> = {
  decides: "always",
  read({ text, at, problems }) {
    const read = parseCheck(text, (offset, reason, hint) => {
      problems.error(at(offset), reason, hint);
    });
    return read && { kind: "check", check: read };
  },
  facts: ({ check: { left, operator, right } }) => ({
    label: `${left} ${signOf(operator)} ${right}`,
    uses: [
      { as: "compared", text: left },
      { as: "operand", text: right },
    ],
  }),
  *run(activity, run) {
    const { left, operator, right } = activity.check;
    const leftText = yield* run.value(left);
    // Without a value, it doesn't hold.
    if (typeof leftText !== "string") return failedWith(leftText);
    const rightText = yield* run.value(right, right);
    if (typeof rightText !== "string") return failedWith(rightText);
    const wanted = isQuoted(right) ? rightText : rightText.trim();
    const value = evaluateCheck(operator, leftText, wanted);
    if (typeof value === "object") return unanswered(value.reason);
    return value ? succeeded : failedWith({ reason: `The check ${activity.id} doesn't hold.` });
  },
};
