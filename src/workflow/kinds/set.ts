import { truncate } from "../../text/truncate.ts";
import type { ActivityOf } from "../model.ts";
import { namePattern } from "../value.ts";
import { succeeded, unanswered, type Kind } from "./kind.ts";

export const set: Kind<ActivityOf<"set">> = {
  read({ label, text, at, problems, need }) {
    const equals = text.indexOf("=");
    const name = text.slice(0, equals).trim();
    if (label === undefined || equals === -1) return need("an assignment, such as NAME=value");
    if (!namePattern.test(name)) {
      problems.error(at(0), `Invalid variable name ${JSON.stringify(truncate(name, 80))}.`);
      return undefined;
    }
    if (name === "STATUS") problems.warn(at(0), "STATUS is set by the run. This has no effect.");
    return { kind: "set", name, value: text.slice(equals + 1).trim() };
  },
  facts: ({ name, value }) => ({
    label: `${name}=${value}`,
    uses: [{ as: "assigned", text: value }],
  }),
  *run({ name, value }, run) {
    const text = yield* run.value(value, value);
    if (typeof text !== "string") return unanswered(text.reason);
    run.set(name, text);
    return succeeded;
  },
};
