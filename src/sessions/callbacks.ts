import type { CopilotClient, CopilotSession } from "@github/copilot-sdk";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import type { Clock } from "../platform/clock.ts";
import type { Session } from "../engine/ports.ts";
import { availableTools } from "../entry/model.ts";
import type { SessionActivity } from "../events/session-activity.ts";
import { systemClock } from "../platform/system-clock.ts";
import { endMarkedProcesses } from "../platform/processes.ts";
import { bestEffort, within, yieldToEventLoop } from "../platform/waiting.ts";
import { type OpenSession, sessionConfig } from "./copilot-session.ts";
import { OwnCalls, ToolNames } from "./session-tools.ts";
import { Translator } from "./translate.ts";
import { runTurn, SessionStop } from "./turn.ts";

/** A conversation with a model. Made by `helperSessionStart` or `startSession`. */
export interface ICopilotSession {
  /** The SDK's own session. */
  get rawSection(): CopilotSession;
  /** Waits until the session is done. Rejects if it crashes, or is in use by another prompt or task. `timeout` in ms. */
  sendRequest(message: string, timeout?: number): Promise<void>;
  /** Ends the session, also its files. Must be called when it is no longer used. */
  stop(): Promise<void>;
}

/** Called while a session runs. Each start has its end. */
export interface ICopilotSessionCallbacks {
  /** The model begins to reason. */
  onStartReasoning(reasoningId: string): void;
  /** A piece of it. */
  onReasoning(reasoningId: string, delta: string): void;
  /** All of it. */
  onEndReasoning(reasoningId: string, completeContent: string): void;
  /** The model begins to answer. */
  onStartMessage(messageId: string): void;
  /** A piece of the answer. */
  onMessage(messageId: string, delta: string): void;
  /** All of the answer. */
  onEndMessage(messageId: string, completeContent: string): void;
  /** A tool was called; the arguments are JSON. */
  onStartToolExecution(
    toolCallId: string,
    parentToolCallId: string | undefined,
    toolName: string,
    toolArguments: string,
  ): void;
  /** A piece of its output. */
  onToolExecution(toolCallId: string, delta: string): void;
  /** It has ended: with a result, or with an error. */
  onEndToolExecution(
    toolCallId: string,
    result: { content: string; detailedContent?: string } | undefined,
    error: { message: string; code?: string } | undefined,
  ): void;
  /** The model is asked. */
  onAgentStart(turnId: string): void;
  /** The model has been asked, and its tools have run. */
  onAgentEnd(turnId: string): void;
  /** The session is done with the prompt. */
  onIdle(): void;
}

export function callBack(callback: ICopilotSessionCallbacks, activity: SessionActivity): void {
  switch (activity.kind) {
    case "reasoning.started":
      return callback.onStartReasoning(activity.reasoningId);
    case "reasoning.delta":
      return callback.onReasoning(activity.reasoningId, activity.text);
    case "reasoning.ended":
      return callback.onEndReasoning(activity.reasoningId, activity.text);
    case "message.started":
      return callback.onStartMessage(activity.messageId);
    case "message.delta":
      return callback.onMessage(activity.messageId, activity.text);
    case "message.ended":
      return callback.onEndMessage(activity.messageId, activity.text);
    case "tool.started":
      return callback.onStartToolExecution(
        activity.toolCallId,
        activity.parentToolCallId,
        activity.toolName,
        JSON.stringify(activity.arguments),
      );
    case "tool.delta":
      return callback.onToolExecution(activity.toolCallId, activity.text);
    case "tool.ended":
      return callback.onEndToolExecution(activity.toolCallId, activity.result, activity.error);
    case "agent.started":
      return callback.onAgentStart(activity.agentTurnId);
    case "agent.ended":
      return callback.onAgentEnd(activity.agentTurnId);
    case "idle":
      return callback.onIdle();
    case "tool.announced":
    case "sub-agent.tool.failed":
    case "model.replied":
    case "model.used":
    case "model.failed":
    case "permission.denied":
      return undefined;
  }
}

const longMs = 24 * 60 * 60_000;

interface CallbackSessionOptions {
  readonly open: OpenSession;
  readonly clock: Clock;
  readonly callback?: ICopilotSessionCallbacks;
  readonly shown?: ((activity: SessionActivity) => readonly SessionActivity[]) | undefined;
}

export class CallbackSession implements ICopilotSession {
  readonly open: OpenSession;
  readonly #options: CallbackSessionOptions;
  readonly #translator = new Translator();
  #stopping: Promise<void> | undefined;

  constructor(options: CallbackSessionOptions) {
    const { open, callback } = options;
    this.open = open;
    this.#options = options;
    if (callback === undefined) return;
    // The callbacks follow the session itself, so they also see what is sent through `rawSection`.
    open.session.on((event) => this.#tell(this.#translator.translate(event)));
    open.life.onDeath(() => this.#tell(this.#translator.close()));
  }

  get rawSection(): CopilotSession {
    return this.open.session;
  }

  async sendRequest(message: string, timeout?: number): Promise<void> {
    if (timeout !== undefined && !(timeout >= 0)) {
      throw new RangeError(`timeout must be a number of milliseconds, 0 or more, not ${timeout}.`);
    }
    const { clock } = this.#options;
    const { session, stopped } = this.open;
    const turnMs = timeout ?? longMs;
    const use = await enter(session, clock);
    const forget = session.on("session.idle", () => (use.isEnding = true));
    const turn = { signal: stopped.signal, turnMs, idleMs: turnMs, onActivity: () => {} };
    const running = runTurn(this.open, message, turn, { clock });
    const outcome = await running.finally(() => {
      forget();
      use.leave();
    });
    if (outcome.kind === "crashed") {
      const { crash } = outcome;
      const isLate = crash.cause === "deadline" && timeout !== undefined;
      const reason = isLate ? `The turn did not end within ${timeout} ms.` : crash.message;
      throw new Error(reason, { cause: crash });
    }
    if (outcome.kind === "canceled") throw new Error("The session was stopped.");
  }

  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  async #stop(): Promise<void> {
    const { session, life, end, stopped } = this.open;
    stopped.stop();
    if (!life.gone) await bestEffort(() => session.abort(), 1_500, this.#options.clock);
    await end();
    this.#tell(this.#translator.close());
  }

  #tell(activities: readonly SessionActivity[]): void {
    const { callback, shown = (activity) => [activity] } = this.#options;
    if (callback === undefined) return;
    for (const activity of activities.flatMap(shown)) {
      try {
        callBack(callback, activity);
      } catch {
        // A listener's fault is not the session's.
      }
    }
  }
}

/** Starts a read-only session with the job tools and `view` on any client. `workingDirectory`: default, the current. */
export async function startSession(
  client: CopilotClient,
  modelId: string,
  callback: ICopilotSessionCallbacks,
  workingDirectory: string = process.cwd(),
): Promise<ICopilotSession> {
  const id = randomUUID();
  const clock = systemClock;
  const calls = new OwnCalls();
  const session = await client.createSession(
    sessionConfig({
      id,
      modelId,
      workingDirectory,
      permissions: "read-only",
      outputDirectory: tmpdir(),
      requests: "direct",
      // No searches: only our own runtimes keep files of credentials out of them.
      availableTools: ["view", ...availableTools],
      onActivity: calls.tell,
      calls,
      clock,
    }),
  );
  const end = async (): Promise<void> => {
    await bestEffort(() => session.disconnect(), 2_000, clock);
    await bestEffort(() => client.deleteSession(id), 2_000, clock);
    await endMarkedProcesses("COPILOT_AGENT_SESSION_ID", id).catch(() => undefined);
  };
  const open = { ...foreign(session, modelId), calls, end };
  return new CallbackSession({ open, clock, callback });
}

/** A session that others have opened. We can't see the process of its runtime. */
function foreign(session: CopilotSession, modelId: string): OpenSession {
  return {
    session,
    life: {
      gone: false,
      ended: false,
      onDeath: () => () => {},
      answer: (call, milliseconds, signal) => within(call, milliseconds, systemClock, signal),
    },
    model: { modelId, baseUrl: undefined },
    calls: new OwnCalls(),
    names: new ToolNames([]),
    stopped: new SessionStop(),
    refresh: () => Promise.resolve(),
    end: () => Promise.resolve(),
  };
}

/** Adapts a session of the caller to the port of the engine. `close()` leaves it open. */
export function adoptSession(
  session: ICopilotSession,
  { modelId, clock }: { readonly modelId: string; readonly clock: Clock },
): Session {
  const { rawSection } = session;
  const open = session instanceof CallbackSession ? session.open : foreign(rawSection, modelId);
  return {
    id: rawSection.sessionId,
    modelId,
    runTurn: (prompt, turn) => runTurn(open, prompt, turn, { clock }),
    close: () => Promise.resolve(),
  };
}

export async function modelOfSession(
  session: ICopilotSession,
  clock: Clock,
): Promise<string | undefined> {
  try {
    const asked = await within(session.rawSection.rpc.model.getCurrent(), 2_000, clock);
    return asked?.value.modelId;
  } catch {
    return undefined;
  }
}

/* One user of a session at a time: a prompt of its owner, a task that borrows it, or the task that opened it. */

export const BUSY =
  "The session is busy: it is still working on a prompt, or a task is running in it.";

/** A use that has reported its end may take a moment longer to be over. */
const MOMENT_MS = 1_000;

interface Use {
  readonly over: Promise<void>;
  isEnding: boolean;
  readonly leave: () => void;
}

/** Keyed by the SDK's session, because several of our objects may wrap the same one. */
const uses = new WeakMap<CopilotSession, Use>();

export function occupy(session: CopilotSession): Use {
  let end = (): void => {};
  const over = new Promise<void>((resolve) => (end = resolve));
  const use: Use = {
    over,
    isEnding: false,
    leave: () => {
      if (uses.get(session) === use) uses.delete(session);
      end();
    },
  };
  uses.set(session, use);
  return use;
}

/** Like `occupy`, but rejects if the session is in use, except by what ends within a moment. */
export async function enter(session: CopilotSession, clock: Clock): Promise<Use> {
  // Called by a listener of the end, it may come before the one that notes it here.
  if (uses.has(session)) await yieldToEventLoop();
  const current = uses.get(session);
  if (current?.isEnding === true) await within(current.over, MOMENT_MS, clock);
  if (uses.has(session)) throw new Error(BUSY);
  return occupy(session);
}
