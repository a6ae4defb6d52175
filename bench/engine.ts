/** How many steps per second the engine runs by itself: fake sessions, a fake sink, the real clock. */
import { createGate } from "../src/run/gate.ts";
import type { Work } from "../src/entry/model.ts";
import { validateEntry } from "../src/entry/prepare.ts";
import { resolveLimits } from "../src/engine/limits.ts";
import type { EnginePorts } from "../src/engine/ports.ts";
import { LocalRateLimit } from "../src/engine/rate-limit.ts";
import { runJob } from "../src/engine/run-job.ts";
import { systemClock } from "../src/platform/system-clock.ts";
import type { Row, Side } from "./rig.ts";

const STEPS = 20_000;

const session = {
  id: "s",
  modelId: "d",
  runTurn: () => Promise.resolve({ kind: "completed" as const, toolCalls: [], text: "" }),
  close: () => Promise.resolve(),
};

const ref: Work = { kind: "Ref", taskId: "a" };

async function run(work: Work): Promise<void> {
  const entry = validateEntry(
    {
      models: { driving: "d" },
      tasks: { a: { prompt: "a", model: { category: "driving" } } },
      jobs: { job: { work } },
    },
    "",
  );
  const ports: EnginePorts = {
    clock: systemClock,
    gate: createGate(8),
    rateLimit: new LocalRateLimit(systemClock),
    random: () => 0,
    sessions: { open: () => Promise.resolve({ kind: "opened", session }) },
    emit: () => {},
  };
  const limits = resolveLimits({ loopIterations: 1_000_000_000 });
  const permissionsOf = (): "read-only" => "read-only";
  const spec = {
    entry,
    jobName: "job",
    version: "0.0.0",
    entryFingerprint: "",
    userInput: "",
    workingDirectory: "/",
    limits,
  };
  const outcome = await runJob({ ...spec, permissionsOf }, ports);
  if (outcome.kind !== "succeeded") throw new Error(`The job ${outcome.kind}.`);
}

function side(name: string, work: Work): Side {
  return {
    name,
    run: async () => {
      // The first one warms up.
      await run(work);
      const cpu = process.cpuUsage();
      await run(work);
      const { user, system } = process.cpuUsage(cpu);
      return { "microseconds of CPU per step": (user + system) / STEPS };
    },
  };
}

const eight = { kind: "Par", works: Array.from({ length: 8 }, () => ref) } as const;

export const rows: readonly Row[] = [
  {
    name: "the engine alone",
    sides: [
      side("one after the other", { kind: "Loop", body: ref, atMost: STEPS }),
      side("eight at once", { kind: "Loop", body: eight, atMost: STEPS / 8 }),
    ],
    atMost: { "microseconds of CPU per step": 100 },
  },
];
