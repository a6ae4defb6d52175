/** Calls of one answer run side by side, so they are distinguished by id, never by their place in the list. */
import type { SessionActivity, ToolError } from "../../events/session-activity.ts";
import type { ToolUse } from "../format/script.ts";
import { quote } from "../format/text-condition.ts";

interface Call {
  readonly tool: ToolUse;
  returned: string | undefined;
  ending: "open" | "succeeded" | ToolError;
}

export class ToolCalls {
  readonly #calls = new Map<string, Call>();
  readonly #fill: (template: string) => string;

  constructor(fill: (template: string) => string) {
    this.#fill = fill;
  }

  /** A call that was sent to the runtime; sent again, it is the same one. */
  given(callId: string, tool: ToolUse): void {
    if (this.#calls.has(callId)) return;
    this.#calls.set(callId, { tool, returned: undefined, ending: "open" });
  }

  returned(callId: string, text: string): void {
    const call = this.#calls.get(callId);
    if (call !== undefined) call.returned = text;
  }

  observe(activity: SessionActivity): void {
    if (activity.kind !== "tool.ended" && activity.kind !== "sub-agent.tool.failed") return;
    const call = this.#calls.get(activity.toolCallId);
    if (call === undefined) return;
    const succeeded = activity.kind === "tool.ended" && activity.succeeded;
    call.ending = succeeded ? "succeeded" : (activity.error ?? { message: "" });
  }

  failures(): readonly string[] {
    const failures = [...this.#calls.values()].flatMap((call) => {
      const why = this.#judge(call);
      if (why === undefined) return [];
      return [`${call.tool.place}: the call of ${JSON.stringify(call.tool.name)} ${why}`];
    });
    return [...new Set(failures)];
  }

  #judge({ tool, returned, ending }: Call): string | undefined {
    // Calls of a sub-agent are only reported if they fail.
    const succeeded = ending === "succeeded" || (ending === "open" && returned !== undefined);
    const error = typeof ending === "string" || ending.code === "unfinished" ? undefined : ending;
    const message = error === undefined ? "" : error.message || (returned ?? "");
    if (tool.denied === true) {
      if (error?.code === "denied") return undefined;
      return `should have been denied, but it ${ended(succeeded, message)}.`;
    }
    const fails = tool.fails ?? (tool.unknown === true ? "" : undefined);
    if (fails !== undefined) {
      const text = this.#fill(fails);
      if (error === undefined) {
        const wanted = text === "" ? "" : ` with ${quote(text)}`;
        return `should have failed${wanted}, but it ${ended(succeeded, "")}.`;
      }
      if (message.includes(text) || (returned ?? "").includes(text)) return undefined;
      return `should have failed with ${quote(text)}, but its error is ${quote(message)}.`;
    }
    // A call that was stopped with its turn has not failed. The turn reports what happened.
    if (error === undefined) return undefined;
    return error.code === "denied"
      ? `was denied: ${quote(message.replace(runtimePrefix, ""))}. If this is expected, add "denied: true" to the call.`
      : `failed: ${quote(message)}. If this is expected, add "fails: TEXT" to the call, with a part of this error.`;
  }
}

function ended(succeeded: boolean, message: string): string {
  if (succeeded) return "succeeded";
  return message === "" ? "did not end" : `failed: ${quote(message)}`;
}

/** Before the sentence of agent-jobs. */
const runtimePrefix = /^.*?Denied: /s;
