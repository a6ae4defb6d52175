/**
 * Loaded into the server with `--import`: measures its heap after a garbage collection, from time to time, and the
 * delays of its event loop. Writes them to a file when the server exits.
 */
import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What the file holds. */
export interface Measured {
  /** In MB. */
  readonly heaps: readonly number[];
  /** In milliseconds. */
  readonly delay: { readonly median: number; readonly p95: number; readonly max: number };
}

const { BENCH_MEASURED: file, BENCH_HEAP_EVERY_MS: everyMs } = process.env;
if (file !== undefined && process.argv.includes("serve")) {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  const heaps: number[] = [];
  const measure = (): void => {
    if (typeof collect === "function") collect();
    heaps.push(process.memoryUsage().heapUsed / 1024 / 1024);
  };
  setInterval(measure, Number(everyMs)).unref();

  const resolution = 10;
  const delays = monitorEventLoopDelay({ resolution });
  delays.enable();
  // The histogram holds the whole intervals.
  const delayOf = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - resolution);
  process.on("exit", () => {
    const measured: Measured = {
      heaps,
      delay: {
        median: delayOf(delays.percentile(50)),
        p95: delayOf(delays.percentile(95)),
        max: delayOf(delays.max),
      },
    };
    writeFileSync(file, JSON.stringify(measured));
  });
}
