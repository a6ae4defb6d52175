/**
 * One prompt, until the session is done with it. The SDK's `sendAndWait` ends before the session is idle
 * (docs/internals/runtime-notes.md#end-of-a-turn), so events are ignored until the `user.message` of the prompt, and
 * `session.idle` is awaited. A turn always ends; a cancel wins over a crash that it caused.
 */
import type { CopilotSession, SessionEvent } from "@github/copilot-sdk";
import type { TurnOptions, TurnOutcome } from "../engine/ports.ts";
import type { Crash, Refusal } from "../events/crash.ts";
import type { SessionActivity } from "../events/session-activity.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage } from "../platform/system-error.ts";
import { bestEffort, onAbort, startTimer, unless, within } from "../platform/waiting.ts";
import type { RuntimeLife } from "../runtime/runtime-process.ts";
import { defined } from "../text/guards.ts";
import { wholeCharacters } from "../text/truncate.ts";
import { type CallQueue, LifeSigns } from "./call-queue.ts";
import { Deltas, TurnState } from "./turn-state.ts";
import { causeOf, modelName, type ModelAddress } from "./model-error.ts";
import type { OwnCalls, ToolNames } from "./session-tools.ts";

const sendMs = 15_000;
/** An abort is asked for, and the session given time to become quiet: together well below 5 s. */
const abortMs = 1_500;
const drainMs = 2_000;
/** From `assistant.idle` to `session.idle` it takes about a millisecond, unless background work runs. */
const settleMs = 750;
const askMs = 2_000;

export type TurnSession = Pick<CopilotSession, "on" | "send" | "abort"> & {
  readonly rpc: { readonly tasks: Pick<CopilotSession["rpc"]["tasks"], "list" | "cancel"> };
};

/** A session that is up, as its turns need it. */
export interface UsableSession {
  readonly session: TurnSession;
  readonly life: RuntimeLife;
  readonly model: ModelAddress;
  readonly calls: OwnCalls;
  readonly names: ToolNames;
  readonly stopped: SessionStop;
}

/** Ends a session from outside of its turns. The first crash is that of its turn. */
export class SessionStop {
  readonly #controller = new AbortController();
  #crash: Crash | undefined;

  stop(crash: Crash = { cause: "aborted", message: "The session was stopped." }): void {
    this.#crash ??= crash;
    this.#controller.abort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get crash(): Crash | undefined {
    return this.#crash;
  }
}

export interface TurnContext {
  readonly clock: Clock;
  readonly queue?: CallQueue | undefined;
  /** Called before the session is aborted: from then on the turn asks no model. */
  readonly onStop?: (() => void) | undefined;
}

export function runTurn(
  open: UsableSession,
  prompt: string,
  options: TurnOptions,
  context: TurnContext,
): Promise<TurnOutcome> {
  return new Turn(open, options, context).run(prompt);
}

type Ending =
  | { readonly kind: "idle" | "cut" | "canceled" }
  | { readonly kind: "crashed"; readonly crash: Crash };

type Stage =
  /** The id of our message is not known yet: events are kept until then. */
  | { readonly at: "sending"; readonly early: SessionEvent[] }
  /** Until the session takes up our message, or reports why it does not, everything belongs to the past. */
  | { readonly at: "sent"; readonly messageId: string; readonly error: SessionEvent | undefined }
  | { readonly at: "running" };

class Turn {
  readonly #open: UsableSession;
  readonly #options: TurnOptions;
  readonly #clock: Clock;
  readonly #onStop: (() => void) | undefined;
  readonly #state: TurnState;
  readonly #deltas: Deltas;
  readonly #signs: LifeSigns;
  readonly #unsubscribe: readonly (() => void)[];
  #stage: Stage = { at: "sending", early: [] };
  #wake: () => void = () => {};
  #sending: Promise<unknown> | undefined;
  #death: string | undefined;
  #isOver = false;

  constructor(open: UsableSession, options: TurnOptions, { clock, queue, onStop }: TurnContext) {
    const { session, life, calls, stopped } = open;
    this.#open = open;
    this.#options = options;
    this.#clock = clock;
    this.#onStop = onStop;
    this.#state = new TurnState(open.model);
    this.#deltas = new Deltas(clock, (activity) => this.#tell(activity));
    this.#signs = new LifeSigns(clock, queue);
    this.#unsubscribe = [
      session.on((event) => this.#receive(event)),
      calls.follow((activity) => {
        const isLate = activity.kind === "tool.delta" && !this.#state.isOpen(activity.toolCallId);
        if (!isLate) this.#deltas.pass(activity);
      }),
      life.onDeath((reason) => {
        this.#death = reason;
        this.#wake();
      }),
      onAbort(options.signal, () => this.#wake()),
      onAbort(stopped.signal, () => this.#wake()),
    ];
  }

  async run(prompt: string): Promise<TurnOutcome> {
    try {
      const end = this.#clock.now() + this.#options.turnMs;
      // Nothing is sent into a session that is dead already.
      const sent = this.#interruption() ?? (await this.#send(prompt, end));
      const outcome = await this.#outcomeOf(sent ?? (await this.#wait(end)));
      // The report that a command had no sandbox may arrive after the last answer.
      const { crash } = this.#open.stopped;
      return crash?.cause === "configuration" ? this.#crashed(crash) : outcome;
    } catch (error) {
      return this.#crashed({ cause: "internal", message: errorMessage(error) });
    } finally {
      this.#isOver = true;
      for (const unsubscribe of this.#unsubscribe) unsubscribe();
      this.#open.calls.abort();
      for (const activity of this.#state.close()) this.#deltas.pass(activity);
      this.#deltas.flush();
    }
  }

  async #outcomeOf(ending: Ending): Promise<TurnOutcome> {
    switch (ending.kind) {
      case "idle":
        return this.#judge();
      case "cut":
        await this.#quieten(true);
        return this.#cut();
      case "canceled":
        await this.#quieten(true);
        return { kind: "canceled", toolCalls: this.#state.toolCalls };
      case "crashed":
        // A session that failed by itself becomes idle by itself; any other has to be stopped.
        await this.#quieten(this.#state.phase.at !== "failed");
        return this.#crashed(ending.crash);
    }
  }

  #crashed(crash: Crash): TurnOutcome {
    return { kind: "crashed", toolCalls: this.#state.toolCalls, crash };
  }

  async #send(prompt: string, end: number): Promise<Ending | undefined> {
    const sending = this.#open.session.send({ prompt: wholeCharacters(prompt) }).then(
      (messageId) => {
        this.#accepted(messageId);
        return {};
      },
      (error: unknown) => ({ error }),
    );
    this.#sending = sending;
    const answer = await unless(
      this.#open.life.answer(sending, sendMs, this.#options.signal),
      (giveUp) => startTimer(this.#clock, end - this.#clock.now(), giveUp),
      (giveUp) => onAbort(this.#options.signal, giveUp),
      (giveUp) => onAbort(this.#open.stopped.signal, giveUp),
      (giveUp) => this.#open.life.onDeath(giveUp),
    );
    const interrupted = this.#interruption();
    if (interrupted !== undefined) return interrupted;
    if (answer === undefined) return turnDeadline(this.#options.turnMs, this.#open.model);
    const result = answer.value?.value;
    if (result === undefined)
      return crash("session-error", "The runtime did not accept the prompt in time.");
    if ("error" in result) {
      const message = errorMessage(result.error);
      return crash(causeOf(message), message);
    }
    return undefined;
  }

  #accepted(messageId: string): void {
    if (this.#isOver) return;
    const early = this.#stage.at === "sending" ? this.#stage.early : [];
    this.#stage = { at: "sent", messageId, error: undefined };
    for (const event of early) this.#receive(event);
  }

  async #wait(end: number): Promise<Ending> {
    for (;;) {
      const interrupted = this.#interruption();
      if (interrupted !== undefined) return interrupted;
      const { phase, busy } = this.#state;
      if (phase.at === "idle" || phase.at === "cut") return { kind: phase.at };
      if (phase.at === "failed" || phase.at === "faulty")
        return { kind: "crashed", crash: phase.crash };
      const answered = phase.at === "answered";
      const now = this.#clock.now();
      const { idleMs, turnMs } = this.#options;
      const until = end + this.#signs.queuedMs;
      if (now >= until) return turnDeadline(turnMs, this.#open.model);
      const queuedCheck = this.#signs.tellIfQueued(idleMs);
      const silentUntil = this.#signs.last + idleMs;
      if (!busy && now >= silentUntil) {
        if (!answered) return idleDeadline(idleMs, this.#open.model, this.#state.refusal);
        // The answer is complete; only something in the background is not. Closing the session ends what is left.
        for (const { id } of await this.#tasks()) {
          await bestEffort(() => this.#open.session.rpc.tasks.cancel({ id }), askMs, this.#clock);
        }
        return { kind: "idle" };
      }
      const rest = Math.min(until - now, busy ? Infinity : silentUntil - now, queuedCheck);
      const woken = await this.#pause(answered ? Math.min(rest, settleMs) : rest);
      if (woken || !answered) continue;
      if (!(await this.#tasks()).some(({ status }) => status === "running"))
        return { kind: "idle" };
    }
  }

  /** A cancel always comes first: what it causes is no crash. */
  #interruption(): Ending | undefined {
    if (this.#options.signal.aborted) return { kind: "canceled" };
    if (this.#death !== undefined) {
      const ended = this.#open.life.ended ? { ended: true as const } : {};
      return { kind: "crashed", crash: { cause: "runtime-died", message: this.#death, ...ended } };
    }
    const { crash } = this.#open.stopped;
    return crash && { kind: "crashed", crash };
  }

  async #pause(milliseconds: number): Promise<boolean> {
    const happens = new Promise<void>((resolve) => (this.#wake = resolve));
    return (await within(happens, milliseconds, this.#clock)) !== undefined;
  }

  #receive(event: SessionEvent): void {
    switch (this.#stage.at) {
      case "sending":
        this.#stage.early.push(event);
        return;
      case "sent":
        this.#stage = this.#taken(event, this.#stage);
        if (this.#stage.at === "running") this.#process(event);
        return;
      case "running":
        this.#process(event);
    }
  }

  #process(event: SessionEvent): void {
    this.#signs.see(event);
    const { phase, busy } = this.#state;
    for (const activity of this.#state.accept(this.#open.names.event(event)))
      this.#deltas.pass(activity);
    // Most events are deltas, which only postpone the deadline.
    const isSame = this.#state.phase === phase && this.#state.busy === busy;
    if (!isSame || phase.at !== "working") this.#wake();
  }

  /** The turn begins with its own message, or with the error that kept the message from being taken up. */
  #taken(event: SessionEvent, sent: Extract<Stage, { at: "sent" }>): Stage {
    if (event.agentId !== undefined) return sent;
    switch (event.type) {
      case "user.message":
        return event.data.messageId === sent.messageId ? { at: "running" } : sent;
      case "session.error":
        return { ...sent, error: event };
      case "session.idle":
        if (sent.error === undefined) return sent;
        this.#state.accept(sent.error);
        return { at: "running" };
      default:
        return sent;
    }
  }

  #tell(activity: SessionActivity): void {
    try {
      this.#options.onActivity(activity);
    } catch {
      // A listener's fault must not cost the turn.
    }
  }

  #judge(): TurnOutcome {
    const { phase, text, answer } = this.#state;
    const toolCalls = this.#state.toolCalls;
    if (phase.at === "idle") {
      if (phase.crash !== undefined) return this.#crashed(phase.crash);
      const message = "The turn was aborted from outside this run.";
      if (phase.aborted) return this.#crashed({ cause: "aborted", message });
    }
    const { finish, empty = true, lostCall = false } = answer ?? {};
    if (finish === "length") return this.#cut();
    const isBroken = finish === "content_filter" || finish === "error" || lostCall;
    // Some models end with an empty message after a call that did what they were asked for.
    if (isBroken || (empty && !toolCalls.some(({ succeeded }) => succeeded)))
      return this.#crashed(this.#state.noAnswer());
    return { kind: "completed", toolCalls, text, ...(empty ? { empty } : {}) };
  }

  #cut(): TurnOutcome {
    const { text } = this.#state;
    return { kind: "completed", toolCalls: this.#state.toolCalls, text, cut: true };
  }

  async #quieten(abort: boolean): Promise<void> {
    if (this.#open.life.gone || this.#sending === undefined) return;
    // The runtime may have taken up a prompt before it says so. After a deadline nobody waits for that again.
    if (this.#stage.at === "sending" && this.#options.signal.aborted) {
      await unless(
        this.#sending,
        (giveUp) => startTimer(this.#clock, abortMs, giveUp),
        (giveUp) => this.#open.life.onDeath(giveUp),
      );
    }
    if (this.#stage.at === "sending") return;
    if (abort) {
      this.#onStop?.();
      const aborting = bestEffort(() => this.#open.session.abort(), abortMs, this.#clock);
      // Calls are aborted after the session, because the model would get their results otherwise.
      this.#open.calls.abort();
      if ((await aborting) === "late") return;
    }
    const end = this.#clock.now() + drainMs;
    while (this.#state.phase.at !== "idle" && !this.#open.life.gone) {
      const rest = end - this.#clock.now();
      if (rest <= 0) return;
      await this.#pause(rest);
    }
  }

  /** In the background. None if the session doesn't say. */
  async #tasks(): Promise<readonly { readonly id: string; readonly status: string }[]> {
    const asked = within(this.#open.session.rpc.tasks.list(), askMs, this.#clock);
    return (await asked.catch(() => undefined))?.value.tasks ?? [];
  }
}

function crash(cause: "session-error" | "auth" | "unreachable", message: string): Ending {
  return { kind: "crashed", crash: { cause, message } };
}

function turnDeadline(turnMs: number, asked: ModelAddress): Ending {
  const message = `The turn of the ${modelName(asked)} took longer than ${seconds(turnMs)} (limits.turnMinutes).`;
  return { kind: "crashed", crash: { cause: "deadline", limit: "turnMinutes", message } };
}

/** After a refusal the runtime waits silently before its next request: then the refusal is the cause. */
function idleDeadline(idleMs: number, asked: ModelAddress, refusal: Refusal | undefined): Ending {
  const message = `The ${modelName(asked)} was silent for ${seconds(idleMs)} (limits.idleMinutes).`;
  const deadline = { cause: "deadline", limit: "idleMinutes", message } as const;
  return { kind: "crashed", crash: { ...deadline, ...defined({ refusal }) } };
}

function seconds(milliseconds: number): string {
  return milliseconds >= 120_000
    ? `${Math.round(milliseconds / 6_000) / 10} minutes`
    : `${Math.round(milliseconds / 100) / 10} s`;
}
