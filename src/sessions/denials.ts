/** The denials of one session, for the one stream of what happens in it. */
import type { CopilotSession, SessionEvent } from "@github/copilot-sdk";
import type { PermissionDenied, SessionActivity } from "../events/session-activity.ts";
import { namedByRuntime } from "./permission-request.ts";

export interface DenialSource {
  /** Returns the way to unsubscribe. */
  follow(listener: (denial: PermissionDenied) => void): () => void;
}

/** Denials in our own sessions, reported by the permission handler. */
export class Denials implements DenialSource {
  readonly #listeners = new Set<(denial: PermissionDenied) => void>();

  readonly tell = (activity: SessionActivity): void => {
    if (activity.kind !== "permission.denied") return;
    for (const listener of this.#listeners) listener(activity);
  };

  follow(listener: (denial: PermissionDenied) => void): () => void {
    // Each follower has its own entry, also if two share a function.
    const own = (denial: PermissionDenied): void => listener(denial);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }
}

/** Denials in a session of the caller, with its own permission handler: read from its events. */
export function denialsOf(session: Pick<CopilotSession, "on">): DenialSource {
  return {
    follow(listener) {
      const asked = new Map<string, Requested>();
      return session.on((event) => {
        if (event.type === "permission.requested")
          asked.set(event.data.requestId, event.data.permissionRequest);
        if (event.type !== "permission.completed") return;
        const request = asked.get(event.data.requestId);
        asked.delete(event.data.requestId);
        const reason = reasonOf(event.data.result);
        if (reason === undefined) return;
        const [operation, target] =
          request === undefined ? ["tool", "this request"] : namedByRuntime(request);
        listener({ kind: "permission.denied", operation, target, reason });
      });
    },
  };
}

type Requested = Extract<
  SessionEvent,
  { type: "permission.requested" }
>["data"]["permissionRequest"];
type Result = Extract<SessionEvent, { type: "permission.completed" }>["data"]["result"];

/** Undefined: it was no denial. */
function reasonOf(result: Result): string | undefined {
  switch (result.kind) {
    case "denied-interactively-by-user":
      return result.feedback ?? "denied by the owner of the session";
    case "denied-by-permission-request-hook":
      return result.message ?? "denied by a hook";
    case "denied-by-content-exclusion-policy":
      return result.message;
    case "denied-by-rules":
      return "denied by rules of the session";
    case "denied-no-approval-rule-and-could-not-request-from-user":
      return "no user was there to approve it";
    default:
      return undefined;
  }
}
