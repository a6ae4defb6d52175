/**
 * Telemetry as a reporter: a trace for each run, and metrics. The SDK is loaded while the run goes on, and nothing of a
 * run waits for it or for the collector before `close`, which takes 1.5 seconds at most.
 */
import type { Clock } from "../../platform/clock.ts";
import type { RunEvent } from "../../events/event.ts";
import type { Reporter } from "../../events/sink.ts";
import { within } from "../../platform/waiting.ts";
import type { Exporter, ExporterOptions } from "./exporter.ts";
import type { TraceOptions, TraceOutput } from "./span.ts";
import { Trace } from "./trace.ts";

export type TelemetryOptions = TraceOptions &
  Pick<ExporterOptions, "tracesUrl" | "metricsUrl" | "version" | "environment"> & {
    readonly clock: Clock;
  };

/** Reporters have two seconds to close. */
const CLOSE_MS = 1_500;

export function createTelemetry(options: TelemetryOptions): Reporter {
  const { clock } = options;
  const traces = new Map<string, Trace>();
  const end = new AbortController();
  const waiting: ((exporter: Exporter) => void)[] = [];
  let exporter: Exporter | undefined;
  let failure: unknown;
  const failed = (error: unknown): void => void (failure ??= error ?? new Error("unknown error"));
  const load = async (): Promise<void> => {
    try {
      const { createExporter } = await import("./exporter.ts");
      const bounds = { timeoutMs: CLOSE_MS, signal: end.signal, onFailure: failed };
      exporter = createExporter({ ...options, ...bounds });
      for (const use of waiting) use(exporter);
    } catch (error) {
      failed(error);
    }
    waiting.length = 0;
  };
  const loaded = load();
  const use = (action: (exporter: Exporter) => void): void => {
    if (exporter !== undefined) action(exporter);
    else if (failure === undefined) waiting.push(action);
  };
  const output: TraceOutput = {
    span: (span) => use((to) => to.add(span)),
    measure: (measurement) => use((to) => to.measure(measurement)),
  };
  const send = async (): Promise<void> => {
    await loaded;
    await exporter?.close();
  };

  return {
    name: "telemetry",
    report(event: RunEvent) {
      const trace = traces.get(event.runId) ?? new Trace(event, options, output);
      traces.set(event.runId, trace);
      trace.apply(event);
      if (event.type === "run.ended") traces.delete(event.runId);
    },
    async close() {
      for (const trace of traces.values()) trace.end(clock.now());
      const sent = await within(send(), CLOSE_MS, clock);
      end.abort();
      const host = URL.canParse(options.tracesUrl)
        ? new URL(options.tracesUrl).host
        : "the collector";
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
