/** Holds what was seen against what must be: every difference is a sentence. */
import { decisionOf, type RunEvent } from "../../src/events/event.ts";
import { decisionText } from "../../src/events/decision.ts";
import type { Observation } from "./play.ts";
import {
  decisionToken,
  effectOf,
  expectationOf,
  type Case,
  type Expectation,
  type WorkEnd,
} from "./rules.ts";

const serverFailed = "tool-server-failed";
/** Statement 19. */
const CANCEL_MS = 5_000;
/** A hang is never longer than the limit and this. */
const AFTER_LIMIT_MS = 10_000;

/** The event loop is never blocked for longer, unless the failure says so. */
const LOOP_MS = 100;

/** `timed`: false where other tests run beside it, so that no time says anything. */
export function problemsOf(one: Case, seen: Observation, timed = true): readonly string[] {
  const expected = expectationOf(one);
  const problems: string[] = [];
  const must = (holds: boolean, what: string): void => void (holds || problems.push(what));
  const equal = (what: string, actual: unknown, wanted: unknown): void => {
    const [a, w] = [JSON.stringify(actual), JSON.stringify(wanted)];
    must(a === w, `${what}: ${a}, must be ${w}`);
  };
  const effect = effectOf(one);
  const events = seen.journal?.events ?? [];

  // 1. The outcome.
  // A job that went well is no success without the journal that was asked for.
  const failing = effect.kind === "unwritten" && expected.exitCode === 0;
  equal("exit code", seen.exitCode, failing ? 1 : expected.exitCode);
  if (expected.run === "none") {
    equal("events", events.length, 0);
    if (effect.kind === "refused") must(effect.advice.test(seen.stderr), "there is no advice");
  } else if (effect.kind === "unwritten") {
    const reported = /journal is incomplete|can't be written/.test(seen.stderr);
    must(reported, "stderr does not report that the journal is incomplete");
    must(seen.stdout.includes("job "), "the terminal does not tell the end");
  } else {
    checkJournal(seen, expected, problems);
  }
  must(!/bug in agent-jobs|Unhandled|at .*\.js:\d+/.test(seen.stderr), "stderr shows a defect");

  // 2. The decisions.
  if (effect.kind !== "unwritten" && expected.run !== "none") {
    for (const [task, wanted] of Object.entries(expected.decisions)) {
      if (wanted === undefined) continue;
      // A rate limit that one of them meets makes the others wait, or not: that is a matter of moments.
      const seldom = one.shape === "par" && one.failure.name.startsWith("429");
      const fixed = (tokens: readonly string[]): readonly string[] =>
        seldom ? tokens.filter((token) => token !== "[OPERATION] waiting") : tokens;
      equal(`decisions of ${task}`, fixed(decisionsOf(events, task)), fixed(wanted));
    }
    const restarts = decisionsOf(events, null).filter((token) => token.includes("restarted"));
    equal("new runtimes", restarts.length, expected.restarts);
    const { serverFails = false } = one.failure;
    const reported = events.some((event) => decisionOf(event)?.decision.kind === serverFailed);
    equal("failed servers are reported", reported, serverFails);
  }

  // 3. Time.
  must(!seen.overdue, `it had to be ended after ${seen.milliseconds} ms`);
  if (timed) problems.push(...tooLong(one, seen));

  // 4. Nothing left: after a kill, once the next run has started.
  equal("processes left", seen.processesLeft, []);
  equal("files left", seen.filesLeft, []);
  if (one.failure.leaves === "own-death") {
    const reported = /\[OPERATION\] Removed the processes and files of/.test(seen.nextStart);
    must(reported, "the next start does not report what it has cleaned up");
  } else {
    const quiet = seen.notes.some(({ kind }) => kind === "quiet");
    const last = seen.notes.at(-1);
    must(quiet, `something held the process open: ${JSON.stringify(last)}`);
  }
  const { failure, moment } = one;
  const isBefore =
    failure.baseUrl !== undefined || (moment === "starting" && failure.before !== undefined);
  must(isBefore || seen.sinceFailure !== undefined, "the failure never happened");
  return problems;
}

function checkJournal(seen: Observation, expected: Expectation, problems: string[]): void {
  const { journal } = seen;
  if (journal === undefined) {
    problems.push("there is no journal");
    return;
  }
  const { events } = journal;
  // A process that is killed may leave its last line torn, and no other.
  const wrong = journal.torn ? journal.problems.slice(0, -1) : journal.problems;
  if (wrong.length > 0) problems.push(`the journal has problems: ${JSON.stringify(wrong)}`);
  if (journal.torn && expected.run !== "cut") problems.push("the journal is torn");
  const last = events.at(-1);
  if (expected.run === "cut") {
    if (last?.type === "run.ended") problems.push("it went on to its end");
    return;
  }
  const outcome = last?.type === "run.ended" ? last.outcome.kind : "(no run.ended)";
  if (outcome !== expected.run) problems.push(`the run: ${outcome}, must be ${expected.run}`);
  const ends: Record<string, WorkEnd> = {};
  for (const event of events) {
    if (event.type === "work.ended" && event.outcome.kind !== "skipped")
      ends[event.work.taskId] = event.outcome.kind;
  }
  for (const [task, end] of Object.entries(expected.works)) {
    // A work that had not begun when the run was canceled has no end either.
    if (ends[task] !== end) problems.push(`${task}: ${ends[task]}, must be ${end}`);
  }
  problems.push(...unended(events));
}

function decisionsOf(events: readonly RunEvent[], task: string | null): string[] {
  return events.flatMap((event) => {
    const decided = decisionOf(event);
    if (decided === undefined || (decided.work?.taskId ?? null) !== task) return [];
    // How often the runtime and the model try is their own affair.
    const { kind } = decided.decision;
    if (kind === "model-call-failed" || kind === "tool-call-failed") return [];
    // Once for each session, or for each server: it is checked whether there is any.
    if (kind === serverFailed) return [];
    return [decisionToken(decided.decision)];
  });
}

/** Whatever started also ended. */
function unended(events: readonly RunEvent[]): string[] {
  const count = (type: RunEvent["type"]): number =>
    events.filter((event) => event.type === type).length;
  return (["work", "session", "turn"] as const).flatMap((what) => {
    const [started, ended] = [count(`${what}.started`), count(`${what}.ended`)];
    return started === ended ? [] : [`${started} ${what}s started, ${ended} ended`];
  });
}

function tooLong(one: Case, seen: Observation): string[] {
  const problems = longTurns(one, seen.journal?.events ?? []);
  const bound = expectationOf(one).seconds * 1000;
  if (seen.milliseconds > bound)
    problems.push(`it took ${seen.milliseconds} ms, at most ${bound} are right`);
  if (effectOf(one).kind === "cancel" && (seen.sinceFailure ?? 0) > CANCEL_MS)
    problems.push(`canceling took ${seen.sinceFailure} ms`);
  const blocked = Math.round(seen.blockedMs ?? 0);
  if (blocked > (one.failure.blocks ?? LOOP_MS))
    problems.push(`the event loop was blocked for ${blocked} ms`);
  if (seen.journal !== undefined) problems.push(...lateSiblings(seen.journal.events));
  return problems;
}

function longTurns({ failure }: Case, events: readonly RunEvent[]): string[] {
  const { idleMinutes, turnMinutes } = failure.limits ?? {};
  const limit = Math.max(idleMinutes ?? 0, turnMinutes ?? 0) * 60_000;
  if (limit === 0) return [];
  return events.flatMap((event, index) => {
    if (event.type !== "turn.started") return [];
    const end = events
      .slice(index)
      .find((other) => other.type === "turn.ended" && other.sessionId === event.sessionId);
    const took = (end?.at ?? event.at) - event.at;
    return took <= limit + AFTER_LIMIT_MS ? [] : [`a turn of ${event.purpose} took ${took} ms`];
  });
}

/** Statement 16: a crash stops what else runs at once. */
function lateSiblings(events: readonly RunEvent[]): string[] {
  const crash = events.find(
    (event) => event.type === "work.ended" && event.outcome.kind === "crashed",
  );
  if (crash === undefined) return [];
  return events.flatMap((event) =>
    event.type === "work.ended" && event.at - crash.at > CANCEL_MS
      ? [`${event.work.taskId} was stopped ${event.at - crash.at} ms after the crash`]
      : [],
  );
}

export function story(seen: Observation): string {
  const decisions = (seen.journal?.events ?? []).flatMap((event) => {
    const decided = decisionOf(event);
    return decided === undefined
      ? []
      : [`${decided.work?.taskId ?? "job"} ${decisionText(decided.decision).slice(0, 300)}`];
  });
  return [
    "decisions:",
    ...decisions.map((line) => `  ${line}`),
    "end of stdout:",
    seen.stdout.slice(-600),
    "end of stderr:",
    seen.stderr.slice(-1200),
  ].join("\n");
}
