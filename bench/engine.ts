/**
 * How many works per second the engine runs by itself: fake sessions, a fake sink, the real clock. Prints
 * the median and the spread, and the same per second of CPU (which a busy machine does not change).
 *
 *   npm run bench engine [-- WORKS]        (default: 20,000 works a round; takes about half a minute)
 */
import { createGate } from "../src/run/gate.ts";
import type { Work } from "../src/entry/model.ts";
import { validateEntry } from "../src/entry/prepare.ts";
import { resolveLimits } from "../src/engine/limits.ts";
import type { EnginePorts } from "../src/engine/ports.ts";
import { LocalRateLimit } from "../src/engine/rate-limit.ts";
import { runJob } from "../src/engine/run-job.ts";
import { systemClock } from "../src/platform/system-clock.ts";

const ROUNDS = 15;

const session = {
  id: "s",
  modelId: "d",
  runTurn: () => Promise.resolve({ kind: "completed" as const, toolCalls: [], text: "" }),
  close: () => Promise.resolve(),
};

/** A loop of one work, and a loop of eight at once. */
const shapes: Readonly<Record<string, (times: number) => Work>> = {
  "one after the other": (times) => ({ kind: "Loop", body: ref, atMost: times }),
  "eight at once": (times) => ({
    kind: "Loop",
    body: { kind: "Par", works: Array.from({ length: 8 }, () => ref) },
    atMost: times / 8,
  }),
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

const perSecond = (count: number): string => Math.round(count).toLocaleString("en");

export async function main([count = "20000"]: readonly string[]): Promise<void> {
  const works = Number(count);
  for (const [name, shape] of Object.entries(shapes)) {
    const rates: number[] = [];
    let cpuSeconds = 0;
    // The first rounds warm up.
    for (let round = -3; round < ROUNDS; round += 1) {
      const cpu = process.cpuUsage();
      const begun = performance.now();
      await run(shape(works));
      const rate = works / ((performance.now() - begun) / 1000);
      if (round < 0) continue;
      rates.push(rate);
      const { user, system } = process.cpuUsage(cpu);
      cpuSeconds += (user + system) / 1e6;
    }
    rates.sort((a, b) => a - b);
    const [least = 0, median = 0, best = 0] = [0, 0.5, 1].map(
      (share) => rates[Math.round(share * (rates.length - 1))],
    );
    console.log(
      `${name}: ${perSecond(median)} works/s (${perSecond(least)} to ${perSecond(best)}, ${ROUNDS} rounds of ${perSecond(works)}), ${perSecond((works * ROUNDS) / cpuSeconds)} per second of CPU`,
    );
  }
}
