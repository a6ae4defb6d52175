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
} from "../reports/otlp/settings.ts";
import { createTelemetry } from "../reports/otlp/telemetry.ts";
import { providerTypeOf, withDefaults } from "../sessions/provider.ts";
import { urlOf } from "../text/guards.ts";
import type { ModelAccess } from "./options-provider.ts";

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
