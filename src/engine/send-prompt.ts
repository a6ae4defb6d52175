/** The one loop of attempts. Every front-end sends through it, so limits and budgets hold for each turn of a model. */
import { type Crash, type Remedy, crashRemedy, refusalOf, withAdvice } from "../events/crash.ts";
import type { MadeDecision, Purpose, WaitingCause } from "../events/decision.ts";
import type { WorkRef } from "../events/event.ts";
import type { ModelFailed, SessionActivity } from "../events/session-activity.ts";
import { errorMessage } from "../platform/system-error.ts";
import { unlessAborted } from "../platform/waiting.ts";
import { type CallBudget, DenialStreak, type UsageBudget } from "./budgets.ts";
import { type Deadline, type ResolvedLimits, exceeded, minutes } from "./limits.ts";
import type {
  AnswerFormat,
  EnginePorts,
  Opened,
  Session,
  StepActivity,
  TurnOutcome,
} from "./ports.ts";
import { LONGEST_WAIT_MS, RateLimitWait } from "./rate-limit.ts";
import { type Scope, unlessStopped } from "./scope.ts";

export const SESSION_CRASH_PREFIX =
  "The session crashed, please redo and here is the last request:\n";

export const MANAGED_ATTEMPTS = 5;
/** After a 429 or 5xx the runtime itself has sent up to six requests. */
const OVERLOADED_RETRIES = 2;
const FIRST_WAIT_MS = 2_000;
/** After a runtime was ended, its sessions are reopened at random times within this period. */
const SPREAD_MS = 10_000;

/** Who sends prompts: a task, or an activity of a workflow. */
export interface Sender {
  readonly work: WorkRef;
  readonly ports: Pick<EnginePorts, "clock" | "gate" | "rateLimit" | "random" | "emit">;
  readonly scope: Scope;
  readonly limits: ResolvedLimits;
  readonly calls: CallBudget;
  readonly usage: UsageBudget;
  /** The deadline of the task, if it has one. */
  readonly deadline?: Deadline;
  /** The owner of the turns, for use in a sentence: `task "review"`. */
  readonly subject: string;
  readonly nextTurnId: () => string;
  readonly onError: (error: string | undefined) => void;
}

export interface Prompt {
  readonly purpose: Purpose;
  readonly retry: number;
  /** A function is asked before each attempt, which counts from 1. */
  readonly text: string | ((attempt: number) => string);
  readonly attempts: Attempts;
  readonly lent?: boolean;
  readonly sessions: SessionSource;
  readonly activity?: StepActivity;
  readonly answerFormat?: AnswerFormat | undefined;
  readonly isAnswer?: (crash: Crash) => boolean;
  readonly onTurn?: (outcome: TurnOutcome) => void;
}

/** How often a prompt may be sent, and to which models: statements 4 and 5 of `docs/internals/engine.md`. */
export interface Attempts {
  readonly count: number;
  /** The model of the next attempt. After `count` of them, the first one again. */
  readonly nextModel: () => string;
}

export function sameModel(modelId: string, count: number): Attempts {
  return { count, nextModel: () => modelId };
}

export interface SessionSource {
  acquire(modelId: string, attempt: number, signal: AbortSignal): Promise<Acquired>;
  /** Its session has crashed: it must not be acquired again. */
  discard(): Promise<void>;
}

export type Acquired = Opened | typeof canceled;

export const canceled = { kind: "canceled", toolCalls: [] } as const;

/** `crashed`: no attempt is left, or a further one would not help. */
export function sendPrompt(sender: Sender, prompt: Prompt): Promise<TurnOutcome> {
  return new Sending(sender, prompt).run();
}

export const CONTINUE_PROMPT =
  "Your last answer was empty. If the task is done, say so in one sentence. If it is not, go on with it.";

type Completed = Extract<TurnOutcome, { kind: "completed" }>;

/** Statement 7a: after an empty answer, once, in the same session. If that crashes, the whole prompt is sent again. */
export async function askToContinue(
  sender: Sender,
  prompt: Prompt,
  ended: Completed,
  text: string = CONTINUE_PROMPT,
  note = "The answer is empty after a tool call: the same session is asked once to go on.",
): Promise<TurnOutcome> {
  decide(sender, { kind: "note", text: note });
  let attempts = 1;
  const textOf = (attempt: number): string => {
    attempts = attempt;
    return attempt === 1 ? text : textAt(prompt, attempt);
  };
  const outcome = await sendPrompt(sender, { ...prompt, text: textOf });
  if (outcome.kind !== "completed" || attempts > 1) return outcome;
  const toolCalls = [...ended.toolCalls, ...outcome.toolCalls];
  return { ...outcome, toolCalls, text: outcome.text === "" ? ended.text : outcome.text };
}

function textAt({ text }: Prompt, attempt: number): string {
  return typeof text === "string" ? text : text(attempt);
}

function decide({ ports, work }: Sender, decision: MadeDecision): void {
  ports.emit({ type: "decision", work, decision });
}

class Sending {
  readonly #sender: Sender;
  readonly #prompt: Prompt;
  readonly #limited: RateLimitWait;

  constructor(sender: Sender, prompt: Prompt) {
    this.#sender = sender;
    this.#prompt = prompt;
    this.#limited = new RateLimitWait(sender);
  }

  async run(): Promise<TurnOutcome> {
    const sender = this.#sender;
    const { scope } = sender;
    const { purpose, lent = false, sessions, onTurn } = this.#prompt;
    const { nextModel } = this.#prompt.attempts;
    let { count } = this.#prompt.attempts;
    let modelId = nextModel();
    let overloads = 0;
    let waits = 0;
    try {
      for (let attempt = 1; ; attempt += 1) {
        const outcome = await this.#attempt(modelId, attempt);
        if (outcome.kind === "canceled") return outcome;
        onTurn?.(outcome);
        if (outcome.kind !== "crashed") return scope.stopped === undefined ? outcome : canceled;

        const crash = this.#withLimit(outcome.crash);
        const remedy = crashRemedy(crash, { lent });
        sender.onError(withAdvice(crash.message, remedy.advice));
        const isAnswer = this.#prompt.isAnswer?.(crash) === true;
        const overload = remedy.kind === "retry-later" ? remedy.overload : undefined;
        const isLimited = overload?.cause === "rate-limited" && !lent;
        if (isLimited) this.#limited.met(crash.message, overload.retryAfterMs);
        else if (overload !== undefined) overloads += 1;
        const isUncounted = remedy.kind === "retry-uncounted" || isLimited;
        if (isUncounted && !isAnswer) count += 1;
        const further = (): number => {
          if (isAnswer) return 0;
          if (isLimited) return this.#limited.isOver ? 0 : Infinity;
          if (overload !== undefined) return OVERLOADED_RETRIES + 1 - overloads;
          return remedy.kind === "give-up" ? 0 : Infinity;
        };
        const attempts = Math.min(count, attempt + further());
        decide(sender, { kind: "session-crashed", purpose, attempt, attempts, crash });
        await sessions.discard();
        if (isAnswer) return outcome;
        if (scope.stopped !== undefined) return canceled;
        if (attempt === attempts) {
          const { advice } = remedy;
          decide(sender, { kind: "attempts-exhausted", purpose, attempts: attempt, advice });
          return { ...outcome, crash: { ...crash, attempts: attempt } };
        }
        const wait = waitFor(crash, remedy, outcome.opening === true);
        if (wait !== undefined) await this.#wait(wait, (waits += 1));
        if (scope.stopped !== undefined) return canceled;
        if (remedy.kind !== "retry-uncounted") modelId = nextModel();
        decide(sender, {
          kind: "further-attempt",
          purpose,
          attempt: attempt + 1,
          attempts,
          modelId,
        });
      }
    } finally {
      this.#limited.lifted();
    }
  }

  #withLimit(crash: Crash): Crash {
    if (crash.cause !== "deadline") return crash;
    const { limits, subject } = this.#sender;
    const limit = exceeded(limits, crash.limit);
    decide(this.#sender, {
      kind: "limit-exceeded",
      ...limit,
      scope: { kind: "turn", of: subject },
    });
    return limit.setBy === undefined ? crash : { ...crash, setBy: limit.setBy };
  }

  async #wait({ cause, status, retryAfterMs = 0 }: Wait, times: number): Promise<void> {
    const { ports, scope } = this.#sender;
    const random = ports.random();
    const first = cause === "runtime-ended" ? SPREAD_MS * random : FIRST_WAIT_MS * (1 + random);
    const isLimited = cause === "rate-limited";
    const wait = Math.max(Math.min(2 ** (times - 1) * first, LONGEST_WAIT_MS), retryAfterMs);
    const most = isLimited ? this.#limited.left : LONGEST_WAIT_MS;
    const milliseconds = Math.round(Math.min(wait, most));
    if (isLimited) ports.rateLimit.pause(milliseconds);
    decide(this.#sender, { kind: "waiting", milliseconds, cause, status });
    await ports.clock.sleep(milliseconds, scope.signal);
  }

  async #attempt(
    modelId: string,
    attempt: number,
  ): Promise<TurnOutcome & { readonly opening?: true }> {
    const sender = this.#sender;
    if (sender.scope.stopped !== undefined) return canceled;
    // A scope of its own lets a turn end without the rest.
    const scope = sender.scope.child();
    const { signal } = scope;
    try {
      const acquired = await this.#prompt.sessions.acquire(modelId, attempt, signal);
      if (acquired.kind === "canceled") return acquired;
      if (acquired.kind === "crashed") return { ...acquired, toolCalls: [], opening: true };
      sender.calls.beforeCall();
      const { gate, rateLimit } = sender.ports;
      // Waiting for the turns of other jobs takes no time of this task.
      const resume = sender.deadline?.hold() ?? (() => {});
      // A port of the application may reject. Then there is no turn.
      let asked: string | undefined = "turnGate";
      const gated = gate.run(async () => {
        resume();
        asked = "rateLimit";
        this.#limited.turn = scope;
        const leave = await rateLimit.enter(signal, (milliseconds) => {
          decide(sender, { kind: "waiting", milliseconds, cause: "rate-limited" });
          this.#limited.met();
        });
        asked = undefined;
        try {
          await unlessAborted(sender.usage.settled(), signal);
          return await this.#turn(acquired.session, attempt, scope);
        } finally {
          leave();
        }
      }, signal);
      const outcome = await gated.finally(resume).catch((error: unknown): TurnOutcome => {
        if (asked === undefined) throw error;
        const message = `The ${asked} failed: ${errorMessage(error)}`;
        return { kind: "crashed", toolCalls: [], crash: { cause: "configuration", message } };
      });
      return outcome ?? canceled;
    } finally {
      scope.dispose();
    }
  }

  async #turn(session: Session, attempt: number, turnScope: Scope): Promise<TurnOutcome> {
    const { scope, ports, limits, work, nextTurnId } = this.#sender;
    const { purpose, retry, activity, answerFormat } = this.#prompt;
    const limited = this.#limited;
    if (scope.stopped !== undefined) return canceled;
    if (limited.isOver) return { kind: "crashed", toolCalls: [], crash: limited.crash };
    const text = textAt(this.#prompt, attempt);
    const prompt = attempt > 1 ? SESSION_CRASH_PREFIX + text : text;
    const { modelId } = session;
    const turn = { work, sessionId: session.id, turnId: nextTurnId() };
    ports.emit({ type: "turn.started", ...turn, modelId, purpose, retry, attempt, prompt });
    const denials = new DenialStreak(turnScope);
    let isOver = false;
    const running = session.runTurn(prompt, {
      signal: turnScope.signal,
      turnMs: minutes(limits.turnMinutes),
      idleMs: minutes(limits.idleMinutes),
      activity,
      answerFormat,
      onActivity: (happened) => {
        // A session that could not be stopped in time may go on.
        if (isOver) return;
        const shown = this.#shown(happened);
        ports.emit({ type: "activity", ...turn, activity: shown });
        this.#account(shown);
        denials.observe(shown);
      },
    });
    const result = await unlessStopped(turnScope, ports.clock, running);
    isOver = true;
    const own = denials.crash ?? (limited.isOver ? limited.crash : abortedByOthers);
    const outcome = scope.stopped === undefined ? asCrash(result, own) : canceled;
    ports.emit({ type: "turn.ended", ...turn, purpose, outcome: outcome.kind });
    return outcome;
  }

  #shown(activity: SessionActivity): SessionActivity {
    if (activity.kind === "model.used") return this.#sender.usage.priced(activity);
    const isCutOff =
      activity.kind === "tool.ended" &&
      !activity.succeeded &&
      this.#sender.scope.stopped !== undefined;
    return isCutOff ? { ...activity, stopped: true } : activity;
  }

  #account(activity: SessionActivity): void {
    const { calls, usage, ports, onError } = this.#sender;
    switch (activity.kind) {
      case "model.used":
        calls.spend();
        usage.spend(activity);
        if (usage.escapes(activity)) {
          const text = `limits.cost doesn't count the calls of ${activity.modelId}: it has no price`;
          decide(this.#sender, { kind: "note", text });
        }
        ports.rateLimit.lifted();
        this.#limited.lifted();
        onError(undefined);
        break;
      case "model.failed":
        onError(failureText(activity));
        if (activity.statusCode === 429) {
          ports.rateLimit.met();
          this.#limited.met(failureText(activity), activity.retryAfterMs);
        }
        calls.fail(activity.statusCode);
        break;
      case "agent.started":
        calls.beforeCall();
        break;
      default:
        break;
    }
  }
}

interface Wait {
  readonly cause: WaitingCause;
  readonly status?: number;
  readonly retryAfterMs?: number | undefined;
}

/** The runtime itself retries the requests of a turn, with waits, but not those for opening a session. */
function waitFor(crash: Crash, remedy: Remedy, opening: boolean): Wait | undefined {
  if (remedy.kind === "retry-later") return remedy.overload;
  if (remedy.kind === "retry-uncounted") return { cause: "runtime-ended" };
  return opening && crash.cause === "unreachable" ? { cause: "unreachable" } : undefined;
}

const abortedByOthers: Crash = {
  cause: "aborted",
  message: "The turn was aborted from outside this run.",
};

function asCrash(outcome: TurnOutcome | undefined, crash: Crash): TurnOutcome {
  if (outcome !== undefined && outcome.kind !== "canceled") return outcome;
  return { kind: "crashed", toolCalls: outcome?.toolCalls ?? [], crash };
}

function failureText({ statusCode, message }: ModelFailed): string {
  const what =
    statusCode === undefined ? "a model call failed" : `the model server answered ${statusCode}`;
  const refusal = statusCode === undefined ? undefined : refusalOf(statusCode);
  const advice = refusal === undefined ? undefined : crashRemedy(refusal).advice;
  return withAdvice(message === undefined ? what : `${what}: "${message}"`, advice);
}
