/** The start and the end of a session of a work, with their events: the same for tasks and for workflows. */
import { defined } from "../document/guards.ts";
import type { Crash } from "../events/crash.ts";
import type { SessionRole } from "../events/decision.ts";
import type { WorkRef } from "../events/event.ts";
import type { Crashed } from "./dialogue.ts";
import type { Permissions } from "../entry/model.ts";
import type {
  EnginePorts,
  ServerFailure,
  Session,
  SessionLabel,
  SessionRequest,
  ToolSource,
} from "./ports.ts";
import { STOP_GRACE_MS, unlessStopped, type Scope } from "./scope.ts";
import type { Acquired } from "./send-prompt.ts";

export interface OpeningContext {
  readonly work: WorkRef;
  /** Of the work; the signal of the request may abort before. */
  readonly scope: Scope;
  readonly ports: EnginePorts;
}

export interface Opening extends Omit<SessionRequest, "label"> {
  readonly role: SessionRole;
  readonly retry: number;
  readonly attempt: number;
  readonly signal: AbortSignal;
}

interface Tooling {
  readonly toolSource?: ToolSource | undefined;
  readonly permissions: Permissions;
  readonly only?: readonly string[];
  /** Failures of servers that were reported; added to. */
  readonly reported: Set<string>;
}

/** What a session may call beside the runtime's own tools. Each optional server that can't be used is reported once. */
export async function offeredTools(
  { work, scope, ports }: OpeningContext,
  { toolSource, permissions, only, reported }: Tooling,
  signal: AbortSignal,
): Promise<Pick<SessionRequest, "tools" | "changedTools" | "readable"> | Crashed> {
  if (toolSource === undefined) return {};
  const offering = toolSource.offer(permissions, signal, only);
  const offer = await unlessStopped(scope, ports.clock, STOP_GRACE_MS, offering);
  if (offer === undefined) return {};
  const report = ({ server, reason }: ServerFailure): void => {
    const failure = `${server}: ${reason}`;
    if (reported.has(failure)) return;
    reported.add(failure);
    const decision = { kind: "tool-server-failed", server, reason } as const;
    ports.emit({ type: "decision", work, decision });
  };
  const crash = crashOf(offer.failures, report);
  if (crash !== undefined) return { kind: "crashed", crash };
  const { tools, readable } = offer;
  return {
    tools,
    ...defined({ readable }),
    changedTools: async () => {
      const next = await offer.changed?.(scope.signal);
      next?.failures.forEach(report);
      return next?.tools;
    },
  };
}

/** Reports optional servers that can't be used. Returns a crash if a required one can't be used. */
export function crashOf(
  failures: readonly ServerFailure[],
  report: (failure: ServerFailure) => void,
): Crash | undefined {
  const required = failures.filter(({ isRequired }) => isRequired === true);
  for (const failure of failures) if (!required.includes(failure)) report(failure);
  if (required.length === 0) return undefined;
  const reasons = required.map(
    ({ server, reason }) => `The MCP server ${server} can't be used. ${reason}`,
  );
  return { cause: "configuration", message: reasons.join("\n") };
}

const canceled = { kind: "canceled", toolCalls: [] } as const;

export async function openSession(context: OpeningContext, opening: Opening): Promise<Acquired> {
  const { work, scope, ports } = context;
  const { role, retry, attempt, signal, ...request } = opening;
  const { modelId } = request;
  const label: SessionLabel = { ...work, role, modelId, retry, attempt };
  const opened = ports.sessions.open({ ...request, label }, signal);
  const result = await unlessStopped(scope, ports.clock, STOP_GRACE_MS, opened);
  if (result === undefined) {
    // It may still open after the wait ended, and then nothing else would close it.
    void opened.then((late) => (late.kind === "opened" ? late.session.close() : undefined));
    return canceled;
  }
  if (result.kind === "crashed") return scope.stopped === undefined ? result : canceled;
  const { session } = result;
  const sessionId = session.id;
  ports.emit({ type: "session.started", work, sessionId, modelId, role, retry, attempt });
  return { kind: "ready", session };
}

/** `succeeded`: as `taskSessionStopped` reports it. */
export async function closeSession(
  { work, scope, ports }: OpeningContext,
  session: Session,
  role: SessionRole,
  succeeded: boolean,
): Promise<void> {
  await unlessStopped(scope, ports.clock, STOP_GRACE_MS, session.close());
  ports.emit({ type: "session.ended", work, sessionId: session.id, role, succeeded });
}

/** All sessions of the run may read the folder, too. */
export function withReadable(ports: EnginePorts, folder: string | undefined): EnginePorts {
  if (folder === undefined) return ports;
  const { sessions } = ports;
  return {
    ...ports,
    sessions: {
      open: (request, signal) =>
        sessions.open({ ...request, readable: [...(request.readable ?? []), folder] }, signal),
    },
  };
}
