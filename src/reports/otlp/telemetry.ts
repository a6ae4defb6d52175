/** The SDK is loaded while the run goes on. Nothing waits for it or the collector before `close`, which is bounded. */
import type { RunEvent } from "../../events/event.ts";
import type { Reporter } from "../../events/sink.ts";
import { within } from "../../platform/waiting.ts";
import type { TelemetryOptions } from "./sdk.ts";
import { shownUrl } from "./settings.ts";
import type { Trace } from "./trace.ts";

/** A longer warning names the first of its problems. */
const MAX_PROBLEMS = 4;

export function createTelemetry(options: TelemetryOptions): Reporter {
  const { clock, traces: ofTraces, metrics: ofMetrics, warnings } = options;
  const signals = [ofTraces, ofMetrics].filter((signal) => signal !== undefined);
  const longest = Math.max(...signals.map(({ timeoutMs }) => timeoutMs), 0);
  const end = new AbortController();
  /** Until the SDK is loaded. */
  const waiting: RunEvent[] = [];
  let apply = (event: RunEvent): void => void waiting.push(event);
  const failures = new Set<string>();
  const failed = (failure: string): void => void failures.add(failure);
  const load = async (): Promise<() => Promise<void>> => {
    const { createSdk } = await import("./sdk.ts");
    const { Trace } = await import("./trace.ts");
    const sdk = createSdk({ ...options, signal: end.signal, onFailure: failed });
    const traces = new Map<string, Trace>();
    apply = (event) => {
      const trace = traces.get(event.runId) ?? new Trace(event, options, sdk);
      traces.set(event.runId, trace);
      trace.apply(event);
      if (event.type === "run.ended") traces.delete(event.runId);
    };
    for (const event of waiting.splice(0)) apply(event);
    return () => {
      for (const trace of traces.values()) trace.end(clock.now());
      return sdk.close();
    };
  };
  const nothing = (): undefined => {
    apply = () => {};
    waiting.length = 0;
  };
  const loading = signals.length === 0 ? Promise.resolve(nothing()) : load();
  const loaded = loading.catch((error: unknown): undefined => {
    failed(`Can't start: ${String(error)}`);
    nothing();
  });

  return {
    name: "telemetry",
    closeMs: longest + 500,
    report: (event) => apply(event),
    async close() {
      const send = async (): Promise<void> => (await loaded)?.();
      const sent = await within(send(), longest, clock);
      end.abort();
      if (sent === undefined && failures.size === 0)
        failed(`${signals.map(shownUrl).join(" or ")} did not answer within ${longest} ms`);
      const problems = [...warnings, ...failures];
      if (problems.length > 0) throw new Error(problems.slice(0, MAX_PROBLEMS).join("; "));
    },
  };
}
