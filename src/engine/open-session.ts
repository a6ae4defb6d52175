/**
 * The start and the end of a session of a work, with their events: the same for tasks and for workflows. And which
 * sessions a task has. It knows nothing of prompts, retries or verdicts.
 */
import { defined } from "../document/guards.ts";
import type { Crash } from "../events/crash.ts";
import type { SessionRole } from "../events/decision.ts";
import type { WorkRef } from "../events/event.ts";
import type { Crashed } from "./dialogue.ts";
import {
  availableTools,
  reportedBy,
  type JobTool,
  type Permissions,
  type PreparedTask,
} from "../entry/model.ts";
import type {
  EnginePorts,
  ServerFailure,
  Session,
  SessionLabel,
  SessionRequest,
  ToolSource,
} from "./ports.ts";
import { unlessStopped, type Scope } from "./scope.ts";
import type { Acquired, SessionSource } from "./send-prompt.ts";
import type { TaskContext } from "./task-context.ts";
import type { Variables } from "./variables.ts";

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
  const offer = await unlessStopped(scope, ports.clock, offering);
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
  const result = await unlessStopped(scope, ports.clock, opened);
  if (result === undefined) {
    // It may still open after the wait ended, and then nothing else would close it.
    void opened.then((late) => (late.kind === "opened" ? late.session.close() : undefined));
    return canceled;
  }
  if (result.kind === "crashed") return scope.stopped === undefined ? result : canceled;
  const sessionId = result.session.id;
  ports.emit({ type: "session.started", work, sessionId, modelId, role, retry, attempt });
  return result;
}

/** `succeeded`: as `taskSessionStopped` reports it. */
export async function closeSession(
  { work, scope, ports }: OpeningContext,
  session: Session,
  role: SessionRole,
  succeeded: boolean,
): Promise<void> {
  await unlessStopped(scope, ports.clock, session.close());
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

/** What a dialogue asks of a session for its turns. */
type OfDialogue = () => Promise<Partial<SessionRequest> | Crashed>;

interface Request {
  readonly role: "driving" | "task";
  readonly modelId: string;
  readonly retry: number;
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/**
 * Opens and closes the sessions of one iteration of a task, one or more for its purposes. Invariants: at most one is
 * open; one that crashed is never used again; each that was started is ended exactly once (a borrowed one is neither
 * started nor ended here).
 */
export class SessionKeeper {
  readonly #context: TaskContext;
  readonly #dialogue: OfDialogue | undefined;
  #open: { readonly session: Session; readonly role: SessionRole } | undefined;
  readonly #failed = new Set<string>();

  constructor(context: TaskContext, dialogue: OfDialogue | undefined) {
    this.#context = context;
    this.#dialogue = dialogue;
  }

  /** Where the attempts of one prompt get their sessions. `retry`: 0, else the criteria retry. */
  source(role: "driving" | "task", retry: number): SessionSource {
    return {
      acquire: (modelId, attempt, signal) =>
        this.#acquire({ role, retry, modelId, attempt, signal }),
      discard: () => this.end(false),
    };
  }

  async #acquire(request: Request): Promise<Acquired> {
    const { mode, spec, task, work, variables } = this.#context;
    if (mode.kind === "borrowed") return { kind: "opened", session: mode.session };
    if (this.#open !== undefined) return { kind: "opened", session: this.#open.session };

    const role: SessionRole = mode.kind === "single" ? "both" : request.role;
    const { workingDirectory, toolSource } = spec;
    const permissions = spec.permissionsOf(work.taskId);
    const tooling = { toolSource, permissions, reported: this.#failed };
    // Sessions of a dialogue are not given the tools of the entry: the dialogue calls them.
    const own =
      this.#dialogue === undefined || role === "driving"
        ? await offeredTools(this.#context, tooling, request.signal)
        : await this.#dialogue();
    if (this.#context.scope.stopped !== undefined) return canceled;
    if ("crash" in own) return own;
    const acquired = await openSession(this.#context, {
      ...request,
      role,
      workingDirectory,
      permissions,
      jobTools: jobToolsFor(role, task, variables),
      ...own,
      ...(role === "driving" ? {} : this.#withJobTools(own)),
    });
    if (acquired.kind === "opened") this.#open = { session: acquired.session, role };
    return acquired;
  }

  #withJobTools({ tools = [], changedTools }: Partial<SessionRequest>): Partial<SessionRequest> {
    const { jobTools } = this.#context;
    if (jobTools.length === 0) return {};
    return {
      tools: [...tools, ...jobTools],
      ...(changedTools && {
        changedTools: async () => {
          const changed = await changedTools();
          return changed && [...changed, ...jobTools];
        },
      }),
    };
  }

  /** The purpose is served: with multiple models its session is no longer needed. */
  async purposeServed(wentWell: boolean): Promise<void> {
    if (this.#context.mode.kind === "multiple") await this.end(wentWell);
  }

  /** Ends the open session, if there is one. `succeeded`: as `taskSessionStopped` reports it. */
  async end(succeeded: boolean): Promise<void> {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    await closeSession(this.#context, open.session, open.role, succeeded);
  }
}

/**
 * Each tool makes a session more expensive for the runtime, so a session is offered those that its texts name, or whose
 * variables they use. Those that give a verdict belong together, and to every condition.
 */
function jobToolsFor(
  role: SessionRole,
  { prompt, availability, criteria }: PreparedTask,
  variables: Variables,
): readonly JobTool[] {
  const conditions = [availability?.condition, criteria?.condition];
  const texts = JSON.stringify([
    role === "driving" ? [] : [prompt, criteria?.toolExecuted, criteria?.failureAction],
    role === "task" ? [] : conditions,
    variables.given,
  ]);
  const used = new Set<string>(availableTools.filter((name) => texts.includes(name)));
  for (const [variable, tool] of Object.entries(reportedBy))
    if (texts.includes(`$${variable}`)) used.add(tool);
  const judges =
    (role !== "task" && conditions.some((one) => one !== undefined)) ||
    availableTools.some((name) => name !== "job_prepare_document" && used.has(name));
  return availableTools.filter((name) =>
    name === "job_prepare_document" ? used.has(name) : judges,
  );
}
