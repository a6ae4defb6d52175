import { newRunId } from "../events/sink.ts";
import type { Environment } from "../platform/environment.ts";
import {
  readSettings,
  type TelemetrySettings,
  callPlace,
  parseTraceparent,
  traceparentOf,
  type ParentContext,
} from "../reports/otlp/settings.ts";

export type TelemetryTarget = TelemetrySettings;

/** Undefined: nothing of OpenTelemetry is loaded. A wrong variable doesn't end a run: it is a warning after it. */
export function telemetryTarget(
  environment: Environment,
  otlp?: string,
): TelemetryTarget | undefined {
  return readSettings(environment, otlp);
}

/** A run that has telemetry: its programs belong to its trace. */
export interface RunTrace {
  readonly runId: string;
  readonly parent: ParentContext | undefined;
  readonly traceparent: string;
  /** The context of the span of a tool call. */
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
