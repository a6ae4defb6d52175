/** The engine's `Session` on a session of the Copilot runtime, and the factory that opens them. */
import { randomUUID } from "node:crypto";
import type { Clock } from "../platform/clock.ts";
import type {
  Opened,
  Session,
  SessionFactory,
  SessionRequest,
  TurnOptions,
  TurnOutcome,
} from "../engine/ports.ts";
import type { Crash } from "../events/crash.ts";
import { linkSignals } from "../platform/waiting.ts";
import type { ModelProbe } from "./model-probe.ts";
import type { Conversation } from "./request-handler.ts";
import { unlessUnconfined } from "./confinement.ts";
import {
  canceled,
  openCopilotSession,
  type OpenSession,
  type SessionContext,
} from "./copilot-session.ts";
import { occupy } from "./session-use.ts";
import type { ModelTransport } from "./transport.ts";
import { runTurn } from "./turn.ts";

interface SessionFactoryOptions extends SessionContext {
  /** Session id → what its model requests need. */
  readonly conversations: Map<string, Conversation>;
  /** Answers their requests. Absent: what the runtimes were started with. */
  readonly transport?: ModelTransport | undefined;
  /** Session id → the sessions that are open now. */
  readonly open: Map<string, OpenSession>;
  /** Why no session can be opened at all; undefined when one can. */
  readonly refusal?: Crash | undefined;
}

export class CopilotSessionFactory implements SessionFactory {
  readonly #options: SessionFactoryOptions;

  constructor(options: SessionFactoryOptions) {
    this.#options = options;
  }

  async open(request: SessionRequest, signal: AbortSignal): Promise<Opened> {
    const { clock, conversations, refusal, transport } = this.#options;
    if (signal.aborted) return canceled;
    if (refusal !== undefined) return { kind: "crashed", crash: refusal };
    const id = randomUUID();
    const { label, history = [] } = request;
    const conversation: Conversation = { label, history, transport };
    conversations.set(id, conversation);
    const opened = await openCopilotSession(this.#options, { ...request, id }, signal);
    if (!("session" in opened)) {
      conversations.delete(id);
      return opened;
    }
    conversation.toolNames = opened.names.renamed;
    const { open } = this.#options;
    open.set(id, opened);
    const leave = occupy(opened.session);
    const closed = (): void => {
      leave();
      conversations.delete(id);
      open.delete(id);
    };
    const { probe } = this.#options;
    const { modelId } = request;
    const session = new JobSession({ open: opened, conversation, modelId, clock, probe, closed });
    return { kind: "opened", session };
  }
}

interface JobSessionOptions {
  readonly open: OpenSession;
  readonly conversation: Conversation;
  readonly modelId: string;
  readonly clock: Clock;
  readonly probe: ModelProbe | undefined;
  readonly closed: () => void;
}

class JobSession implements Session {
  readonly id: string;
  readonly modelId: string;
  #running: Promise<TurnOutcome> | undefined;
  #closing: Promise<void> | undefined;
  readonly #closed = new AbortController();
  readonly #open: OpenSession;
  readonly #conversation: Conversation;
  readonly #clock: Clock;
  readonly #probe: ModelProbe | undefined;
  readonly #onClosed: () => void;

  constructor({ open, conversation, modelId, clock, probe, closed }: JobSessionOptions) {
    this.#open = open;
    this.#conversation = conversation;
    this.#probe = probe;
    this.id = open.session.sessionId;
    this.modelId = modelId;
    this.#clock = clock;
    this.#onClosed = closed;
  }

  async runTurn(prompt: string, options: TurnOptions): Promise<TurnOutcome> {
    if (this.#closing !== undefined || this.#running !== undefined) {
      const message =
        this.#closing === undefined ? "A turn is already running." : "The session is closed.";
      return { kind: "crashed", toolCalls: [], crash: { cause: "internal", message } };
    }
    const stop = linkSignals([options.signal, this.#closed.signal]);
    const { session, runtime, denials, model, stopped, calls, names, refresh } = this.#open;
    const conversation = this.#conversation;
    const { label } = conversation;
    if (label !== undefined && options.activity !== undefined) {
      conversation.label = { ...label, activity: options.activity };
    }
    conversation.answerFormat = options.answerFormat;
    const life = { clock: this.#clock, life: runtime, model, stopped: stopped.signal };
    const turn = { ...options, signal: stop.signal };
    this.#running = refresh().then(() =>
      runTurn(session, prompt, turn, { ...life, denials, calls, names }),
    );
    try {
      const ended = await this.#running;
      const outcome = refusedBy(
        conversation.refusal,
        unlessUnconfined(this.#open.unconfined, ended),
      );
      if (outcome.kind === "crashed" && withoutAnswer(outcome.crash)) this.#probe?.ask();
      if (outcome.kind === "completed") this.#probe?.answered();
      return outcome;
    } finally {
      stop.end();
      conversation.label = label;
      conversation.answerFormat = undefined;
      this.#running = undefined;
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#closed.abort();
    await this.#running;
    await this.#open.end();
    this.#onClosed();
  }
}

/** It was not the model server that answered. No further attempt would go better. */
function refusedBy(refusal: string | undefined, outcome: TurnOutcome): TurnOutcome {
  if (refusal === undefined || outcome.kind !== "crashed") return outcome;
  return { ...outcome, crash: { cause: "configuration", message: refusal } };
}

/** The model server may be unreachable. */
function withoutAnswer(crash: Crash): boolean {
  return (
    crash.cause === "unreachable" || (crash.cause === "session-error" && crash.status === undefined)
  );
}
