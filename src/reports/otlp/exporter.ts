/**
 * The only file that knows the SDK of OpenTelemetry; `telemetry.ts` loads it when it is needed. Spans and metrics are
 * sent as OTLP over HTTP, in protobuf. The SDK reads `OTEL_EXPORTER_OTLP_HEADERS`, `…_COMPRESSION` and
 * `OTEL_RESOURCE_ATTRIBUTES` from the environment of the process by itself.
 */
import { setMaxListeners } from "node:events";
import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { Agent as TlsAgent } from "node:https";
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type HrTime,
} from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Environment } from "../../platform/environment.ts";
import { metrics, type Measurement, type MetricName, type Span } from "./span.ts";
import type { ParentContext } from "./trace-context.ts";

export interface ExporterOptions {
  readonly tracesUrl: string;
  readonly metricsUrl: string;
  /** Of agent-jobs. */
  readonly version: string;
  readonly environment: Environment;
  readonly parent?: ParentContext | undefined;
  /** An export that takes longer has failed. */
  readonly timeoutMs: number;
  /** Ends every connection. */
  readonly signal: AbortSignal;
  /** Called for every export that has failed. */
  readonly onFailure: (error: unknown) => void;
}

export interface Exporter {
  add(span: Span): void;
  measure(measurement: Measurement): void;
  /** Sends what has not been sent. */
  close(): Promise<void>;
}

/** Until they are sent, spans wait here; what is beyond it is dropped. */
const MAX_WAITING = 16_384;
const METRICS_EVERY_MS = 60_000;

export function createExporter(options: ExporterOptions): Exporter {
  const { tracesUrl, metricsUrl, version, parent, timeoutMs, onFailure } = options;
  const common = {
    timeoutMillis: timeoutMs,
    concurrencyLimit: 64,
    httpAgentOptions: agents(options),
  };
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": "agent-jobs", "service.version": version }))
    .merge(detectResources({ detectors: [envDetector] }));
  const next = { traceId: "", spanId: "" };
  const count = { added: 0, tried: 0 };
  const spans = reporting(
    new OTLPTraceExporter({ ...common, url: tracesUrl }),
    onFailure,
    (batch) => (count.tried += batch.length),
  );
  const tracing = new TracerProvider({
    resource,
    idGenerator: { generateTraceId: () => next.traceId, generateSpanId: () => next.spanId },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: spans,
        maxQueueSize: MAX_WAITING,
        exportTimeoutMillis: timeoutMs,
      }),
    ],
  });
  const metering = new MeterProvider({
    resource,
    readers: [
      new PeriodicExportingMetricReader({
        exporter: reporting(new OTLPMetricExporter({ ...common, url: metricsUrl }), onFailure),
        exportIntervalMillis: METRICS_EVERY_MS,
        exportTimeoutMillis: timeoutMs,
      }),
    ],
  });
  const scope = "agent-jobs";
  const tracer = tracing.getTracer(scope, version);
  const meter = metering.getMeter(scope, version);
  const record = new Map<string, (measurement: Measurement) => void>();
  const recorderOf = (name: MetricName): ((measurement: Measurement) => void) => {
    const metric = metrics[name];
    const { unit, description } = metric;
    if (metric.kind === "counter") {
      const counter = meter.createCounter(name, { unit, description });
      return ({ value, attributes }) => counter.add(value, { ...attributes });
    }
    const advice = { explicitBucketBoundaries: [...metric.buckets] };
    const histogram = meter.createHistogram(name, { unit, description, advice });
    return ({ value, attributes }) => histogram.record(value, { ...attributes });
  };
  const sampled = parent?.sampled === false ? TraceFlags.NONE : TraceFlags.SAMPLED;

  return {
    add({ traceId, spanId, parentSpanId, name, kind, startedAt, endedAt, attributes, ...span }) {
      Object.assign(next, { traceId, spanId });
      const context =
        parentSpanId === undefined
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, {
              traceId,
              spanId: parentSpanId,
              traceFlags: sampled,
              isRemote: parentSpanId === parent?.spanId,
            });
      const started = tracer.startSpan(
        name,
        {
          kind: kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL,
          startTime: time(startedAt),
          attributes: { ...attributes },
        },
        context,
      );
      for (const event of span.events)
        started.addEvent(event.name, { ...event.attributes }, time(event.at));
      if (span.error !== undefined)
        started.setStatus({ code: SpanStatusCode.ERROR, message: span.error.text });
      if (started.isRecording()) count.added += 1;
      started.end(time(endedAt));
    },
    measure(measurement) {
      const { metric } = measurement;
      const add = record.get(metric) ?? recorderOf(metric);
      record.set(metric, add);
      add(measurement);
    },
    async close() {
      await Promise.allSettled([tracing.shutdown(), metering.shutdown()]);
      const lost = count.added - count.tried;
      if (lost > 0)
        onFailure(new Error(`${lost} spans were dropped, because too many were waiting`));
    },
  };
}

/** As numbers, small ones would be taken for the time since the process has started. */
function time(milliseconds: number): HrTime {
  const seconds = Math.floor(milliseconds / 1000);
  return [seconds, Math.floor((milliseconds - seconds * 1000) * 1e6)];
}

interface Sender<Items, Result> {
  export(items: Items, done: (result: Result) => void): void;
}

/** The SDK keeps failures to itself. */
function reporting<
  Items,
  Result extends { code: number; error?: Error },
  T extends Sender<Items, Result>,
>(
  exporter: T & Sender<Items, Result>,
  onFailure: (error: unknown) => void,
  onExport: (items: Items) => void = () => {},
): T {
  const send = exporter.export.bind(exporter);
  exporter.export = (items, done) => {
    onExport(items);
    send(items, (result) => {
      if (result.code !== 0) onFailure(result.error);
      done(result);
    });
  };
  return exporter;
}

/**
 * The exporter's own agents don't limit the time of connecting, and nothing ends their connections. With an agent of
 * ours it doesn't read the certificates.
 */
function agents({ environment, timeoutMs, signal }: ExporterOptions): (protocol: string) => Agent {
  setMaxListeners(0, signal);
  const read = (name: string): Buffer | undefined => {
    const path = environment[`OTEL_EXPORTER_OTLP_${name}`] ?? "";
    return path === "" ? undefined : readFileSync(path);
  };
  const bounds = { keepAlive: false, timeout: timeoutMs, signal };
  return (protocol) =>
    protocol === "http:"
      ? new Agent(bounds)
      : new TlsAgent({
          ...bounds,
          ca: read("CERTIFICATE"),
          cert: read("CLIENT_CERTIFICATE"),
          key: read("CLIENT_KEY"),
        });
}
