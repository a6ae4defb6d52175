/** All kinds of activities: those of a few lines, and the table of all. A new one begins in `model.ts`; the compiler leads to the rest. */
import { truncate } from "../../text/truncate.ts";
import type { Activity, ActivityOf } from "../model.ts";
import { namePattern, oneLineName, roleOf, unquote } from "../value.ts";
import { check } from "./check.ts";
import { execute } from "./execute.ts";
import { failedWith, notAnswered, succeeded, unanswered, type Kind } from "./kind.ts";

const start: Kind<ActivityOf<"start">> = {
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

const success: Kind<ActivityOf<"success">> = {
  isMark: true,
  read: () => ({ kind: "success" }),
  run: () => ({ kind: "end" }),
};

const failed: Kind<ActivityOf<"failed">> = {
  isMark: true,
  read: () => ({ kind: "failed" }),
  run({ id }, { frame: { failure, before } }) {
    // A way from a crash to FAILED on which nothing is decided means the same as no edge.
    const led = before?.unanswered === true ? before : undefined;
    return { kind: "end", failure: failure ?? led ?? { reason: `The workflow reached ${id}.` } };
  },
};

const on: Kind<ActivityOf<"on">> = {
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

const assign: Kind<ActivityOf<"assign">> = {
  read: ({ text, need }) =>
    text === "" ? need("a value") : { kind: "assign", value: oneLineName(text) },
  uses: ({ value }) => [{ as: isTemplate(value) ? "text" : "value", text: value }],
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

const set: Kind<ActivityOf<"set">> = {
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
  uses: ({ value }) => [{ as: "assigned", text: value }],
  *run({ name, value }, run) {
    const text = yield* run.value(value, value);
    if (typeof text !== "string") return unanswered(text.reason);
    run.set(name, text);
    return succeeded;
  },
};

const prompt: Kind<ActivityOf<"prompt">> = {
  read: ({ text, need }) =>
    text === ""
      ? need("the name of a prompt, such as User Ask")
      : { kind: "prompt", prompt: oneLineName(text) },
  uses: (activity) => [{ as: "prompt", text: activity.prompt }],
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

const ask: Kind<ActivityOf<"ask">> = {
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

const call: Kind<ActivityOf<"call">> = {
  decides: "with-edge",
  read({ text, need }) {
    const path = unquote(text).trim();
    return path === "" ? need("the file of a workflow") : { kind: "call", path, target: "" };
  },
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

export type ActivityKind = Activity["kind"];

/** In the order in which people are told. */
const kinds: { readonly [K in ActivityKind]: Kind<ActivityOf<K>> } = {
  start,
  set,
  assign,
  check,
  prompt,
  ask,
  execute,
  call,
  success,
  failed,
  on,
};

export function kindOf(kind: ActivityKind): Kind<Activity> {
  return kinds[kind];
}

export function isActivityKind(word: string): word is ActivityKind {
  return Object.hasOwn(kinds, word);
}

export const activityKinds = Object.keys(kinds).filter(isActivityKind);

export function decides({ kind, other }: Activity): boolean {
  const how = kindOf(kind).decides;
  return how === "always" || (how === "with-edge" && other !== undefined);
}
