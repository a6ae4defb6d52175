/** The trace that events make, as the SDK hands its spans over. */
import { SpanStatusCode, type HrTime } from "@opentelemetry/api";
import { TracerProvider } from "@opentelemetry/sdk-trace";
import type { RunEvent } from "../../src/events/event.ts";
import { defaultSampling } from "../../src/reports/otlp/trace-context.ts";
import { Trace } from "../../src/reports/otlp/trace.ts";

export interface MadeSpan {
  readonly name: string;
  readonly spanId: string;
  /** Empty: it is the root. */
  readonly parentSpanId: string;
  /** In milliseconds. */
  readonly start: number;
  readonly end: number;
  /** Undefined: no error. */
  readonly error: string | undefined;
}

export interface Made {
  /** In the order of their ends. */
  readonly spans: readonly MadeSpan[];
  /** Names of metrics, one for each measurement. */
  readonly measured: readonly string[];
}

const milliseconds = ([seconds, nanoseconds]: HrTime): number =>
  seconds * 1000 + Math.round(nanoseconds / 1e4) / 100;

export function traceOf(events: readonly RunEvent[], content = false): Made {
  const spans: MadeSpan[] = [];
  const measured: string[] = [];
  const [first] = events;
  if (first === undefined) return { spans, measured };
  const ids = { traceId: "", spanId: "" };
  const nothing = (): Promise<void> => Promise.resolve();
  const provider = new TracerProvider({
    idGenerator: { generateTraceId: () => ids.traceId, generateSpanId: () => ids.spanId },
    spanProcessors: [
      {
        onStart() {},
        onEnd: (span) =>
          spans.push({
            name: span.name,
            spanId: span.spanContext().spanId,
            parentSpanId: span.parentSpanContext?.spanId ?? "",
            start: milliseconds(span.startTime),
            end: milliseconds(span.endTime),
            error: span.status.code === SpanStatusCode.ERROR ? span.status.message : undefined,
          }),
        forceFlush: nothing,
        shutdown: nothing,
      },
    ],
  });
  const trace = new Trace(
    first,
    { content, provider: "openai", sampling: defaultSampling },
    { tracer: provider.getTracer("test"), ids, measure: (metric) => measured.push(metric) },
  );
  for (const event of events) trace.apply(event);
  if (events.at(-1)?.type !== "run.ended") trace.end(events.at(-1)?.at ?? 0);
  return { spans, measured };
}
