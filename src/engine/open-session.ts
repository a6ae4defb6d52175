/** The sessions of a work, with their events. Knows nothing of prompts, retries or verdicts. */
import {
  availableTools,
  reportedBy,
  type JobTool,
  type Permissions,
  type PreparedTask,
} from "../entry/model.ts";
import type { Crash } from "../events/crash.ts";
import type { SessionRole } from "../events/decision.ts";
import type { WorkRef } from "../events/event.ts";
import type { UsageBudget } from "./budgets.ts";
import type {
  Crashed,
  EnginePorts,
  ServerFailure,
  Session,
  SessionLabel,
  SessionRequest,
  ToolSource,
} from "./ports.ts";
import { unlessStopped, type Scope } from "./scope.ts";
import { canceled, type Acquired, type SessionSource } from "./send-prompt.ts";
import type { TaskContext } from "./task-context.ts";
import type { TaskDialogue } from "./task-dialogue.ts";
import type { Variables } from "./variables.ts";

export interface OpeningContext {
  readonly work: WorkRef;
  readonly scope: Scope;
  readonly ports: EnginePorts;
  readonly usage: UsageBudget;
}

export interface Opening extends Omit<SessionRequest, "label"> {
  readonly role: SessionRole;
  readonly retry: number;
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/** The tools that a session may call beside the runtime's own. Each optional server that can't be used is reported once. */
export async function offeredTools(
  { work, scope, ports }: OpeningContext,
  tooling: {
    readonly toolSource?: ToolSource | undefined;
    readonly permissions: Permissions;
    readonly only?: readonly string[];
    readonly reported: Set<string>;
  },
  signal: AbortSignal,
): Promise<Pick<SessionRequest, "tools" | "changedTools" | "readable"> | Crashed> {
  const { toolSource, permissions, only, reported } = tooling;
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
    readable,
    changedTools: async () => {
      const next = await offer.changed?.(scope.signal);
      next?.failures.forEach(report);
      return next?.tools;
    },
  };
}

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

export async function openSession(context: OpeningContext, opening: Opening): Promise<Acquired> {
  const { work, scope, ports, usage } = context;
  const { role, retry, attempt, signal, ...request } = opening;
  const { creditsLeft } = usage;
  const { modelId } = request;
  const label: SessionLabel = { ...work, role, modelId, retry, attempt };
  const opened = ports.sessions.open({ ...request, creditsLeft, label }, signal);
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

export async function closeSession(
  { work, scope, ports }: OpeningContext,
  session: Session,
  role: SessionRole,
  succeeded: boolean,
): Promise<void> {
  await unlessStopped(scope, ports.clock, session.close());
  ports.emit({ type: "session.ended", work, sessionId: session.id, role, succeeded });
}

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

export type TaskRole = Exclude<SessionRole, "both">;

/** At most one session of each role is open; one that crashed is never used again; a borrowed one is neither started nor ended. */
export class SessionKeeper {
  readonly #context: TaskContext;
  readonly #dialogue: TaskDialogue | undefined;
  readonly #open = new Map<SessionRole, Session>();
  readonly #reported = new Set<string>();

  constructor(context: TaskContext, dialogue: TaskDialogue | undefined) {
    this.#context = context;
    this.#dialogue = dialogue;
  }

  source(asked: TaskRole, retry: number): SessionSource {
    const { borrowed, isMultiple } = this.#context;
    const role = isMultiple ? asked : "both";
    return {
      acquire: async (modelId, attempt, signal) => {
        const session = borrowed ?? this.#open.get(role);
        if (session !== undefined) return { kind: "opened", session };
        // Sessions of a dialogue are not given the tools of the entry: the dialogue calls them.
        const own =
          this.#dialogue === undefined || role === "driving"
            ? await this.#offered(signal)
            : await this.#dialogue.session();
        if (this.#context.scope.stopped !== undefined) return canceled;
        if ("crash" in own) return own;
        const request: Opening = {
          role,
          retry,
          attempt,
          modelId,
          signal,
          ...this.#request(role, own),
        };
        const acquired = await openSession(this.#context, request);
        if (acquired.kind === "opened") this.#open.set(role, acquired.session);
        return acquired;
      },
      discard: () => this.close(role, false),
    };
  }

  async close(role: SessionRole, succeeded: boolean): Promise<void> {
    const session = this.#open.get(role);
    if (session === undefined) return;
    this.#open.delete(role);
    await closeSession(this.#context, session, role, succeeded);
  }

  async closeAll(succeeded: boolean): Promise<void> {
    await Promise.all([...this.#open.keys()].map((role) => this.close(role, succeeded)));
  }

  #offered(signal: AbortSignal): ReturnType<typeof offeredTools> {
    const { spec, work } = this.#context;
    const permissions = spec.permissionsOf(work.taskId);
    const tooling = { toolSource: spec.toolSource, permissions, reported: this.#reported };
    return offeredTools(this.#context, tooling, signal);
  }

  #request(role: SessionRole, own: Partial<SessionRequest>) {
    const { spec, task, work, variables, jobTools } = this.#context;
    const { tools = [], changedTools } = own;
    return {
      workingDirectory: spec.workingDirectory,
      permissions: spec.permissionsOf(work.taskId),
      jobTools: jobToolsFor(role, task, variables),
      ...own,
      ...this.#systemPrompt(own),
      ...(role !== "driving" &&
        jobTools.length > 0 && {
          tools: [...tools, ...jobTools],
          changedTools:
            changedTools &&
            (async () => {
              const changed = await changedTools();
              return changed && [...changed, ...jobTools];
            }),
        }),
    };
  }

  /** The author's, the instructions of the repository, and the system prompt of a dialogue, in this order. */
  #systemPrompt({ systemPrompt }: Partial<SessionRequest>): Partial<SessionRequest> {
    const { task, variables, spec, work } = this.#context;
    const instructions = spec.instructionsOf?.(work.taskId);
    if (task.system === undefined && instructions === undefined) return {};
    const { prompt, mode = "append" } = task.system ?? {};
    const parts = [prompt && variables.expand(prompt), instructions, systemPrompt?.text];
    const text = parts.filter((part) => part !== undefined && part !== "").join("\n\n");
    return { systemPrompt: { mode, text: text.trim() } };
  }
}

/** Each tool makes a session more expensive for the runtime. Those that give a verdict belong together. */
export function jobToolsFor(
  role: SessionRole,
  { prompt, system, availability, criteria }: PreparedTask,
  variables: Variables,
): readonly JobTool[] {
  const conditions = [availability?.condition, criteria?.condition];
  const texts = JSON.stringify([
    role === "driving" ? [] : [prompt, system, criteria?.toolExecuted, criteria?.failureAction],
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
