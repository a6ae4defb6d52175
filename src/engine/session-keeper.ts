/**
 * Opens and closes the sessions of one iteration of a task, one or more for its purposes, and emits their
 * starts and ends. It knows nothing of prompts, retries or verdicts.
 *
 * Invariants: at most one session is open; a crashed session is never used again; every session
 * that was started is ended exactly once (a borrowed one is neither started nor ended here).
 */
import type { SessionRole } from "../events/decision.ts";
import { availableTools, reportedBy, type JobTool } from "../entry/model.ts";
import { closeSession, offeredTools, openSession } from "./open-session.ts";
import type { Session } from "./ports.ts";
import type { Acquired, SessionSource } from "./send-prompt.ts";
import type { TaskContext } from "./task-context.ts";
import type { TaskDialogue } from "./task-dialogue.ts";

interface Request {
  readonly role: "driving" | "task";
  readonly modelId: string;
  readonly retry: number;
  readonly attempt: number;
  readonly signal: AbortSignal;
}

export class SessionKeeper {
  readonly #context: TaskContext;
  readonly #dialogue: TaskDialogue | undefined;
  #open: { readonly session: Session; readonly role: SessionRole } | undefined;
  /** Servers that were reported as failed. */
  readonly #failed = new Set<string>();

  /** `dialogue`: of the sessions for the prompt of the task. */
  constructor(context: TaskContext, dialogue: TaskDialogue | undefined) {
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
    const { mode, workingDirectory, permissions, toolSource } = this.#context;
    if (mode.kind === "borrowed") return { kind: "ready", session: mode.session };
    if (this.#open !== undefined) return { kind: "ready", session: this.#open.session };

    const role: SessionRole = mode.kind === "single" ? "both" : request.role;
    const tooling = { toolSource, permissions, reported: this.#failed };
    // Sessions of a dialogue are not given the tools of the entry: the dialogue calls them.
    const own =
      this.#dialogue === undefined || role === "driving"
        ? await offeredTools(this.#context, tooling, request.signal)
        : await this.#dialogue.session();
    if (this.#context.scope.stopped !== undefined) return { kind: "canceled", toolCalls: [] };
    if ("crash" in own) return own;
    const acquired = await openSession(this.#context, {
      ...request,
      role,
      workingDirectory,
      permissions,
      jobTools: jobToolsFor(role, this.#context),
      ...own,
    });
    if (acquired.kind === "ready") this.#open = { session: acquired.session, role };
    return acquired;
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
function jobToolsFor(role: SessionRole, { task, variables }: TaskContext): readonly JobTool[] {
  const { prompt, availability, criteria } = task;
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
