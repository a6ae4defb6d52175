import type { Script, ScriptRun } from "../../events/flow.ts";
import { fencesOf } from "../../document/markdown.ts";
import { truncateMiddle, truncate } from "../../text/truncate.ts";
import type { ActivityOf } from "../model.ts";
import {
  failedWith,
  notAnswered,
  succeeded,
  unanswered,
  type Ended,
  type Kind,
  type Running,
} from "./kind.ts";

type Execute = ActivityOf<"execute">;

export const execute: Kind<Execute> = {
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
