/** Jobs on the real engine and the real runtime, with a model that a test scripts. */
import type { EnginePorts } from "../../src/engine/ports.ts";
import { resolveLimits } from "../../src/engine/limits.ts";
import { RateLimit } from "../../src/engine/rate-limit.ts";
import { runJob } from "../../src/engine/run-job.ts";
import { validateEntry } from "../../src/entry/prepare.ts";
import type { Limits, Permissions, Task, Work } from "../../src/entry/model.ts";
import { decisionText } from "../../src/events/decision.ts";
import type { RunEventBody, RunOutcome } from "../../src/events/event.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import type { Rig } from "../sessions/rig.ts";
import { openGate } from "./engine.ts";
import { identity } from "./plan.ts";
import { decisionOf } from "../../src/events/decision-of.ts";

export interface RealRun {
  readonly outcome: RunOutcome;
  readonly events: readonly RunEventBody[];
  /** `[CATEGORY] text` of every decision. */
  readonly decisions: readonly string[];
  /** `task:outcome` in the order of the ends. */
  readonly ended: readonly string[];
}

export async function runOn(
  rig: Rig,
  setup: {
    readonly tasks: Readonly<Record<string, Task>>;
    readonly work: Work;
    /** Of `models.driving`: by it, a script tells the runs on one server apart. */
    readonly modelId?: string;
    readonly limits?: Limits;
    readonly permissions?: Permissions;
    readonly signal?: AbortSignal;
    readonly onEvent?: (event: RunEventBody) => void;
  },
): Promise<RealRun> {
  const entry = validateEntry(
    {
      models: { driving: setup.modelId ?? "claude-test" },
      tasks: setup.tasks,
      jobs: { job: { work: setup.work } },
      ...(setup.limits === undefined ? {} : { limits: setup.limits }),
    },
    "",
  );
  const events: RunEventBody[] = [];
  const ports: EnginePorts = {
    sessions: rig.sessions.factory,
    clock: systemClock,
    gate: openGate,
    rateLimit: new RateLimit(systemClock),
    random: () => 0,
    emit: (event) => {
      events.push(event);
      setup.onEvent?.(event);
    },
  };
  const outcome = await runJob(
    {
      entry,
      jobName: "job",
      userInput: "",
      workingDirectory: rig.workspace.path,
      limits: resolveLimits(entry.limits),
      ...identity,
      permissionsOf: () => setup.permissions ?? "read-only",
    },
    ports,
    setup.signal,
  );
  return {
    outcome,
    events,
    decisions: events.flatMap((event) => {
      const decided = decisionOf(event);
      return decided === undefined ? [] : [decisionText(decided.decision)];
    }),
    ended: events.flatMap((event) =>
      event.type === "work.ended" ? [`${event.work.taskId}:${event.outcome.kind}`] : [],
    ),
  };
}
