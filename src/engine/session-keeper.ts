/**
 * Which session serves a purpose, and when it ends. Owns the sessions of one run of one task and
 * reports their starts and ends; knows nothing of prompts, retries or verdicts.
 *
 * Invariants: at most one session is open; a crashed session is never used again; every session
 * that was started is ended exactly once (a borrowed one is neither started nor ended here).
 */
import type { Crash } from "../events/crash.ts";
import type { SessionRole } from "../events/decision.ts";
import type { Session } from "./ports.ts";
import { unlessStopped } from "./scope.ts";
import type { TaskContext } from "./task-context.ts";

export interface Request {
  readonly role: "driving" | "task";
  readonly modelId: string;
  readonly retry: number;
  readonly attempt: number;
}

export type Acquired =
  | { readonly kind: "ready"; readonly session: Session }
  | { readonly kind: "crashed"; readonly crash: Crash }
  | { readonly kind: "stopped" };

/** How long a stopped run still waits for what it stopped; a cancel must be over within 5 seconds. */
export const STOP_GRACE_MS = 2_000;

export class SessionKeeper {
  readonly #context: TaskContext;
  #open: { readonly session: Session; readonly role: SessionRole } | undefined;

  constructor(context: TaskContext) {
    this.#context = context;
  }

  async acquire(request: Request): Promise<Acquired> {
    const { mode, scope, ports, work, workingDirectory, permissions } = this.#context;
    if (mode.kind === "borrowed") return { kind: "ready", session: mode.session };
    if (this.#open !== undefined) return { kind: "ready", session: this.#open.session };

    const { modelId, retry, attempt } = request;
    const role: SessionRole = mode.kind === "single" ? "both" : request.role;
    const label = { ...work, role, modelId, retry, attempt };
    const opening = ports.sessions.open(
      { label, modelId, workingDirectory, permissions },
      scope.signal,
    );
    const opened = await unlessStopped(scope, ports.clock, STOP_GRACE_MS, opening);
    if (opened === undefined) {
      // It may still open after we have given up on it: then nobody else would close it.
      void opening.then((late) => (late.kind === "opened" ? late.session.close() : undefined));
      return { kind: "stopped" };
    }
    if (opened.kind === "crashed") {
      return scope.stopped === undefined ? opened : { kind: "stopped" };
    }
    const { session } = opened;
    this.#open = { session, role };
    ports.emit({
      type: "session.started",
      work,
      sessionId: session.id,
      modelId,
      role,
      retry,
      attempt,
    });
    return { kind: "ready", session };
  }

  /** The purpose is served: with multiple models its session is no longer needed. */
  async missionDone(wentWell: boolean): Promise<void> {
    if (this.#context.mode.kind === "multiple") await this.end(wentWell);
  }

  /** Ends the open session, if there is one. `succeeded`: as `taskSessionStopped` reports it. */
  async end(succeeded: boolean): Promise<void> {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    const { scope, ports, work } = this.#context;
    const { session, role } = open;
    await unlessStopped(scope, ports.clock, STOP_GRACE_MS, session.close());
    ports.emit({ type: "session.ended", work, sessionId: session.id, role, succeeded });
  }
}
