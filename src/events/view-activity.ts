/** What happens inside the sessions of a work, as a part of the fold in `view.ts`. */
import { defined, isRecord } from "../document/guards.ts";
import { clip, cutStart } from "./cut.ts";
import type { WorkRef } from "./plan.ts";
import type { SessionActed } from "./event.ts";
import type { PermissionDenied, ToolEnded } from "./session-activity.ts";
import {
  addUsage,
  KEPT_COMMANDS,
  KEPT_DENIALS,
  type RunView,
  type WorkView,
} from "./view-model.ts";
import { count, delegateIn, hasProtocol } from "./view-works.ts";

export const MAX_MESSAGE = 64 * 1024;
const MAX_DENIAL_TEXT = 500;

export function applyActivity(
  view: RunView,
  work: WorkView,
  { work: ref, sessionId, activity }: SessionActed,
  at: number,
): void {
  const session = work.sessions.get(sessionId);
  switch (activity.kind) {
    case "message.delta":
    case "reasoning.delta":
      if (session !== undefined) session.streamed += activity.text.length;
      return;
    case "reasoning.ended":
      if (session !== undefined) session.streamed = 0;
      return;
    case "message.ended":
      if (session !== undefined) session.streamed = 0;
      if (activity.text.trim() === "" || (session?.purpose ?? "prompt") !== "prompt") return;
      // A document has its own event, with the response for people.
      if (delegateIn(work, ref) !== undefined || hasProtocol(view, ref)) return;
      keepMessage(view, work, activity.text);
      return;
    case "tool.started": {
      const command = textIn(activity.arguments, "command");
      session?.tools.set(activity.toolCallId, {
        name: activity.toolName,
        startedAt: at,
        ...defined({ command }),
      });
      if (activity.toolName === "job_prepare_document") {
        view.reportedDocument = reportedDocument(activity.arguments) ?? view.reportedDocument;
      }
      return;
    }
    case "tool.ended":
      keepCommand(view, ref, activity, session?.tools.get(activity.toolCallId)?.command);
      session?.tools.delete(activity.toolCallId);
      return;
    case "model.used":
      addUsage(work, activity);
      addUsage(view.totals, activity);
      return;
    case "permission.denied":
      count(view, work, "denials", 1);
      keepDenial(view, ref, activity);
      return;
    default:
      return;
  }
}

/** What a work says to people. */
export function keepMessage(view: RunView, work: WorkView, text: string): void {
  work.lastMessage = clip(text, MAX_MESSAGE);
  view.lastSpeaker = work.workId;
}

function keepDenial(view: RunView, { workId, taskId }: WorkRef, denied: PermissionDenied): void {
  const operation = clip(denied.operation, MAX_DENIAL_TEXT);
  const target = clip(denied.target, MAX_DENIAL_TEXT);
  const reason = clip(denied.reason, MAX_DENIAL_TEXT);
  const known = view.denials.find(
    (entry) =>
      entry.workId === workId &&
      entry.taskId === taskId &&
      entry.operation === operation &&
      entry.target === target &&
      entry.reason === reason,
  );
  if (known !== undefined) known.count += 1;
  else if (view.denials.length < KEPT_DENIALS) {
    view.denials.push({ workId, taskId, operation, target, reason, count: 1 });
  }
}

function keepCommand(
  view: RunView,
  { workId, taskId }: WorkRef,
  { exitCode, result, toolName = "", stopped }: ToolEnded,
  given: string | undefined,
): void {
  if (exitCode === undefined || stopped === true) return;
  view.failedCommandCount += 1;
  const command = clip(given ?? toolName, MAX_DENIAL_TEXT);
  const known = view.failedCommands.find(
    (entry) =>
      entry.workId === workId &&
      entry.taskId === taskId &&
      entry.command === command &&
      entry.exitCode === exitCode,
  );
  if (known !== undefined) known.count += 1;
  else if (view.failedCommands.length < KEPT_COMMANDS) {
    // The last line is the runtime's own: `<shellId: 0 completed with exit code 1>`.
    const lines = (result?.content ?? "").trim().split("\n");
    if (/^<shellId: .*>$/.test(lines.at(-1) ?? "")) lines.pop();
    const output = lines.join("\n");
    view.failedCommands.push({
      workId,
      taskId,
      command,
      exitCode,
      output: cutStart(output, MAX_DENIAL_TEXT),
      count: 1,
    });
  }
}

/** The value of `$reported-document` (docs/entry-format.md): the first line of what the tool was given. */
function reportedDocument(given: unknown): string | undefined {
  return textIn(given, "argument")
    ?.split(/\r\n|\r|\n/, 1)[0]
    ?.trim();
}

function textIn(value: unknown, key: string): string | undefined {
  const found: unknown = isRecord(value) ? value[key] : undefined;
  return typeof found === "string" ? found : undefined;
}
