import type { PastRun } from "../engine/past.ts";
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
  /** The spans of the earlier runs that it continues. */
  readonly links: readonly string[] | undefined;
  /** The context of the span of a tool call. */
  readonly traceparentOf: (sessionId: string, toolCallId: string) => string;
}

/** Shards and their merge belong to the trace of the plan. A merge has links to its shards, and a resumed run to the earlier one. */
export function startTrace(
  { sampling }: TelemetryTarget,
  environment: Environment,
  past: Pick<PastRun, "traceparent" | "legSpans"> | undefined,
  isPart: boolean,
): RunTrace {
  const runId = newRunId();
  const { traceparent: earlier, legSpans } = past ?? {};
  const continued = isPart ? earlier : undefined;
  const links = legSpans ?? (isPart || earlier === undefined ? undefined : [earlier]);
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
