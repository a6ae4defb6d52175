/** The SDK of OpenTelemetry, loaded when it is needed. It reads headers and attributes from `process.env`. */
import { setMaxListeners } from "node:events";
import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { Duplex } from "node:stream";
import type { Attributes, Meter } from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider, type SpanProcessor } from "@opentelemetry/sdk-trace";
import type { Environment } from "../../platform/environment.ts";
import { metrics, type Instruments, type Metric } from "./span.ts";

export interface SdkOptions {
  readonly tracesUrl: string;
  readonly metricsUrl: string;
  readonly version: string;
  readonly environment: Environment;
  /** An export that takes longer has failed. */
  readonly timeoutMs: number;
  /** Ends every connection. */
  readonly signal: AbortSignal;
  readonly onFailure: (error: unknown) => void;
}

/** Until they are sent, spans wait here; what is beyond it is dropped. */
const MAX_WAITING = 16_384;
const METRICS_EVERY_MS = 60_000;
const SCOPE = "agent-jobs";

export function createSdk(options: SdkOptions): Instruments & { close(): Promise<void> } {
  const { tracesUrl, metricsUrl, version, timeoutMs, onFailure } = options;
  const common = {
    timeoutMillis: timeoutMs,
    concurrencyLimit: 64,
    httpAgentOptions: agents(options),
  };
  const resource = defaultResource()
    .merge(
      resourceFromAttributes({
        "service.name": SCOPE,
        "service.version": version,
        // Counters begin at zero in each process: without it, those of another run would be replaced.
        "service.instance.id": crypto.randomUUID(),
      }),
    )
    .merge(detectResources({ detectors: [envDetector] }));
  const count = { ended: 0, tried: 0 };
  const spans = new OTLPTraceExporter({ ...common, url: tracesUrl });
  watch(spans, onFailure, (batch) => (count.tried += batch.length));
  const points = new OTLPMetricExporter({ ...common, url: metricsUrl });
  watch(points, onFailure);
  const ids = { traceId: "", spanId: "" };
  const tracing = new TracerProvider({
    resource,
    idGenerator: { generateTraceId: () => ids.traceId, generateSpanId: () => ids.spanId },
    spanProcessors: [
      onEnd(() => (count.ended += 1)),
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
        exporter: points,
        exportIntervalMillis: METRICS_EVERY_MS,
        exportTimeoutMillis: timeoutMs,
      }),
    ],
  });
  const meter = metering.getMeter(SCOPE, version);
  const recorders = new Map(
    Object.entries<Metric>(metrics).map(([name, metric]) => [name, recorder(meter, name, metric)]),
  );
  return {
    tracer: tracing.getTracer(SCOPE, version),
    ids,
    measure: (name, value, attributes) => recorders.get(name)?.(value, attributes),
    async close() {
      await Promise.allSettled([tracing.shutdown(), metering.shutdown()]);
      const lost = count.ended - count.tried;
      if (lost > 0)
        onFailure(new Error(`${lost} spans were dropped, because too many were waiting`));
    },
  };
}

function recorder(
  meter: Meter,
  name: string,
  { unit, description, buckets }: Metric,
): (value: number, attributes: Attributes) => void {
  if (buckets === undefined) {
    const counter = meter.createCounter(name, { unit, description });
    return (value, attributes) => counter.add(value, attributes);
  }
  const advice = { explicitBucketBoundaries: [...buckets] };
  const histogram = meter.createHistogram(name, { unit, description, advice });
  return (value, attributes) => histogram.record(value, attributes);
}

/** Spans that are not sampled have no end. */
function onEnd(ended: SpanProcessor["onEnd"]): SpanProcessor {
  const nothing = (): Promise<void> => Promise.resolve();
  return { onStart() {}, onEnd: ended, forceFlush: nothing, shutdown: nothing };
}

interface Exporter<Items, Result> {
  export(items: Items, done: (result: Result) => void): void;
}

/** The SDK keeps failures to itself. */
function watch<Items, Result extends { readonly code: number; readonly error?: Error }>(
  exporter: Exporter<Items, Result>,
  onFailure: (error: unknown) => void,
  onExport: (items: Items) => void = () => {},
): void {
  const send = exporter.export.bind(exporter);
  exporter.export = (items, done) => {
    onExport(items);
    send(items, (result) => {
      if (result.code !== 0) onFailure(result.error);
      done(result);
    });
  };
}

/** The exporter's own agents don't limit the time of connecting. With ours it doesn't read the certificates. */
function agents({ environment, timeoutMs, signal }: SdkOptions): (protocol: string) => Agent {
  setMaxListeners(0, signal);
  const read = (name: string): Buffer | undefined => {
    const path = environment[`OTEL_EXPORTER_OTLP_${name}`] ?? "";
    return path === "" ? undefined : readFileSync(path);
  };
  const bounds = { keepAlive: false, timeout: timeoutMs, signal };
  return (protocol) => {
    const agent =
      protocol === "http:"
        ? new Agent(bounds)
        : new TlsAgent({
            ...bounds,
            ca: read("CERTIFICATE"),
            cert: read("CLIENT_CERTIFICATE"),
            key: read("CLIENT_KEY"),
          });
    const connect = agent.createConnection.bind(agent);
    // A connection with a signal that has fired fails where nobody can catch it.
    agent.createConnection = (options, done) => {
      if (!signal.aborted) return connect(options, done);
      done?.(new Error("the time to send it is over"), new Duplex());
      return undefined;
    };
    return agent;
  };
}
