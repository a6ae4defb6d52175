/**
 * What must happen: a small reading of `docs/internals/engine.md`, walked through by hand. Given what kind of failure
 * it is and when it happens, it says how the run ends, what was decided on the way, and how long it may take.
 * The statements are named where they are used.
 */
import type { Decision, Purpose } from "../../src/events/decision.ts";
import { decisionCategory } from "../../src/events/decision.ts";
import type { Crashing, Effect, Failure, Moment } from "./failure.ts";
import { crashStatus } from "../../src/events/crash.ts";

export interface Case {
  readonly failure: Failure;
  readonly moment: Moment;
  /** It fails again and again, not only the first time. */
  readonly lasting: boolean;
  /** The task on its own, or in a `Par` with one sibling that is done and one that is at work. */
  readonly shape: "alone" | "par";
}

export type WorkEnd = "succeeded" | "failed" | "crashed" | "canceled";

export interface Expectation {
  /** Null: ended by a signal. */
  readonly exitCode: number | null;
  /** `none`: the run did not begin; `cut`: it ended without a word. */
  readonly run: "succeeded" | "failed" | "canceled" | "none" | "cut";
  readonly works: Readonly<Record<string, WorkEnd>>;
  /** Task → its decisions, in the form of `decisionToken`. Undefined: no rule says which. */
  readonly decisions: Readonly<Record<string, readonly string[] | undefined>>;
  readonly restarts: number;
  /** For the whole process. */
  readonly seconds: number;
}

export const caseName = ({ failure, moment, lasting, shape }: Case): string =>
  `${failure.name}, ${lasting ? "lasting" : "passing"}, at "${moment}", ${shape === "par" ? "in a Par" : "alone"}`;

export const effectOf = ({ failure, moment }: Case): Effect =>
  failure.effectAt?.[moment] ?? failure.effect;

/** A decision in short: its category, its kind, and the numbers that a rule is about. */
export function decisionToken(decision: Decision): string {
  const prefix = `[${decisionCategory(decision)}] ${decision.kind}`;
  switch (decision.kind) {
    case "session-crashed": {
      const { purpose, attempt, attempts, crash } = decision;
      const status = crashStatus(crash);
      const code = status === undefined ? "" : ` ${status}`;
      return `${prefix} ${purpose} ${attempt}/${attempts} ${crash.cause}${code}`;
    }
    case "further-attempt":
      return `${prefix} ${decision.purpose} ${decision.attempt}/${decision.attempts}`;
    case "attempts-exhausted":
      return `${prefix} ${decision.purpose} after ${decision.attempts}${decision.advice === undefined ? "" : ", with advice"}`;
    case "limit-exceeded":
      return `${prefix} ${decision.limit}`;
    case "criteria-retry":
      return `${prefix} ${decision.retry}/${decision.of}`;
    default:
      return prefix;
  }
}

/** Statement 4. */
const TRIES = 5;
/** Statement 6. */
const FURTHER_TRIES_WHEN_OVERLOADED = 2;
const longestWaits = [4, 8];
/** Starting a process and a runtime, and a healthy run of all purposes. */
const BASE_SECONDS = 8;
/** How much slower a machine may be than what the facts say. */
const GENEROSITY = 3;

interface Step {
  readonly purpose: Purpose;
  readonly hitAt: readonly Moment[];
  readonly decided: readonly string[];
}

function stepsFor(moment: Moment): readonly Step[] {
  const passed = "[CRITERIA] criteria-passed";
  const first: readonly Step[] = [
    {
      purpose: "availability",
      hitAt: ["starting", "creating", "availability"],
      decided: ["[AVAILABILITY] availability-passed"],
    },
    { purpose: "prompt", hitAt: ["prompt", "tool"], decided: [] },
  ];
  if (moment !== "retry") {
    return [...first, { purpose: "criteria", hitAt: ["criteria"], decided: [passed] }];
  }
  return [
    ...first,
    {
      purpose: "criteria",
      hitAt: [],
      decided: ["[CRITERIA] criteria-failed", "[DECISION] criteria-retry 1/1"],
    },
    { purpose: "prompt", hitAt: ["retry"], decided: [] },
    { purpose: "criteria", hitAt: [], decided: [passed] },
  ];
}

const started = "[OPERATION] session-started";
const ended = "[OPERATION] session-ended";

interface Walk {
  readonly end: WorkEnd;
  readonly decisions: readonly string[];
  readonly restarts: number;
  readonly seconds: number;
}

/** The one run of the subject's task. */
function walkSubject(one: Case): Walk {
  const { moment, lasting } = one;
  const effect = effectOf(one);
  const decisions: string[] = [];
  let open = false;
  let restarts = 0;
  let seconds = 0;
  const opens = (): void => {
    if (!open) decisions.push(started);
    open = true;
  };
  const closes = (): void => {
    if (open) decisions.push(ended);
    open = false;
  };
  const over = (end: WorkEnd): Walk => {
    closes();
    return { end, decisions, restarts, seconds };
  };

  for (const step of stepsFor(moment)) {
    const hit = step.hitAt.includes(moment);
    if (hit && (effect.kind === "cancel" || effect.kind === "killed")) {
      if (moment !== "starting" && moment !== "creating") opens();
      return over("canceled");
    }
    if (hit && effect.kind === "task-limit") {
      opens();
      seconds += effect.seconds;
      decisions.push(`[OPERATION] limit-exceeded ${effect.limit}`, "[TASK FAILED] task-failed");
      return over("failed");
    }
    if (hit && effect.kind === "crash") {
      const crashed = crashes(step.purpose, effect);
      if (crashed === "exhausted") {
        // Statement 13: in a retry it is a failed iteration.
        if (moment === "retry") decisions.push("[DECISION] retries-exhausted");
        decisions.push("[TASK FAILED] task-failed");
        return over(moment === "retry" ? "failed" : "crashed");
      }
    }
    opens();
    decisions.push(...step.decided);
  }
  decisions.push("[TASK SUCCEEDED] task-succeeded");
  return over("succeeded");

  /** Statements 4 and 6: one purpose that crashes. */
  function crashes(purpose: Purpose, { first, next }: Effect & { kind: "crash" }): string {
    let overloaded = 0;
    let uncounted = 0;
    for (let attempt = 1; ; attempt += 1) {
      const crash: Crashing | undefined =
        attempt === 1 ? first : lasting ? (next ?? first) : undefined;
      if (crash === undefined) return "recovered";
      // A runtime that died at its start, or before the session was there, never had one.
      const never =
        crash.cause === "start-failed" || crash.cause === "not-installed" || moment === "creating";
      if (!never) opens();
      seconds += crash.seconds;
      if (crash.limit !== undefined) decisions.push(`[OPERATION] limit-exceeded ${crash.limit}`);
      const status = crash.status === undefined ? "" : ` ${crash.status}`;
      if (crash.remedy === "retry-later") overloaded += 1;
      const further = {
        "give-up": 0,
        "retry-later": 1 + FURTHER_TRIES_WHEN_OVERLOADED - overloaded,
        retry: TRIES,
        "retry-uncounted": TRIES,
      }[crash.remedy];
      if (crash.remedy === "retry-uncounted") uncounted += 1;
      const attempts = Math.min(TRIES + uncounted, attempt + further);
      decisions.push(
        `[SESSION CRASHED] session-crashed ${purpose} ${attempt}/${attempts} ${crash.cause}${status}`,
      );
      closes();
      if (attempt === attempts) {
        const silent = crash.cause === "not-installed" || crash.cause === "configuration";
        const advice = silent ? "" : ", with advice";
        decisions.push(`[DECISION] attempts-exhausted ${purpose} after ${attempt}${advice}`);
        return "exhausted";
      }
      if (crash.remedy === "retry-later") {
        decisions.push("[OPERATION] waiting");
        seconds += longestWaits[overloaded - 1] ?? 0;
      }
      if (crash.remedy === "retry-uncounted") {
        decisions.push("[OPERATION] waiting");
        seconds += 10;
      }
      decisions.push(`[DECISION] further-attempt ${purpose} ${attempt + 1}/${attempts}`);
      // Statement 7: one that never came up has no successor, only another attempt.
      if (crash.died !== undefined && !(lasting && next !== undefined)) restarts += 1;
    }
  }
}

export function expectationOf(one: Case): Expectation {
  const effect = effectOf(one);
  const { moment, shape } = one;
  if (effect.kind === "refused") {
    return { exitCode: 2, run: "none", works: {}, decisions: {}, restarts: 0, seconds: 15 };
  }
  const subject = walkSubject(one);
  const harmless = effect.kind === "harmless" ? (effect.seconds ?? 0) : 0;
  const seconds = GENEROSITY * (BASE_SECONDS + subject.seconds + harmless);
  const common = { restarts: subject.restarts, seconds };
  if (effect.kind === "killed") {
    const decisions = { subject: withoutEnd(subject.decisions) };
    return { ...common, exitCode: null, run: "cut", works: {}, decisions };
  }
  const crashed = subject.end === "crashed";
  const begins = one.failure.execute === undefined || subject.end !== "canceled";
  const alone: Expectation["works"] = begins ? { subject: subject.end } : {};
  const run = subject.end === "crashed" ? "failed" : subject.end;
  if (shape === "alone") {
    return {
      ...common,
      exitCode: exitCodes[run],
      run,
      works: alone,
      decisions: { subject: subject.decisions },
    };
  }
  const canceled = effect.kind === "cancel";
  // Statement 16: a crash stops the siblings at once, a failure leaves them alone.
  const busy: WorkEnd = crashed || canceled ? "canceled" : "succeeded";
  const begun = moment !== "starting" && moment !== "creating";
  const whole = canceled ? "canceled" : run;
  if (effect.kind === "crash" && (!begun || effect.next !== undefined)) {
    // It hits whoever is first, when all start, and when none gets another runtime: no rule says who.
    const works: Expectation["works"] =
      whole === "succeeded" ? { subject: whole, quicker: whole, "at-work": whole } : {};
    return { ...common, exitCode: exitCodes[whole], run: whole, works, decisions: {} };
  }
  const siblings = begun ? { quicker: healthy, "at-work": busyDecisions(one, busy) } : {};
  return {
    ...common,
    // Alone, nobody needs another one at the very end; beside somebody at work, somebody does.
    restarts: effect.kind === "harmless" && effect.died !== undefined ? 1 : common.restarts,
    exitCode: exitCodes[whole],
    run: whole,
    works: begun
      ? { ...alone, quicker: "succeeded", "at-work": busy }
      : { ...alone, quicker: busy, "at-work": busy },
    decisions: { subject: subject.decisions, ...siblings },
  };
}

const exitCodes = { succeeded: 0, failed: 1, canceled: 130 } as const;
const healthy: readonly string[] = [started, "[TASK SUCCEEDED] task-succeeded", ended];

/** Statement 7: if the runtime dies, the sibling at work dies with it, and comes back. */
function busyDecisions(one: Case, end: WorkEnd): readonly string[] | undefined {
  const effect = effectOf(one);
  // Two turns that hang for the same reason reach the same deadline, or one hears of the other's first.
  if (
    effect.kind === "crash" &&
    effect.first.limit === "turnMinutes" &&
    diesOf(effect) !== undefined
  )
    return;
  if (end === "canceled") return [started, ended];
  const died = diesOf(effect);
  if (died === undefined) return healthy;
  // Statement 6: an attempt that our end of the runtime cost doesn't count.
  const attempts = died === "ended" ? 6 : 5;
  return [
    started,
    `[SESSION CRASHED] session-crashed prompt 1/${attempts} runtime-died`,
    ended,
    ...(died === "ended" ? ["[OPERATION] waiting"] : []),
    `[DECISION] further-attempt prompt 2/${attempts}`,
    ...healthy,
  ];
}

function diesOf(effect: Effect): Crashing["died"] {
  if (effect.kind === "harmless") return effect.died;
  return effect.kind === "crash" ? effect.first.died : undefined;
}

function withoutEnd(decisions: readonly string[]): readonly string[] {
  return decisions.at(-1) === ended ? decisions.slice(0, -1) : decisions;
}
