/** CHECK: the way on depends on an expression. */
import { evaluateCheck, parseCheck, patternFault, type Comparison } from "../check.ts";
import type { ActivityOf } from "../model.ts";
import { isQuoted } from "../value.ts";
import { failedWith, succeeded, unanswered, type Kind } from "./kind.ts";

const signs: Readonly<Record<Comparison, string>> = {
  eq: "==",
  ne: "!=",
  contains: "CONTAINS",
  matches: "MATCHES",
  gt: "gt",
  ge: "ge",
  lt: "lt",
  le: "le",
};

export const check: Kind<ActivityOf<"check">> = {
  decides: "always",
  read({ text, at, problems }) {
    const read = parseCheck(text);
    if (read.kind === "fault") {
      problems.error(at(read.fault.offset), read.fault.reason, read.fault.hint);
      return undefined;
    }
    const fault = patternFault(read.check);
    if (fault !== undefined) problems.error(at(read.rightOffset), fault.reason, fault.hint);
    return { kind: "check", check: read.check };
  },
  facts: ({ check: { left, operator, right } }) => ({
    label: `${left} ${signs[operator]} ${right}`,
    uses: [
      { as: "compared", text: left },
      { as: "operand", text: right },
    ],
    result: "kept",
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
    if (value.kind === "failed") return unanswered(value.reason);
    return value.holds
      ? succeeded
      : failedWith({ reason: `The check ${activity.id} doesn't hold.` });
  },
};
