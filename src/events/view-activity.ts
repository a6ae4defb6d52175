/** What happens inside the sessions of a work, as a part of the fold in `view.ts`. */
import { clip } from "./cut.ts";
import type { WorkRef } from "./plan.ts";
import type { SessionActed } from "./event.ts";
import type { PermissionDenied } from "./session-activity.ts";
import { addUsage, KEPT_DENIALS, type RunView, type WorkView } from "./view-model.ts";
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
    case "tool.started":
      session?.tools.set(activity.toolCallId, { name: activity.toolName, startedAt: at });
      if (activity.toolName === "job_prepare_document") {
        view.reportedDocument = reportedDocument(activity.arguments) ?? view.reportedDocument;
      }
      return;
    case "tool.ended":
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

/** The value of `$reported-document` (docs/entry-format.md): the first line of what the tool was given. */
function reportedDocument(given: unknown): string | undefined {
  if (typeof given !== "object" || given === null || !("argument" in given)) return undefined;
  return typeof given.argument === "string"
    ? given.argument.split(/\r\n|\r|\n/, 1)[0]?.trim()
    : undefined;
}
