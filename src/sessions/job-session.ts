/** The engine's `Session` on a session of the Copilot runtime, and the factory that opens them. */
import { randomUUID } from "node:crypto";
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
import type { Conversation } from "./request-handler.ts";
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

export function sessionFactory(options: SessionFactoryOptions): SessionFactory {
  const { conversations, open, refusal, transport } = options;
  return {
    async open(request: SessionRequest, signal: AbortSignal): Promise<Opened> {
      if (signal.aborted) return canceled;
      if (refusal !== undefined) return { kind: "crashed", crash: refusal };
      const id = randomUUID();
      const { label, history = [], modelId } = request;
      const conversation: Conversation = { label, history, transport };
      conversations.set(id, conversation);
      const opened = await openCopilotSession(options, { ...request, id }, signal);
      if (!("session" in opened)) {
        conversations.delete(id);
        return opened;
      }
      conversation.toolNames = opened.names.renamed;
      open.set(id, opened);
      const leave = occupy(opened.session);
      const end = async (): Promise<void> => {
        await opened.end();
        leave();
        conversations.delete(id);
        open.delete(id);
      };
      const session = new JobSession(id, modelId, { ...opened, end }, conversation, options);
      return { kind: "opened", session };
    },
  };
}

class JobSession implements Session {
  readonly id: string;
  readonly modelId: string;
  #running: Promise<TurnOutcome> | undefined;
  #closing: Promise<void> | undefined;
  readonly #closed = new AbortController();
  readonly #open: OpenSession;
  readonly #conversation: Conversation;
  readonly #context: Pick<SessionContext, "clock" | "probe">;

  constructor(
    id: string,
    modelId: string,
    open: OpenSession,
    conversation: Conversation,
    context: Pick<SessionContext, "clock" | "probe">,
  ) {
    this.id = id;
    this.modelId = modelId;
    this.#open = open;
    this.#conversation = conversation;
    this.#context = context;
  }

  async runTurn(prompt: string, options: TurnOptions): Promise<TurnOutcome> {
    if (this.#closing !== undefined) {
      const crash: Crash = { cause: "internal", message: "The session is closed." };
      return { kind: "crashed", toolCalls: [], crash };
    }
    const stop = linkSignals([options.signal, this.#closed.signal]);
    const conversation = this.#conversation;
    const { clock, probe } = this.#context;
    const open = this.#open;
    conversation.turn = options;
    const turn = { ...options, signal: stop.signal };
    this.#running = open
      .refresh()
      .then(() => runTurn(open.session, prompt, turn, { ...open, clock }));
    try {
      const ended = await this.#running;
      const outcome = refusedBy(conversation.refusal, ended);
      if (outcome.kind === "crashed" && withoutAnswer(outcome.crash)) probe?.ask();
      if (outcome.kind === "completed") probe?.answered();
      return outcome;
    } finally {
      stop.end();
      conversation.turn = undefined;
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
  }
}

/** It was not the model server that answered. No further attempt would go better. */
function refusedBy(refusal: string | undefined, outcome: TurnOutcome): TurnOutcome {
  if (refusal === undefined || outcome.kind !== "crashed") return outcome;
  return { ...outcome, crash: { cause: "configuration", message: refusal } };
}

function withoutAnswer(crash: Crash): boolean {
  return (
    crash.cause === "unreachable" || (crash.cause === "session-error" && crash.status === undefined)
  );
}
