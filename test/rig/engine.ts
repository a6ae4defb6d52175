import { validateEntry } from "../../src/entry/prepare.ts";
import type { Entry, Limits, Task, Work } from "../../src/entry/model.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { EnginePorts, TurnGate } from "../../src/engine/ports.ts";
import type { RunSpec } from "../../src/engine/plan.ts";
import { RateLimit } from "../../src/engine/rate-limit.ts";
import { resolveLimits } from "../../src/engine/limits.ts";
import { runJob, runSingleTask, type TaskSpec } from "../../src/engine/run-job.ts";
import type { Crash } from "../../src/events/crash.ts";
import { decisionText } from "../../src/events/decision.ts";
import type { RunEventBody, RunOutcome } from "../../src/events/event.ts";
import type { SessionFactory, SessionRequest } from "../../src/engine/ports.ts";
import { FakeClock } from "./fake-clock.ts";
import { FakeSessions, type Act, type Turn } from "./fake-sessions.ts";
import { identity } from "./plan.ts";
import { decisionOf } from "../../src/events/decision-of.ts";

export const openGate: TurnGate = {
  run: (turn, signal) => (signal.aborted ? Promise.resolve(undefined) : turn()),
};

export interface Setup {
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
  readonly onEvent?: (event: RunEventBody, clock: FakeClock) => void;
  readonly awaited?: () => string | undefined;
  readonly onWork?: EnginePorts["onWork"];
  /** The workflows of the work. */
  readonly flows?: RunSpec["flows"];
  /** The front-ends of its tasks. */
  readonly dialogues?: RunSpec["dialogues"];
  readonly toolSource?: RunSpec["toolSource"];
  readonly workspace?: RunSpec["workspace"];
  readonly values?: RunSpec["values"];
  readonly outputChecks?: RunSpec["outputChecks"];
  /** What it is about. */
  readonly change?: RunSpec["change"];
  readonly past?: RunSpec["past"] | undefined;
  readonly fanOut?: RunSpec["fanOut"] | undefined;
  /** Run this as `startTask` would, instead of a job. */
  readonly single?: Partial<TaskSpec> & { readonly taskName: string };
}

export interface Played {
  readonly outcome: RunOutcome;
  readonly events: readonly RunEventBody[];
  readonly sessions: FakeSessions;
  /** `[CATEGORY] text` of every decision. */
  readonly decisions: readonly string[];
  /** `task:outcome` in the order of the ends. */
  readonly ended: readonly string[];
  readonly clock: FakeClock;
}

/** Runs a job on the real engine with a fake session and a fake clock. */
export async function play(setup: Setup): Promise<Played> {
  const clock = new FakeClock();
  const sessions = new FakeSessions(clock, setup.play, setup.refuse);
  const events: RunEventBody[] = [];
  const taskId = Object.keys(setup.tasks)[0] ?? "";
  const entry = validateEntry(
    {
      models: setup.models ?? { driving: "driver", work: "worker" },
      tasks: setup.tasks,
      jobs: {
        job: { work: setup.work ?? { kind: "Ref", taskId, modelOverride: { category: "work" } } },
      },
      ...setup.entry,
    },
    "",
  );
  const ports = {
    sessions: setup.factory ?? sessions,
    clock,
    gate: setup.gate?.(clock) ?? openGate,
    rateLimit: new RateLimit(clock),
    random: () => 0,
    ...(setup.awaited === undefined ? {} : { awaited: setup.awaited }),
    ...(setup.onWork === undefined ? {} : { onWork: setup.onWork }),
    emit: (event: RunEventBody): void => {
      events.push(event);
      setup.onEvent?.(event, clock);
    },
  };
  const spec = {
    entry,
    userInput: setup.userInput ?? "",
    workingDirectory: "/workspace",
    limits: resolveLimits(entry.limits, setup.limits),
    ...identity,
    permissionsOf: () => "read-only" as const,
    ...(setup.flows === undefined ? {} : { flows: setup.flows }),
    ...(setup.dialogues === undefined ? {} : { dialogues: setup.dialogues }),
    ...(setup.toolSource === undefined ? {} : { toolSource: setup.toolSource }),
    ...(setup.workspace === undefined ? {} : { workspace: setup.workspace }),
    ...(setup.outputChecks === undefined ? {} : { outputChecks: setup.outputChecks }),
    ...(setup.values === undefined ? {} : { values: setup.values }),
    ...(setup.change === undefined ? {} : { change: setup.change }),
    ...(setup.past === undefined ? {} : { past: setup.past }),
    ...(setup.fanOut === undefined ? {} : { fanOut: setup.fanOut }),
  };
  const running =
    setup.single === undefined
      ? runJob({ ...spec, jobName: "job" }, ports, setup.signal)
      : runSingleTask(
          { ...spec, ignorePrerequisiteCheck: false, ...setup.single },
          ports,
          setup.signal,
        );
  const outcome = await clock.runUntil(running);
  return {
    outcome,
    events,
    sessions,
    clock,
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
