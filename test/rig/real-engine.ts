/** Jobs on the real engine and the real runtime, with a model that a test scripts. */
import type { EnginePorts } from "../../src/engine/ports.ts";
import { resolveLimits } from "../../src/engine/limits.ts";
import { LocalRateLimit } from "../../src/engine/rate-limit.ts";
import { runJob } from "../../src/engine/run-job.ts";
import { validateEntry } from "../../src/entry/prepare.ts";
import type { Limits, Permissions, Task, Work } from "../../src/entry/model.ts";
import type { RunEventBody } from "../../src/events/event.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import type { Rig } from "../sessions/rig.ts";
import { openGate, told, type Played } from "./engine.ts";
import { identity } from "./plan.ts";
import { unconfined } from "./sandbox.ts";

export type RealRun = Pick<Played, "outcome" | "events" | "decisions" | "ended">;

export async function runOn(
  rig: Rig,
  setup: {
    readonly tasks: Readonly<Record<string, Task>>;
    readonly work: Work;
    /** The id of `models.driving`, by which a script tells the runs on one server apart. */
    readonly modelId?: string;
    readonly limits?: Limits;
    readonly permissions?: Permissions;
    readonly signal?: AbortSignal;
    readonly onEvent?: (event: RunEventBody) => void;
    /** Of the engine alone. Default: the real one. */
    readonly clock?: Clock;
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
  const { clock = systemClock } = setup;
  const ports: EnginePorts = {
    sessions: rig.sessions.factory,
    clock,
    gate: openGate,
    rateLimit: new LocalRateLimit(clock),
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
      permissionsOf: () => unconfined(setup.permissions ?? "read-only"),
    },
    ports,
    setup.signal,
  );
  return { outcome, events, ...told(events) };
}
