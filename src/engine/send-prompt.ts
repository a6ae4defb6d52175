/** The one loop of attempts. Every front-end sends through it, so limits and budgets hold for each turn of a model. */
import { defined } from "../text/guards.ts";
import { type Crash, type Remedy, crashRemedy, refusalOf, withAdvice } from "../events/crash.ts";
import type { MadeDecision, Purpose, WaitingCause } from "../events/decision.ts";
import {
  type Budgets,
  type Deadline,
  DenialStreak,
  type ResolvedLimits,
  exceeded,
  minutes,
} from "./limits.ts";
import type {
  AnswerFormat,
  EnginePorts,
  Opened,
  Session,
  StepActivity,
  TurnOutcome,
} from "./ports.ts";
import { LONGEST_WAIT_MS } from "./rate-limit.ts";
import type { Attempts } from "./attempts.ts";
import { RateLimitWait } from "./rate-limit-wait.ts";
import { type Scope, unlessStopped } from "./scope.ts";
import type { ModelFailed, SessionActivity } from "../events/session-activity.ts";
import { errorMessage } from "../platform/system-error.ts";
import { unlessAborted } from "../platform/waiting.ts";
import type { Decided, SessionActed, TurnEnded, TurnStarted } from "../events/event.ts";

export const SESSION_CRASH_PREFIX =
  "The session crashed, please redo and here is the last request:\n";

/** After a 429 or 5xx the runtime itself has sent up to six requests. */
const OVERLOADED_RETRIES = 2;
const FIRST_WAIT_MS = 2_000;
/** After a runtime was ended, its sessions are reopened at random times within this period. */
const SPREAD_MS = 10_000;

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

export interface SessionSource {
  acquire(modelId: string, attempt: number, signal: AbortSignal): Promise<Acquired>;
  /** Its session has crashed: it must not be acquired again. */
  discard(): Promise<void>;
}

export type Acquired = Opened | typeof canceled;

export const canceled = { kind: "canceled", toolCalls: [] } as const;

/** `crashed`: no attempt is left, or a further one would not help. */
export async function sendPrompt(sender: Sender, prompt: Prompt): Promise<TurnOutcome> {
  const limited = new RateLimitWait(sender);
  try {
    return await sendAttempts(sender, prompt, limited);
  } finally {
    limited.lifted();
  }
}

async function sendAttempts(
  sender: Sender,
  prompt: Prompt,
  limited: RateLimitWait,
): Promise<TurnOutcome> {
  const { scope } = sender;
  const { purpose, lent = false } = prompt;
  const { nextModel } = prompt.attempts;
  let { count } = prompt.attempts;
  let modelId = nextModel();
  let overloaded = 0;
  let waits = 0;
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await sendOnce(sender, prompt, modelId, attempt, limited);
    if (outcome.kind === "canceled") return outcome;
    prompt.onTurn?.(outcome);
    if (outcome.kind !== "crashed") return scope.stopped === undefined ? outcome : canceled;

    let { crash } = outcome;
    if (crash.cause === "deadline") {
      const limit = exceeded(sender.limits, crash.limit);
      if (limit.setBy !== undefined) crash = { ...crash, setBy: limit.setBy };
      const scope = { kind: "turn", of: sender.subject } as const;
      decide(sender, { kind: "limit-exceeded", ...limit, scope });
    }
    const remedy = crashRemedy(crash, { lent });
    sender.onError?.(withAdvice(crash.message, remedy.advice));
    const isAnswer = prompt.isAnswer?.(crash) === true;
    const overload = remedy.kind === "retry-later" ? remedy.overload : undefined;
    const isLimited = overload?.cause === "rate-limited" && !lent;
    if (isLimited) limited.met(crash.message, overload.retryAfterMs);
    else if (overload !== undefined) overloaded += 1;
    if ((remedy.kind === "retry-uncounted" || isLimited) && !isAnswer) count += 1;
    const further = {
      "give-up": 0,
      "retry-later": OVERLOADED_RETRIES + 1 - overloaded,
      retry: Infinity,
      "retry-uncounted": Infinity,
    }[isLimited ? (limited.isOver ? "give-up" : "retry") : remedy.kind];
    const attempts = Math.min(count, attempt + (isAnswer ? 0 : further));
    decide(sender, { kind: "session-crashed", purpose, attempt, attempts, crash });
    await prompt.sessions.discard();
    if (isAnswer) return outcome;
    if (scope.stopped !== undefined) return canceled;
    if (attempt === attempts) {
      const advice = defined({ advice: remedy.advice });
      decide(sender, { kind: "attempts-exhausted", purpose, attempts: attempt, ...advice });
      return { ...outcome, crash: { ...crash, attempts: attempt } };
    }
    const wait = waitFor(crash, remedy, outcome.opening === true);
    if (wait !== undefined) await waitBeforeRetry(sender, wait, (waits += 1), limited.left);
    if (scope.stopped !== undefined) return canceled;
    if (remedy.kind !== "retry-uncounted") modelId = nextModel();
    decide(sender, { kind: "further-attempt", purpose, attempt: attempt + 1, attempts, modelId });
  }
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
    if (attempt === 1) return text;
    return typeof prompt.text === "string" ? prompt.text : prompt.text(attempt);
  };
  const outcome = await sendPrompt(sender, { ...prompt, text: textOf });
  if (outcome.kind !== "completed" || attempts > 1) return outcome;
  const toolCalls = [...ended.toolCalls, ...outcome.toolCalls];
  return { ...outcome, toolCalls, text: outcome.text === "" ? ended.text : outcome.text };
}

function decide(sender: Sender, decision: MadeDecision): void {
  sender.emit({ type: "decision", decision });
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

async function waitBeforeRetry(
  sender: Sender,
  { cause, status, retryAfterMs }: Wait,
  times: number,
  left: number,
): Promise<void> {
  const { ports, scope } = sender;
  const random = ports.random();
  const backoff =
    2 ** (times - 1) *
    (cause === "runtime-ended" ? SPREAD_MS * random : FIRST_WAIT_MS * (1 + random));
  const isLimited = cause === "rate-limited";
  const wait = Math.max(Math.min(backoff, LONGEST_WAIT_MS), retryAfterMs ?? 0);
  const milliseconds = Math.round(Math.min(wait, isLimited ? left : LONGEST_WAIT_MS));
  if (isLimited) ports.rateLimit.pause(milliseconds);
  decide(sender, { kind: "waiting", milliseconds, cause, status });
  await ports.clock.sleep(milliseconds, scope.signal);
}

async function sendOnce(
  sender: Sender,
  prompt: Prompt,
  modelId: string,
  attempt: number,
  limited: RateLimitWait,
): Promise<TurnOutcome & { readonly opening?: true }> {
  if (sender.scope.stopped !== undefined) return canceled;
  // A scope of its own lets a turn end without the rest.
  const scope = sender.scope.child();
  try {
    const acquired = await prompt.sessions.acquire(modelId, attempt, scope.signal);
    if (acquired.kind === "canceled") return acquired;
    if (acquired.kind === "crashed") return { ...acquired, toolCalls: [], opening: true };
    sender.budgets.calls.beforeCall();
    const { session } = acquired;
    const { gate, rateLimit } = sender.ports;
    // Waiting for the turns of other jobs takes no time of this task.
    const resume = sender.deadline?.hold() ?? (() => {});
    // A port of the application may reject. Then there is no turn.
    let asked: string | undefined = "turnGate";
    const gated = gate.run(async () => {
      resume();
      asked = "rateLimit";
      limited.turn = scope;
      const leave = await rateLimit.enter(scope.signal, (milliseconds) => {
        decide(sender, { kind: "waiting", milliseconds, cause: "rate-limited" });
        limited.met();
      });
      asked = undefined;
      try {
        await unlessAborted(sender.budgets.usage.settled(), scope.signal);
        return await runTurn(sender, prompt, scope, session, attempt, limited);
      } finally {
        leave();
      }
    }, scope.signal);
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

async function runTurn(
  sender: Sender,
  { purpose, retry, text, activity, answerFormat }: Prompt,
  turnScope: Scope,
  session: Session,
  attempt: number,
  limited: RateLimitWait,
): Promise<TurnOutcome> {
  const { scope, ports, limits, emit } = sender;
  if (scope.stopped !== undefined) return canceled;
  if (limited.isOver) return { kind: "crashed", toolCalls: [], crash: limited.crash };
  const asked = typeof text === "string" ? text : text(attempt);
  const prompt = attempt > 1 ? SESSION_CRASH_PREFIX + asked : asked;
  const { id: sessionId, modelId } = session;
  const turnId = sender.nextTurnId();
  emit({ type: "turn.started", sessionId, turnId, modelId, purpose, retry, attempt, prompt });
  const denials = new DenialStreak(turnScope);
  const watch = new TurnWatch(sender, { sessionId, turnId }, denials, limited);
  const turn = session.runTurn(prompt, {
    signal: turnScope.signal,
    turnMs: minutes(limits.turnMinutes),
    idleMs: minutes(limits.idleMinutes),
    activity,
    answerFormat,
    onActivity: (observed) => watch.observe(observed),
  });
  const result = await unlessStopped(turnScope, ports.clock, turn);
  watch.end();
  const stop = denials.crash ?? (limited.isOver ? limited.crash : undefined);
  const outcome = scope.stopped === undefined ? asCrash(result, stop) : canceled;
  emit({ type: "turn.ended", sessionId, turnId, purpose, outcome: outcome.kind });
  return outcome;
}

const abortedByOthers: Crash = {
  cause: "aborted",
  message: "The turn was aborted from outside this run.",
};

function asCrash(outcome: TurnOutcome | undefined, own: Crash | undefined): TurnOutcome {
  if (outcome !== undefined && outcome.kind !== "canceled") return outcome;
  return { kind: "crashed", toolCalls: outcome?.toolCalls ?? [], crash: own ?? abortedByOthers };
}

/** A session that could not be stopped in time may go on: its events are dropped. */
class TurnWatch {
  readonly #sender: Sender;
  readonly #turn: { readonly sessionId: string; readonly turnId: string };
  readonly #denials: DenialStreak;
  readonly #limited: RateLimitWait;
  #over = false;

  constructor(
    sender: Sender,
    turn: { sessionId: string; turnId: string },
    denials: DenialStreak,
    limited: RateLimitWait,
  ) {
    this.#sender = sender;
    this.#turn = turn;
    this.#denials = denials;
    this.#limited = limited;
  }

  observe(happened: SessionActivity): void {
    if (this.#over) return;
    const { emit, budgets, ports } = this.#sender;
    const { sessionId, turnId } = this.#turn;
    const isCutOff =
      happened.kind === "tool.ended" &&
      !happened.succeeded &&
      this.#sender.scope.stopped !== undefined;
    const activity =
      happened.kind === "model.used"
        ? budgets.usage.priced(happened)
        : isCutOff
          ? { ...happened, stopped: true as const }
          : happened;
    emit({ type: "activity", sessionId, turnId, activity });
    switch (activity.kind) {
      case "model.used":
        budgets.calls.spend();
        budgets.usage.spend(activity);
        if (budgets.usage.escapes(activity)) {
          const text = `limits.cost doesn't count the calls of ${activity.modelId}: it has no price`;
          decide(this.#sender, { kind: "note", text });
        }
        ports.rateLimit.lifted();
        this.#limited.lifted();
        this.#sender.onError?.(undefined);
        break;
      case "model.failed":
        this.#sender.onError?.(failureText(activity));
        if (activity.statusCode === 429) {
          ports.rateLimit.met();
          this.#limited.met(failureText(activity), activity.retryAfterMs);
        }
        budgets.calls.fail(activity.statusCode);
        break;
      case "agent.started":
        budgets.calls.beforeCall();
        break;
      default:
        break;
    }
    this.#denials.observe(activity);
  }

  end(): void {
    this.#over = true;
  }
}

function failureText({ statusCode, message }: ModelFailed): string {
  const what =
    statusCode === undefined ? "a model call failed" : `the model server answered ${statusCode}`;
  const refusal = statusCode === undefined ? undefined : refusalOf(statusCode);
  const advice = refusal === undefined ? undefined : crashRemedy(refusal).advice;
  return withAdvice(message === undefined ? what : `${what}: "${message}"`, advice);
}

export interface Sender {
  readonly ports: Pick<EnginePorts, "clock" | "gate" | "rateLimit" | "random">;
  readonly scope: Scope;
  readonly limits: ResolvedLimits;
  readonly budgets: Budgets;
  /** The deadline of the task, if it has one. */
  readonly deadline?: Deadline;
  /** The owner of the turns, for use in a sentence: `task "review"`. */
  readonly subject: string;
  readonly emit: (event: PromptEvent) => void;
  readonly nextTurnId: () => string;
  readonly onError?: (error: string | undefined) => void;
}

type WithoutWork<Event> = Omit<Event, "work">;

export type PromptEvent =
  | WithoutWork<TurnStarted>
  | WithoutWork<TurnEnded>
  | WithoutWork<SessionActed>
  | WithoutWork<Decided>;
