import type { PastRun } from "../engine/past.ts";
import { newRunId, type Reporter } from "../events/sink.ts";
import { version } from "../generated/version.ts";
import type { Environment } from "../platform/environment.ts";
import { systemClock } from "../platform/system-clock.ts";
import {
  callPlace,
  parseTraceparent,
  traceparentOf,
  type ParentContext,
  type TelemetrySettings,
  shownUrl,
} from "../reports/otlp/settings.ts";
import { providerTypeOf, withDefaults } from "../sessions/provider.ts";
import { urlOf } from "../text/guards.ts";
import type { ModelAccess } from "./options-provider.ts";
import type { RunEvent } from "../events/event.ts";
import type { RunView } from "../events/view.ts";
import { within } from "../platform/waiting.ts";
import type { TelemetryOptions } from "../reports/otlp/sdk.ts";
import type { Trace } from "../reports/otlp/trace.ts";

/** Undefined: nothing of OpenTelemetry is loaded. A wrong variable doesn't end a run: it is a warning after it. */
export { readSettings as telemetryTarget } from "../reports/otlp/settings.ts";
export type { TelemetrySettings as TelemetryTarget } from "../reports/otlp/settings.ts";

/** A run that has telemetry: its programs belong to its trace. */
export interface RunTrace {
  readonly runId: string;
  readonly parent: ParentContext | undefined;
  readonly traceparent: string;
  /** The spans of the earlier runs that it continues. */
  readonly links: readonly string[] | undefined;
  /** The context of the span of a tool call. */
  readonly traceparentOf: (sessionId: string, toolCallId: string) => string;
}

/** Shards and their merge belong to the trace of the plan. A merge has links to its shards, and a resumed run to the earlier one. */
export function startTrace(
  { sampling }: TelemetrySettings,
  environment: Environment,
  { traceparent: earlier, legSpans }: Pick<PastRun, "traceparent" | "legSpans"> = {},
  isPart: boolean,
): RunTrace {
  const runId = newRunId();
  const links = legSpans ?? (isPart || earlier === undefined ? undefined : [earlier]);
  const continued = isPart ? earlier : undefined;
  const parent = parseTraceparent(environment["TRACEPARENT"]) ?? parseTraceparent(continued);
  const context = { parent, sampling };
  return {
    runId,
    parent,
    traceparent: traceparentOf(runId, context),
    links,
    traceparentOf: (sessionId, toolCallId) =>
      traceparentOf(runId, context, callPlace(sessionId, toolCallId)),
  };
}

export function telemetryReporter(
  target: TelemetrySettings,
  { environment, provider }: Pick<ModelAccess, "environment" | "provider">,
  parent = parseTraceparent(environment["TRACEPARENT"]),
): Reporter {
  return createTelemetry({
    ...target,
    environment,
    version,
    clock: systemClock,
    content:
      environment["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"]?.toLowerCase() === "true",
    provider: provider
      ? providerTypeOf[withDefaults(provider).type].telemetryName
      : "github.copilot",
    server: urlOf(provider?.baseUrl ?? ""),
    parent,
  });
}

/** The number of problems that the warning names. */
const MAX_PROBLEMS = 4;

/** The SDK is loaded while the run goes on. Nothing waits for it or the collector before `close`, which is bounded. */
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
    const { createSdk } = await import("../reports/otlp/sdk.ts");
    const { Trace } = await import("../reports/otlp/trace.ts");
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
