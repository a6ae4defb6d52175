/**
 * The one crash-retry loop. It sends one prompt for one purpose
 * and makes further attempts after crashes, as the budget of the purpose and the remedy of the crash allow.
 */
import { crashRemedy, type Crash, type Remedy } from "../events/crash.ts";
import type { Purpose } from "../events/decision.ts";
import type { SessionActivity, ToolEnded } from "../events/session-activity.ts";
import type { ExpandedPrompt } from "../entry/model.ts";
import { crossed, DenialStreak, minutes } from "./limits.ts";
import type { Judged } from "./criteria.ts";
import type { Session, TurnOutcome } from "./ports.ts";
import { unlessStopped } from "./scope.ts";
import { STOP_GRACE_MS, type SessionKeeper } from "./session-keeper.ts";
import { decide, observe, type TaskContext } from "./task-context.ts";

export const SESSION_CRASH_PREFIX =
  "The session crashed, please redo and here is the last request:\n";

const MANAGED_TRIES = 5;
/** After a 429 or 5xx the runtime itself has tried up to six times. */
const OVERLOADED_RETRIES = 2;
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 120_000;

export interface MissionRequest {
  readonly purpose: Purpose;
  readonly role: "driving" | "task";
  readonly prompt: ExpandedPrompt;
  /** 0, else the criteria retry that this is a part of. */
  readonly retry: number;
  /** Whether a turn that completed has served its purpose; a session of its own ends with that. */
  readonly wentWell: (judged: Judged) => boolean;
}

export type MissionOutcome =
  | ({ readonly kind: "completed" } & Judged)
  | { readonly kind: "exhausted"; readonly crash: Crash }
  | { readonly kind: "stopped" };

export async function runMission(
  context: TaskContext,
  keeper: SessionKeeper,
  request: MissionRequest,
): Promise<MissionOutcome> {
  const { scope, variables } = context;
  const { count: tries, models } = triesOf(context, request.role);
  const nextModel = (): string => models.next().value ?? context.modelId;
  let modelId = nextModel();
  let overloaded = 0;
  for (let attempt = 1; ; attempt += 1) {
    for (const latest of [context.latestTry, context.latestOfRun]) {
      Object.assign(latest, { attempt, attempts: tries });
    }
    const outcome = await tryOnce(context, keeper, request, modelId, attempt);
    if (outcome === "stopped" || outcome.kind === "canceled") return { kind: "stopped" };
    variables.report(outcome.toolCalls);
    if (outcome.kind !== "crashed") {
      const judged = { toolCalls: outcome.toolCalls, cut: outcome.kind === "cut" };
      if (scope.stopped !== undefined) return { kind: "stopped" };
      await keeper.missionDone(request.wentWell(judged));
      return scope.stopped === undefined ? { kind: "completed", ...judged } : { kind: "stopped" };
    }

    const { crash } = outcome;
    const limit = limitOf(crash);
    if (limit !== undefined) {
      const scope = `a turn of task "${context.work.taskId}"`;
      decide(context, { kind: "limit-crossed", ...crossed(context.limits, limit), scope });
    }
    const remedy = crashRemedy(crash);
    if (remedy.kind === "retry-later") overloaded += 1;
    const attempts = Math.min(tries, attempt + furtherTries(remedy, overloaded));
    decide(context, {
      kind: "session-crashed",
      purpose: request.purpose,
      attempt,
      attempts,
      crash,
    });
    await keeper.end(false);
    if (attempt === attempts) {
      const advice = remedy.kind === "give-up" ? { advice: remedy.advice } : {};
      decide(context, {
        kind: "crash-budget-drained",
        purpose: request.purpose,
        attempts: attempt,
        ...advice,
      });
      return { kind: "exhausted", crash };
    }
    if (remedy.kind === "retry-later") {
      await waitBeforeRetry(context, crash, overloaded, remedy.retryAfterMs);
    }
    if (scope.stopped !== undefined) return { kind: "stopped" };
    modelId = nextModel();
    const awaited = context.ports.awaited?.();
    decide(context, {
      kind: "crash-retry",
      purpose: request.purpose,
      retry: attempt,
      of: attempts - 1,
      modelId,
      ...(awaited === undefined ? {} : { waitingFor: awaited }),
    });
  }
}

/** How many tries may follow a crash, however many the budget still has. */
function furtherTries({ kind }: Remedy, overloaded: number): number {
  switch (kind) {
    case "give-up":
      return 0;
    case "retry-later":
      return OVERLOADED_RETRIES + 1 - overloaded;
    case "retry":
      return Infinity;
  }
}

type Tried = TurnOutcome | "stopped";

async function tryOnce(
  context: TaskContext,
  keeper: SessionKeeper,
  request: MissionRequest,
  modelId: string,
  attempt: number,
): Promise<Tried> {
  const { scope, ports } = context;
  if (scope.stopped !== undefined) return "stopped";
  const acquired = await keeper.acquire({
    role: request.role,
    modelId,
    retry: request.retry,
    attempt,
  });
  if (acquired.kind === "stopped") return "stopped";
  if (acquired.kind === "crashed") return { ...acquired, toolCalls: [] };
  context.calls.beforeCall();
  const { session } = acquired;
  const outcome = await ports.gate.run(async () => {
    const leave = await context.rateLimit.enter(scope.signal, (milliseconds) =>
      decide(context, {
        kind: "waiting",
        milliseconds,
        reason: "a rate limit of the model server",
      }),
    );
    try {
      return await runTurn(context, session, request, attempt);
    } finally {
      leave();
    }
  }, scope.signal);
  return outcome ?? "stopped";
}

async function runTurn(
  context: TaskContext,
  session: Session,
  request: MissionRequest,
  attempt: number,
): Promise<Tried> {
  const { scope, ports, work, limits, variables } = context;
  if (scope.stopped !== undefined) return "stopped";
  const { purpose, retry } = request;
  const prompt = (attempt > 1 ? SESSION_CRASH_PREFIX : "") + variables.expand(request.prompt);
  const sessionId = session.id;
  const turnId = context.nextTurnId();
  ports.emit({
    type: "turn.started",
    work,
    sessionId,
    turnId,
    modelId: session.modelId,
    purpose,
    retry,
    attempt,
    prompt,
  });
  // Of its own, so that it can be ended without its task.
  const turnScope = scope.child();
  const denials = new DenialStreak(turnScope);
  const activities = new TurnActivities((activity) => {
    observe(context, { sessionId, turnId }, activity);
    denials.observe(activity);
  });
  const turn = session.runTurn(prompt, {
    signal: turnScope.signal,
    turnMs: minutes(limits.turnMinutes),
    idleMs: minutes(limits.idleMinutes),
    onActivity: (activity) => activities.pass(activity),
  });
  const result = await unlessStopped(turnScope, ports.clock, STOP_GRACE_MS, turn);
  turnScope.dispose();
  activities.end();
  const outcome =
    scope.stopped === undefined
      ? asCrash(result, denials.crash)
      : { kind: "canceled" as const, toolCalls: [] };
  const ended = outcome.kind === "cut" ? "completed" : outcome.kind;
  ports.emit({ type: "turn.ended", work, sessionId, turnId, purpose, outcome: ended });
  return outcome;
}

/**
 * What a turn does, until it is over: a session that could not be stopped in time may go on, and nobody
 * would expect it. The tools that it leaves open are ended.
 */
class TurnActivities {
  readonly #next: (activity: SessionActivity) => void;
  readonly #open: { readonly id: string; readonly tool: string }[] = [];
  #over = false;

  /** `next` is told the names of the tools that end. */
  constructor(next: (activity: SessionActivity) => void) {
    this.#next = next;
  }

  pass(activity: SessionActivity): void {
    if (this.#over) return;
    if (activity.kind === "tool.started")
      this.#open.push({ id: activity.toolCallId, tool: activity.toolName });
    this.#next(activity.kind === "tool.ended" ? this.#named(activity) : activity);
  }

  end(): void {
    this.#over = true;
    const error = { message: "The turn ended before the tool did." };
    for (const { id: toolCallId, tool: toolName } of this.#open)
      this.#next({ kind: "tool.ended", toolCallId, toolName, succeeded: false, error });
  }

  #named(ended: ToolEnded): ToolEnded {
    const index = this.#open.findIndex(({ id }) => id === ended.toolCallId);
    const [call] = index === -1 ? [] : this.#open.splice(index, 1);
    return call === undefined ? ended : { ...ended, toolName: call.tool };
  }
}

const abortedByOthers: Crash = {
  kind: "aborted",
  message: "The turn was aborted, but not by this run.",
};

/** A turn that says it was canceled was ended for its denials; else somebody else has aborted it. */
function asCrash(outcome: TurnOutcome | undefined, denied: Crash | undefined): TurnOutcome {
  if (outcome !== undefined && outcome.kind !== "canceled") return outcome;
  const toolCalls = outcome?.toolCalls ?? [];
  return { kind: "crashed", toolCalls, crash: denied ?? abortedByOthers };
}

interface Tries {
  readonly count: number;
  /** The model of each try, in order. */
  readonly models: Iterator<string>;
}

/** Statements 4 and 5 of docs/engine.md: how many attempts a purpose may have, and with which models. */
function triesOf(context: TaskContext, role: "driving" | "task"): Tries {
  const { entry, mode, modelId } = context;
  const { driving } = entry.models;
  const budgets = entry.drivingSessionRetries;
  switch (mode.kind) {
    case "borrowed":
      return { count: 1, models: again(mode.session.modelId) };
    case "single":
      return { count: MANAGED_TRIES, models: again(modelId) };
    case "multiple":
      if (role === "task") return { count: MANAGED_TRIES, models: again(modelId) };
      if (budgets === undefined) return { count: MANAGED_TRIES, models: again(driving) };
      return {
        count: budgets.reduce((sum, { retries }) => sum + retries, 1),
        models: roundRobin(driving, budgets),
      };
  }
}

function* again(modelId: string): Generator<string> {
  for (;;) yield modelId;
}

/** One by one: a budget may be any number. */
function* roundRobin(
  first: string,
  budgets: readonly { readonly modelId: string; readonly retries: number }[],
): Generator<string> {
  yield first;
  for (let round = 0, left = budgets; left.length > 0; round += 1) {
    left = left.filter(({ retries }) => retries > round);
    for (const { modelId } of left) yield modelId;
  }
}

/** The limit whose crossing was the crash. */
function limitOf(crash: Crash): "turnMinutes" | "idleMinutes" | undefined {
  switch (crash.kind) {
    case "turn-deadline":
      return "turnMinutes";
    case "idle-deadline":
      return "idleMinutes";
    default:
      return undefined;
  }
}

async function waitBeforeRetry(
  context: TaskContext,
  crash: Crash,
  overloaded: number,
  retryAfterMs: number | undefined,
): Promise<void> {
  const { ports, scope } = context;
  const backoff = FIRST_WAIT_MS * 2 ** (overloaded - 1) * (1 + ports.random());
  const milliseconds = Math.round(Math.min(Math.max(backoff, retryAfterMs ?? 0), LONGEST_WAIT_MS));
  const status = crash.statusCode === undefined ? "" : ` (${crash.statusCode})`;
  if (crash.statusCode === 429) context.rateLimit.pause(milliseconds);
  decide(context, {
    kind: "waiting",
    milliseconds,
    reason: `the model server is overloaded${status}`,
  });
  await ports.clock.sleep(milliseconds, scope.signal);
}
