import type { ActivityOf } from "../model.ts";
import { isQuoted, unquote } from "../value.ts";
import { failedWith, succeeded, unanswered, type Kind } from "./kind.ts";

export const call: Kind<ActivityOf<"call">> = {
  decides: "with-edge",
  read({ text, need }) {
    const path = unquote(text).trim();
    return path === "" ? need("the file of a workflow") : { kind: "call", path, target: "" };
  },
  facts: ({ path }) => ({
    label: isQuoted(path) ? `"${path}"` : path,
    uses: [],
  }),
  *run({ path, target }, run) {
    const most = run.limit("callDepth");
    if (run.state.frames.length > most.value) return failedWith(run.exceed(most));
    const { variables } = run.frame;
    const absent = run.workflow.files[target]?.parameters.find(
      (one) => one.default === undefined && !Object.hasOwn(variables, one.name),
    );
    if (absent !== undefined) return unanswered(`${path} needs the parameter ${absent.name}.`);
    const failure = yield* run.call(target);
    return failure === undefined ? succeeded : failedWith(failure);
  },
};
