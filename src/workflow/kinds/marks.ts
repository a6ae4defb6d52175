/** START, SUCCESS, FAILED and the handlers ON_SUCCESS and ON_FAILED: where a file begins and ends. */
import type { ActivityOf } from "../model.ts";
import { failedWith, succeeded, type Kind } from "./kind.ts";

export const start: Kind<ActivityOf<"start">> = {
  isMark: true,
  read: () => ({ kind: "start" }),
  /** Parameters that are files are read before anything else. */
  *run(_activity, run) {
    const { frame } = run;
    for (const name of frame.unread) {
      const text = yield* run.read((frame.variables[name] ?? "").slice("file:".length));
      if (typeof text !== "string") return failedWith(text);
      frame.variables = { ...frame.variables, [name]: text };
    }
    frame.unread = [];
    run.state.status = "DOING";
    return succeeded;
  },
};

export const success: Kind<ActivityOf<"success">> = {
  isMark: true,
  read: () => ({ kind: "success" }),
  run: () => ({ kind: "end" }),
};

export const failed: Kind<ActivityOf<"failed">> = {
  isMark: true,
  read: () => ({ kind: "failed" }),
  run({ id }, { frame: { failure, before } }) {
    // A way from a crash to FAILED on which nothing is decided means the same as no edge.
    const led = before?.unanswered === true ? before : undefined;
    return { kind: "end", failure: failure ?? led ?? { reason: `The workflow reached ${id}.` } };
  },
};

export const on: Kind<ActivityOf<"on">> = {
  isMark: true,
  read({ id, at, problems }) {
    if (id === "ON_FAILED") return { kind: "on", event: "failed" };
    // The documentation of the format spells it like this.
    if (id === "ON_SUCCES") problems.warn(at(0), "ON_SUCCES is read as ON_SUCCESS.");
    else if (id !== "ON_SUCCESS") {
      problems.error(at(0), `Unknown handler: ${id}.`, "there are ON_SUCCESS and ON_FAILED");
      return undefined;
    }
    return { kind: "on", event: "success" };
  },
  run: () => succeeded,
};
