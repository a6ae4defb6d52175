/**
 * Opens and closes the sessions of one iteration of a task, one or more for its purposes, and emits their
 * starts and ends. It knows nothing of prompts, retries or verdicts.
 *
 * Invariants: at most one session is open; a crashed session is never used again; every session
 * that was started is ended exactly once (a borrowed one is neither started nor ended here).
 */
import type { SessionRole } from "../events/decision.ts";
import { type JobTool, type PreparedTask, availableTools, reportedBy } from "../entry/model.ts";
import { closeSession, offeredTools, openSession } from "./open-session.ts";
import type { AnswerFormat, PastMessage, Session, SessionRequest } from "./ports.ts";
import type { Acquired, SessionSource } from "./send-prompt.ts";
import type { TaskContext } from "./task-context.ts";
import type { Variables } from "./variables.ts";
import type { Crashed, Dialogue, RoundEnd, SendTurn, TurnSent } from "./dialogue.ts";
import { STOP_GRACE_MS, unlessStopped } from "./scope.ts";
import { bothEnds } from "../events/cut.ts";

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
  readonly #failed = new Set<string>();

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
    const { mode, spec, task, work, variables } = this.#context;
    if (mode.kind === "borrowed") return { kind: "ready", session: mode.session };
    if (this.#open !== undefined) return { kind: "ready", session: this.#open.session };

    const role: SessionRole = mode.kind === "single" ? "both" : request.role;
    const { workingDirectory, toolSource } = spec;
    const permissions = spec.permissionsOf(work.taskId);
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
      jobTools: jobToolsFor(role, task, variables),
      ...own,
      ...(role === "driving" ? {} : this.#withJobTools(own)),
    });
    if (acquired.kind === "ready") this.#open = { session: acquired.session, role };
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

/** Of the conversation that a session is given; about 100,000 tokens. */
const HISTORY_CHARACTERS = 400_000;

type SendFormatted = (text: string, format: AnswerFormat | undefined) => Promise<TurnSent>;

/**
 * The dialogue of one run of a task, as its sessions need it: started when the first of them is opened, and known to
 * each that replaces another. It sends nothing itself.
 */
export class TaskDialogue {
  readonly #context: TaskContext;
  readonly #start: () => Promise<Dialogue | Crashed>;
  #dialogue: Promise<Dialogue | Crashed> | undefined;
  #conversation: PastMessage[] = [];
  #introduced = false;

  constructor(context: TaskContext, start: () => Promise<Dialogue | Crashed>) {
    this.#context = context;
    this.#start = start;
  }

  /** Of a session that is opened now. Empty if the scope has stopped meanwhile. */
  async session(): Promise<Partial<SessionRequest> | Crashed> {
    const dialogue = await this.#started();
    if (dialogue === undefined) return {};
    if ("crash" in dialogue) return dialogue;
    const history = historyOf(this.#conversation);
    const answersFormatted = dialogue.answerFormat !== undefined;
    return { ...dialogue.session, answersFormatted, ...(history.length === 0 ? {} : { history }) };
  }

  async round(prompt: string, send: SendFormatted): Promise<RoundEnd | undefined> {
    const { mode, scope, ports } = this.#context;
    const dialogue = await this.#started();
    if (dialogue === undefined) return undefined;
    if ("crash" in dialogue) return { kind: "exhausted", crash: dialogue.crash };
    // Each round of a task with multiple models has a session of its own, which knows nothing of others.
    if (mode.kind === "multiple") this.#conversation = [];
    const introduction =
      mode.kind === "borrowed" && !this.#introduced
        ? dialogue.session.systemPrompt?.text
        : undefined;
    this.#introduced = true;
    let before = introduction === undefined ? "" : `${introduction}\n\n`;
    const turn: SendTurn = async (text) => {
      const sent = await send(before + text, dialogue.answerFormat);
      before = "";
      if (sent.kind === "completed") this.#record(text, sent.text);
      if (sent.kind === "too long") this.#record(text, "(This answer was too long, and is lost.)");
      return sent;
    };
    return unlessStopped(scope, ports.clock, STOP_GRACE_MS, dialogue.round(prompt, turn));
  }

  async close(): Promise<void> {
    const { scope, ports } = this.#context;
    if (this.#dialogue === undefined) return;
    // One that is still starting is closed then.
    const closed = this.#dialogue.then(
      (dialogue) => ("crash" in dialogue ? undefined : dialogue.close()),
      () => undefined,
    );
    await unlessStopped(scope, ports.clock, STOP_GRACE_MS, closed);
  }

  #started(): Promise<Dialogue | Crashed | undefined> {
    const { scope, ports } = this.#context;
    this.#dialogue ??= this.#start();
    return unlessStopped(scope, ports.clock, STOP_GRACE_MS, this.#dialogue);
  }

  #record(text: string, answer: string): void {
    this.#conversation.push({ role: "user", text }, { role: "assistant", text: answer });
  }
}

/** The task itself and the latest of the conversation: the rest of a very long one is left out. */
function historyOf(
  conversation: readonly PastMessage[],
  most = HISTORY_CHARACTERS,
): readonly PastMessage[] {
  const longest = Math.floor(most / 8);
  const messages = conversation.map(({ role, text }) => ({ role, text: bothEnds(text, longest) }));
  let rest = most - size(messages.slice(0, 2));
  let kept = messages.length;
  // Pairs of a prompt and its answer.
  while (kept > 2 && size(messages.slice(kept - 2, kept)) <= rest) {
    rest -= size(messages.slice(kept - 2, kept));
    kept -= 2;
  }
  return kept === 2 ? messages : [...messages.slice(0, 2), ...messages.slice(kept)];
}

function size(messages: readonly PastMessage[]): number {
  return messages.reduce((sum, { text }) => sum + text.length, 0);
}
