import { defined } from "../text/guards.ts";
import { truncateUnredacted } from "../text/truncate.ts";
import type { Decision } from "./decision.ts";
import type { RunEventBody, WorkRef } from "./event.ts";
import { UNKNOWN_TOOL, type SessionActivity } from "./session-activity.ts";

const REASON_CHARACTERS = 300;

/** A decision and the work it concerns. */
export interface DecisionOfWork {
  /** Null: it concerns the whole job. */
  readonly work: WorkRef | null;
  /** The decision and its reason. */
  readonly decision: Decision;
}

/** Used by everything that shows or counts decisions, after it has processed the event itself. */
export function decisionOf(event: RunEventBody): DecisionOfWork | undefined {
  switch (event.type) {
    case "decision":
      return event;
    case "session.started": {
      const { work, sessionId, modelId, role } = event;
      return { work, decision: { kind: "session-started", sessionId, modelId, role } };
    }
    case "session.ended": {
      const { work, sessionId, role } = event;
      return { work, decision: { kind: "session-ended", sessionId, role } };
    }
    case "activity": {
      const decision = ofActivity(event.activity);
      return decision && { work: event.work, decision };
    }
    default:
      return undefined;
  }
}

function ofActivity(activity: SessionActivity): Decision | undefined {
  switch (activity.kind) {
    case "permission.denied": {
      const { operation, target, reason } = activity;
      return { kind: "permission-denied", operation, target, reason };
    }
    case "model.failed": {
      const { statusCode, message } = activity;
      return {
        kind: "model-call-failed",
        ...defined({ statusCode }),
        ...(message === undefined
          ? {}
          : { reason: truncateUnredacted(message, REASON_CHARACTERS) }),
      };
    }
    case "tool.ended": {
      const { succeeded, stopped = false, toolName, error } = activity;
      // A denial has an event of its own, with more details.
      if (succeeded || stopped || error?.code === "denied" || error?.code === "rejected")
        return undefined;
      const reason = truncateUnredacted(error?.message ?? "no reason given", REASON_CHARACTERS);
      return { kind: "tool-call-failed", tool: toolName ?? UNKNOWN_TOOL, reason };
    }
    default:
      return undefined;
  }
}
