import { defined } from "../../src/text/guards.ts";
import { validateEntry } from "../../src/entry/prepare.ts";
import type { Entry, Limits, Task, Work } from "../../src/entry/model.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type {
  Budget,
  EnginePorts,
  OutputChecks,
  SessionFactory,
  SessionRequest,
  RateLimit,
  TurnGate,
} from "../../src/engine/ports.ts";
import type { RunSpec, TaskSpec } from "../../src/engine/plan.ts";
import { JobData } from "../../src/engine/job-data.ts";
import { LocalRateLimit } from "../../src/engine/rate-limit.ts";
import { resolveLimits } from "../../src/engine/limits.ts";
import { runJob } from "../../src/engine/run-job.ts";
import type { Crash } from "../../src/events/crash.ts";
import { decisionText } from "../../src/events/decision.ts";
import {
  type EmittedEvent,
  type RunEventBody,
  type RunOutcome,
  decisionOf,
} from "../../src/events/event.ts";
import { FakeClock } from "./fake-clock.ts";
import { FakeSessions, type Act, type Turn } from "./fake-sessions.ts";
import { identity } from "./plan.ts";

export const openGate: TurnGate = {
  run: (turn, signal) => (signal.aborted ? Promise.resolve(undefined) : turn()),
};

type OfRun =
  | "flows"
  | "dialogues"
  | "toolSource"
  | "workspace"
  | "values"
  | "outputChecks"
  | "change"
  | "previous"
  | "past"
  | "fanOut";

export interface Setup extends Partial<Pick<RunSpec, OfRun>> {
  readonly tasks: Readonly<Record<string, Task>>;
  /** Default: the only task. */
  readonly work?: Work;
  readonly models?: Entry["models"];
  readonly entry?: Partial<Entry>;
  readonly limits?: Limits;
  readonly userInput?: string;
  readonly play: (turn: Turn) => Act;
  readonly refuse?: (request: SessionRequest) => Crash | undefined;
  readonly gate?: (clock: Clock) => TurnGate;
  readonly signal?: AbortSignal;
  /** Where nobody answers, if so. */
  /** Instead of the fake sessions. */
  readonly factory?: SessionFactory;
  /** Sees every event as it happens. */
  readonly onEvent?: (event: EmittedEvent, clock: FakeClock) => void;
  readonly budget?: Budget;
  readonly rateLimit?: RateLimit;
  readonly awaited?: () => string | undefined;
  readonly onWork?: EnginePorts["onWork"];
  /** Run this as `startTask` would, instead of a job. */
  readonly single?: Partial<TaskSpec> & { readonly taskName: string };
}

/** What tasks leave for others, in a job without tasks. */
export function emptyData(): JobData {
  const entry = validateEntry({ models: { driving: "driver" }, tasks: {}, jobs: {} }, "");
  return new JobData({ entry, userInput: "" }, () => {});
}

export interface Played {
  readonly outcome: RunOutcome;
  readonly events: readonly EmittedEvent[];
  readonly sessions: FakeSessions;
  /** `[CATEGORY] text` of every decision. */
  readonly decisions: readonly string[];
  /** `task:outcome` in the order of the ends. */
  readonly ended: readonly string[];
  readonly clock: FakeClock;
}

/** Runs a job on the real engine with a fake session and a fake clock. */
export async function play(setup: Setup): Promise<Played> {
  const {
    tasks,
    work,
    models = { driving: "driver", work: "worker" },
    entry: more,
    limits,
    userInput = "",
    play: act,
    refuse,
    gate,
    budget,
    rateLimit,
    signal,
    awaited,
    factory,
    onEvent,
    onWork,
    single,
    ...ofRun
  } = setup;
  const clock = new FakeClock();
  const sessions = new FakeSessions(clock, act, refuse);
  const events: EmittedEvent[] = [];
  const taskId = Object.keys(tasks)[0] ?? "";
  const usual: Work = { kind: "Ref", taskId, modelOverride: { category: "work" } };
  const entry = validateEntry(
    { models, tasks, jobs: { job: { work: work ?? usual } }, ...more },
    "",
  );
  const ports: EnginePorts = {
    sessions: factory ?? sessions,
    clock,
    gate: gate?.(clock) ?? openGate,
    rateLimit: rateLimit ?? new LocalRateLimit(clock),
    random: () => 0,
    ...defined({ awaited, budget, onWork }),
    emit(event) {
      events.push(event);
      onEvent?.(event, clock);
    },
  };
  const spec: RunSpec = {
    entry,
    userInput,
    workingDirectory: "/workspace",
    limits: resolveLimits(entry.limits, limits),
    ...identity,
    permissionsOf: () => "read-only",
    ...ofRun,
  };
  const of = single ? { ignorePrerequisiteCheck: false, ...single } : { jobName: "job" };
  const running = runJob({ ...spec, ...of }, ports, signal);
  const outcome = await clock.runUntil(running);
  return { outcome, events, sessions, clock, ...told(events) };
}

/** `[CATEGORY] text` of every decision, and `task:outcome` in the order of the ends. */
export function told(events: readonly RunEventBody[]): Pick<Played, "decisions" | "ended"> {
  return {
    decisions: events.flatMap((event) => {
      const decided = decisionOf(event);
      return decided === undefined ? [] : [decisionText(decided.decision)];
    }),
    ended: events.flatMap((event) =>
      event.type === "work.ended" ? [`${event.work.taskId}:${event.outcome.kind}`] : [],
    ),
  };
}

export const ref = (taskId: string): Work => ({ kind: "Ref", taskId });

const messageIn = (value: unknown): string => String(Object(value).message);

/** Takes whatever comes, but for messages that begin with "no"; the message says which it was. */
export const outputChecks: OutputChecks = {
  finding: (value, task) =>
    Promise.resolve(
      messageIn(value).startsWith("no")
        ? { kind: "refused", reason: "No." }
        : {
            kind: "accepted",
            value: {
              path: "a.ts",
              line: 1,
              severity: "warning",
              rule: task,
              message: messageIn(value),
              task,
              fingerprint: messageIn(value),
            },
          },
    ),
  proposal: (value) =>
    Promise.resolve({ kind: "accepted", value: { kind: "comment", body: String(value) } }),
};
