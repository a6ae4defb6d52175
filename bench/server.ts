/**
 * Many jobs at once on a real `agent-jobs serve`, each with four live readers, some of them slow: no response is
 * lost or out of order, and memory stays bounded. Ends with exit code 1 if that is not so. Linux only.
 *
 *   npm run bench:server [-- --seconds 60] [--jobs 50]
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Answer } from "../test/rig/answer.ts";
import { startServer } from "../test/rig/server.ts";
import type { Measured } from "./server/probe.ts";
import {
  poll,
  pollSessions,
  readings,
  readJournal,
  readStream,
  type Readings,
  type StreamOptions,
} from "./server/readers.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    jobs: { type: "string", default: "50" },
  },
});
const seconds = Number(values.seconds);
const jobs = Number(values.jobs);

const words = Array.from({ length: 60 }, (_, index) => `word ${index}`).join(" ");
const reads = { name: "view", arguments: { path: "${workingDirectory}/note.txt" } };
const delay = 1000;
const probe = new URL("server/probe.js", import.meta.url).href;
const model = "gpt-5-mini";

/** One work after the other, each of six answers with a tool call and a text, until the job is stopped. */
const server = await startServer({
  entry: {
    models: { driving: model },
    limits: { loopIterations: 1_000_000, jobMinutes: 1000, parallel: jobs },
    tasks: { talk: { model: { category: "driving" }, prompt: "Talk." } },
    jobs: {
      talk: {
        work: { kind: "Loop", body: { kind: "Ref", taskId: "talk" }, atMost: 1_000_000 },
      },
    },
  },
  sessions: [
    {
      task: "talk",
      turns: [
        {
          replies: [
            ...Array.from({ length: 5 }, () => ({
              delay,
              reasoning: words,
              text: words,
              tools: [reads],
            })),
            { delay, text: words },
          ],
        },
      ],
    },
  ],
  files: { "work/note.txt": "a note\n" },
  env: {
    NODE_OPTIONS: `--import ${probe}`,
    BENCH_MEASURED: "measured.json",
    BENCH_HEAP_EVERY_MS: String((seconds * 1000) / 4),
  },
  patienceMs: (seconds + 600) * 1000,
});

// Also when a reader has found a mistake.
process.on("exit", () => server.child.kill());
process.on("SIGINT", () => process.exit(130));

/** Of the process of the server, in MB. */
function memory(): number {
  const status = readFileSync(`/proc/${server.child.pid}/status`, "latin1");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}

const all: Readings[] = [];
const reader = (): Readings => {
  const one = readings();
  all.push(one);
  return one;
};
const running = new AbortController();

/** Four readers; both feeds of the job must be the same. */
async function follow(jobId: string, index: number): Promise<void> {
  const polled: string[] = [];
  const streamed: string[] = [];
  const write =
    (lines: string[]) =>
    (answer: Answer): void =>
      void lines.push(JSON.stringify(answer));
  const journal: StreamOptions =
    index % 10 === 0
      ? { pauseMs: 200, slow: running.signal }
      : index % 10 === 1
        ? { breakAfter: 50 }
        : {};
  await Promise.all([
    poll(server, `copilot/job/${jobId}`, reader(), write(polled)),
    readStream(server, `copilot/job/${jobId}/events`, reader(), write(streamed)),
    readJournal(server, jobId, reader(), journal),
    pollSessions(server, jobId, reader()),
  ]);
  assert.deepEqual(polled, streamed);
  assert.deepEqual(JSON.parse(polled.at(-1) ?? "{}"), { callback: "jobCanceled" });
}

const samples = [memory()];
const start = performance.now();
const sampling = setInterval(() => samples.push(memory()), 1000);
const ids = await Promise.all(Array.from({ length: jobs }, () => server.startJob("talk")));
const followed = Promise.all(ids.map(follow));
// A reader that fails ends the benchmark at once.
await Promise.race([followed, sleep(seconds * 1000)]);
const responses = all.reduce((sum, one) => sum + one.responses, 0);
const took = (performance.now() - start) / 1000;
running.abort();
await Promise.all(ids.map((id) => server.post(`copilot/job/${id}/stop`)));
await followed;
clearInterval(sampling);
samples.push(memory());
const total = all.reduce((sum, one) => sum + one.responses, 0);
assert.deepEqual(await server.post("stop"), {});
await server.child.exited;
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Written by our own probe.
const measured = JSON.parse(readFileSync(join(server.folder, "measured.json"), "utf8")) as Measured;
await server.dispose();

const latencies = all.flatMap((one) => one.latencies).sort((a, b) => a - b);
const percentile = (share: number): number =>
  latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? Number.NaN;
const round = (value: number, digits = 0): string => value.toFixed(digits);
const [, halfway = Number.NaN, , atEnd = Number.NaN] = measured.heaps;
const { delay: loopDelay } = measured;

console.log(`${jobs} jobs with ${all.length} readers for ${round(took)} s, ${availableParallelism()} cores

| what                                        | measured |
| ------------------------------------------- | -------- |
| responses read                              | ${total} |
| responses per second                        | ${round(responses / took)} |
| lost, twice or out of order                 | 0 |
| from an event to its reader, median         | ${round(percentile(0.5), 1)} ms |
| … 95th percentile | ${round(percentile(0.95), 1)} ms |
| heap of the server halfway | ${round(halfway, 1)} MB |
| … at the end of the time | ${round(atEnd, 1)} MB |
| memory of its process before the jobs | ${round(samples[0] ?? 0)} MB |
| … at most | ${round(Math.max(...samples))} MB |
| … when all jobs have ended | ${round(samples.at(-1) ?? 0)} MB |
| delay of its event loop, median | ${round(loopDelay.median, 1)} ms |
| … 95th percentile | ${round(loopDelay.p95, 1)} ms |
| … at most | ${round(loopDelay.max)} ms |`);

// Each feed keeps its newest responses in memory. A short run is still filling them.
if (seconds >= 30)
  assert.ok(atEnd < halfway + 0.5 * jobs, `the heap grows: ${measured.heaps.join(", ")} MB`);
