import { urlOf } from "../text/guards.ts";
import { newRunId, type Reporter } from "../events/sink.ts";
import { version } from "../generated/version.ts";
import type { Environment } from "../platform/environment.ts";
import { systemClock } from "../platform/system-clock.ts";
import { readSettings, type TelemetrySettings } from "../reports/otlp/settings.ts";
import { createTelemetry } from "../reports/otlp/telemetry.ts";
import {
  callPlace,
  parseTraceparent,
  traceparentOf,
  type ParentContext,
} from "../reports/otlp/trace-context.ts";
import { providerTypeOf, withDefaults } from "../sessions/provider.ts";
import type { ModelAccess } from "./options-provider.ts";

export type TelemetryTarget = TelemetrySettings;

/** Undefined: nothing of OpenTelemetry is loaded. A wrong variable doesn't end a run: it is a warning after it. */
export function telemetryTarget(
  environment: Environment,
  otlp?: string,
): TelemetryTarget | undefined {
  return readSettings(environment, otlp);
}

export function telemetryReporter(
  target: TelemetryTarget,
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
    provider:
      provider === undefined
        ? "github.copilot"
        : providerTypeOf[withDefaults(provider).type].telemetryName,
    server: urlOf(provider?.baseUrl ?? ""),
    parent,
  });
}

/** A run that has telemetry: its programs belong to its trace. */
export interface RunTrace {
  readonly runId: string;
  readonly parent: ParentContext | undefined;
  readonly traceparent: string;
  /** Of the span of a tool call in one of its sessions. */
  readonly traceparentOf: (sessionId: string, toolCallId: string) => string;
}

/** `continued`: the context of the run on another machine that this one continues. */
export function startTrace(
  { sampling }: TelemetryTarget,
  environment: Environment,
  continued?: string,
): RunTrace {
  const runId = newRunId();
  const parent = parseTraceparent(environment["TRACEPARENT"]) ?? parseTraceparent(continued);
  const context = { parent, sampling };
  return {
    runId,
    parent,
    traceparent: traceparentOf(runId, context),
    traceparentOf: (sessionId, toolCallId) =>
      traceparentOf(runId, context, callPlace(sessionId, toolCallId)),
  };
}
