/** Loaded into the server with `--import`: writes the delays of its event loop to a file when it exits. */
import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

const file = process.env["BENCH_LOOP_DELAYS"];
if (file !== undefined && process.argv.includes("serve")) {
  const delays = monitorEventLoopDelay({ resolution: 10 });
  delays.enable();
  process.on("exit", () => {
    const ms = (nanoseconds: number): number => nanoseconds / 1e6;
    const { min, max } = delays;
    // The histogram holds the whole intervals.
    const delay = (value: number): number => Math.max(0, ms(value) - 10);
    writeFileSync(
      file,
      JSON.stringify({
        min: delay(min),
        median: delay(delays.percentile(50)),
        p95: delay(delays.percentile(95)),
        max: delay(max),
      }),
    );
  });
}
