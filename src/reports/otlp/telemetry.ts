/** The SDK is loaded while the run goes on. Nothing waits for it or the collector before `close`, which is bounded. */
import type { RunEvent } from "../../events/event.ts";
import type { Reporter } from "../../events/sink.ts";
import type { RunView } from "../../events/view.ts";
import { within } from "../../platform/waiting.ts";
import type { TelemetryOptions } from "./sdk.ts";
import { shownUrl } from "./settings.ts";
import type { Trace } from "./trace.ts";

/** The number of problems that the warning names. */
const MAX_PROBLEMS = 4;

export function createTelemetry(options: TelemetryOptions): Reporter {
  const { clock, traces: ofTraces, metrics: ofMetrics, warnings } = options;
  const signals = [ofTraces, ofMetrics].filter((signal) => signal !== undefined);
  const longest = Math.max(...signals.map(({ timeoutMs }) => timeoutMs), 0);
  const end = new AbortController();
  /** Events until the SDK is loaded. */
  const waiting: [RunEvent, RunView][] = [];
  let report = (event: RunEvent, view: RunView): void => void waiting.push([event, view]);
  const failures = new Set<string>();
  const onFailure = (failure: string): void => void failures.add(failure);
  const load = async (): Promise<() => Promise<void>> => {
    const { createSdk } = await import("./sdk.ts");
    const { Trace } = await import("./trace.ts");
    const sdk = createSdk({ ...options, signal: end.signal, onFailure });
    const traces = new Map<string, Trace>();
    report = (event, view) => {
      const trace = traces.get(event.runId) ?? new Trace(event, options, sdk);
      traces.set(event.runId, trace);
      trace.apply(event, view);
      if (event.type === "run.ended") traces.delete(event.runId);
    };
    for (const [event, view] of waiting.splice(0)) report(event, view);
    return () => {
      for (const trace of traces.values()) trace.end(clock.now());
      return sdk.close();
    };
  };
  const giveUp = (): undefined => {
    report = () => {};
    waiting.length = 0;
  };
  const loading = signals.length === 0 ? Promise.resolve(giveUp()) : load();
  const loaded = loading.catch((error: unknown): undefined => {
    onFailure(`Can't start: ${String(error)}`);
    giveUp();
  });

  return {
    name: "telemetry",
    closeMs: longest + 500,
    report: (event, view) => report(event, view),
    async close() {
      const send = async (): Promise<void> => (await loaded)?.();
      const sent = await within(send(), longest, clock);
      end.abort();
      if (sent === undefined && failures.size === 0)
        onFailure(`${signals.map(shownUrl).join(" or ")} did not answer within ${longest} ms`);
      const problems = [...warnings, ...failures];
      if (problems.length > 0) throw new Error(problems.slice(0, MAX_PROBLEMS).join("; "));
    },
  };
}
