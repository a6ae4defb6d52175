/** Runs a loop over one task on the engine, as often as the argument says, and prints its
 * outcome, the timers that are left, and the heap after every tenth of it. */
import { LocalRateLimit } from "../../src/engine/rate-limit.ts";
import { runJob } from "../../src/engine/run-job.ts";
import { resolveLimits } from "../../src/engine/limits.ts";
import { validateEntry } from "../../src/entry/prepare.ts";
import { openGate } from "./engine.ts";
import { FakeClock } from "./fake-clock.ts";
import { identity } from "./plan.ts";

const iterations = Number(process.argv[2]);
const entry = validateEntry(
  {
    models: { driving: "d" },
    tasks: { a: { prompt: "a", model: { category: "driving" } } },
    jobs: {
      job: { work: { kind: "Loop", body: { kind: "Ref", taskId: "a" }, atMost: 1_000_000_000 } },
    },
  },
  "",
);
const clock = new FakeClock();
const heaps: number[] = [];
let done = 0;
const session = {
  id: "s",
  modelId: "d",
  runTurn: async () => ({ kind: "completed" as const, toolCalls: [], text: "" }),
  close: async () => {},
};
const outcome = await runJob(
  {
    entry,
    jobName: "job",
    userInput: "",
    workingDirectory: "/",
    limits: resolveLimits({ loopIterations: iterations }),
    ...identity,
    permissionsOf: () => "read-only",
  },
  {
    clock,
    gate: openGate,
    rateLimit: new LocalRateLimit(clock),
    random: () => 0,
    sessions: { open: async () => ({ kind: "opened", session }) },
    emit: (event) => {
      if (event.type !== "work.ended") return;
      done += 1;
      if (done % (iterations / 10) !== 0) return;
      globalThis.gc?.();
      heaps.push(process.memoryUsage().heapUsed);
    },
  },
);
console.log(outcome.kind, clock.waiting, ...heaps);
