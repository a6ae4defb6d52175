/** All kinds of activities: those of a few lines, and the table of all. A new one begins in `model.ts`; the compiler leads to the rest. */
import { truncate, truncateMiddle } from "../../text/truncate.ts";
import type { Activity, ActivityOf } from "../model.ts";
import { namePattern, oneLineName, roleOf, unquote } from "../value.ts";
import { check } from "./check.ts";
import {
  failedWith,
  notAnswered,
  succeeded,
  unanswered,
  type Kind,
  type Ended,
  type Running,
} from "./kind.ts";
import type { Script, ScriptRun } from "../../events/flow.ts";
import { fencesOf } from "../../document/markdown.ts";

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

type Execute = ActivityOf<"execute">;

const execute: Kind<Execute> = {
  decides: "with-edge",
  read: ({ text }) => (text === "" ? { kind: "execute" } : { kind: "execute", command: text }),
  uses: ({ command }) => (command === undefined ? [] : [{ as: "command", text: command }]),
  *run(activity, run) {
    const scripts = scriptsOf(activity, run);
    if ("reason" in scripts) {
      run.set("EXIT_CODE", NOT_RUN);
      return unanswered(scripts.reason);
    }
    const result = yield* run.perform({ kind: "execute", scripts: scripts.found });
    if (result.kind === "executed") return executed(activity, result.runs, run);
    if (result.kind === "failed" && result.runs !== undefined) keepOutput(result.runs, run);
    else run.set("EXIT_CODE", NOT_RUN);
    return notAnswered(result);
  },
};

/** The EXIT_CODE of an EXECUTE that ran nothing, as a shell has it for a command that it can't run. */
const NOT_RUN = "126";

type Found = { readonly found: readonly Script[] } | { readonly reason: string };

function scriptsOf({ id, command }: Execute, run: Running): Found {
  if (command !== undefined) {
    const code = run.command(command);
    return typeof code === "string" ? { found: [{ tag: "sh", code }] } : code;
  }
  const scripts = scriptsIn(run.state.result, run.tags);
  if ("reason" in scripts) {
    run.decide({ kind: "script-skipped", activity: id, reason: scripts.reason });
    run.set("RESULT", scripts.reason);
  }
  return scripts;
}

function executed({ other }: Execute, runs: readonly ScriptRun[], run: Running): Ended {
  const most = run.limit("outputCharacters");
  const exitCode = keepOutput(runs, run);
  const printed = runs.reduce((sum, one) => sum + (one.outputCharacters ?? one.output.length), 0);
  if (printed > most.value) return failedWith(run.exceed(most));
  if (exitCode === 0) return succeeded;
  const reason = `The exit code is ${exitCode}.`;
  // The model judges the output if there is no failure edge.
  return other === undefined ? { kind: "succeeded", remark: reason } : failedWith({ reason });
}

function keepOutput(runs: readonly ScriptRun[], run: Running): number {
  run.set("RESULT", outputOf(runs, run.limit("outputCharacters").value));
  const exitCode = runs.findLast((one) => one.exitCode !== 0)?.exitCode ?? 0;
  run.set("EXIT_CODE", String(exitCode));
  return exitCode;
}

const defaultTags = ["sh", "shell", "bash"];

/** The code fences in order. An answer of which only a part would run is not done, so then none of it is. */
function scriptsIn(text: string, tags: readonly string[] = defaultTags): Found {
  const none = (reason: string) => ({ reason: `Nothing was run: ${reason}` });
  const scripts: Script[] = [];
  for (const { info, content, isClosed } of fencesOf(text)) {
    const tag = (/^\S*/.exec(info)?.[0] ?? "").toLowerCase() || "bash";
    if (!isClosed) return none("a code fence is never closed.");
    if (!tags.includes(tag)) {
      const those = tags.join(", ");
      return none(
        `code fences tagged "${truncate(tag, 40, "…")}" can't be run. Supported tags: ${those}.`,
      );
    }
    if (content.trim() !== "") scripts.push({ tag, code: withoutPrompts(content.trimEnd()) });
  }
  return scripts.length === 0
    ? none("RESULT has no code fence with commands.")
    : { found: scripts };
}

/** Removes the `$ ` of a terminal, which answers imitate. It is never a command. */
function withoutPrompts(code: string): string {
  return /^\s*\$ /.test(code) ? code.replaceAll(/^[ \t]*\$ /gm, "") : code;
}

/** Each command with its output, as in a terminal; both ends of what is longer than `most` characters. */
function outputOf(runs: readonly ScriptRun[], most: number): string {
  const texts = runs.map(({ code, output }) => `$ ${code}\n${output}`.trimEnd());
  return truncateMiddle(texts.join("\n"), most);
}

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
