/** The trace that events make. */
import { SpanStatusCode, type HrTime } from "@opentelemetry/api";
import type { RunEvent } from "../../src/events/event.ts";
import { applyEvent, createRunView } from "../../src/events/view.ts";
import { defaultSampling } from "../../src/reports/otlp/settings.ts";
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
  const trace = new Trace(
    first,
    { content, provider: "openai", sampling: defaultSampling },
    {
      export: (span) =>
        spans.push({
          name: span.name,
          spanId: span.spanContext().spanId,
          parentSpanId: span.parentSpanContext?.spanId ?? "",
          start: milliseconds(span.startTime),
          end: milliseconds(span.endTime),
          error: span.status.code === SpanStatusCode.ERROR ? span.status.message : undefined,
        }),
      measure: (metric) => measured.push(metric),
    },
  );
  const view = createRunView();
  for (const event of events) {
    applyEvent(view, event);
    trace.apply(event, view);
  }
  if (events.at(-1)?.type !== "run.ended") trace.end(events.at(-1)?.at ?? 0);
  return { spans, measured };
}
