/** The SDK is loaded while the run goes on. Nothing waits for it or the collector before `close`, which is bounded. */
import { urlOf } from "../../document/guards.ts";
import type { Clock } from "../../platform/clock.ts";
import type { RunEvent } from "../../events/event.ts";
import type { Reporter } from "../../events/sink.ts";
import { within } from "../../platform/waiting.ts";
import type { SdkOptions } from "./sdk.ts";
import type { TraceOptions } from "./span.ts";
import type { Trace } from "./trace.ts";

export type TelemetryOptions = TraceOptions &
  Pick<SdkOptions, "tracesUrl" | "metricsUrl" | "version" | "environment"> & {
    readonly clock: Clock;
  };

/** Reporters have two seconds to close. */
const CLOSE_MS = 1_500;

export function createTelemetry(options: TelemetryOptions): Reporter {
  const { clock } = options;
  const end = new AbortController();
  /** Until the SDK is loaded. */
  const waiting: RunEvent[] = [];
  let apply = (event: RunEvent): void => void waiting.push(event);
  let failure: unknown;
  const failed = (error: unknown): void => void (failure ??= error ?? new Error("unknown error"));
  const load = async (): Promise<() => Promise<void>> => {
    const { createSdk } = await import("./sdk.ts");
    const { Trace } = await import("./trace.ts");
    const bounds = { timeoutMs: CLOSE_MS, signal: end.signal, onFailure: failed };
    const sdk = createSdk({ ...options, ...bounds });
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
  const loaded = load().catch((error: unknown): undefined => {
    failed(error);
    apply = () => {};
    waiting.length = 0;
  });

  return {
    name: "telemetry",
    report: (event) => apply(event),
    async close() {
      const send = async (): Promise<void> => (await loaded)?.();
      const sent = await within(send(), CLOSE_MS, clock);
      end.abort();
      const host = urlOf(options.tracesUrl)?.host ?? "the collector";
      if (sent === undefined) throw new Error(`${host} did not answer within ${CLOSE_MS} ms`);
      if (failure !== undefined) throw new Error(`Can't send it to ${host}: ${reason(failure)}`);
    },
  };
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const status = "code" in error && typeof error.code === "number" ? `HTTP ${error.code} ` : "";
  return `${status}${error.message}`;
}
