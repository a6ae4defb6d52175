/** The SDK of OpenTelemetry, loaded when it is needed. It reads headers and attributes from `process.env`. */
import { setMaxListeners } from "node:events";
import type { Agent } from "node:http";
import { Duplex } from "node:stream";
import type { Attributes, Meter } from "@opentelemetry/api";
import { OTLPMetricExporterBase } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPExporterBase, type IOtlpExportDelegate } from "@opentelemetry/otlp-exporter-base";
import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from "@opentelemetry/otlp-exporter-base/node-http";
import {
  JsonMetricsSerializer,
  JsonTraceSerializer,
  MetricsExporterMetricsHelper,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
  TraceExporterMetricsHelper,
  type IExporterMetricsHelper,
  type ISerializer,
} from "@opentelemetry/otlp-transformer";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import {
  BatchSpanProcessor,
  SamplingDecision,
  TracerProvider,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace";
import { gitHubAttributes } from "./github-attributes.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Environment } from "../../platform/environment.ts";
import { shownUrl, type Signal, type SignalName, type TelemetrySettings } from "./settings.ts";
import { metrics, type Instruments, type Metric, type TraceOptions } from "./span.ts";
import { isSampled } from "./trace-context.ts";

export type TelemetryOptions = TraceOptions &
  TelemetrySettings & {
    readonly version: string;
    readonly environment: Environment;
    readonly clock: Clock;
  };

interface SdkOptions extends TelemetryOptions {
  /** Ends every connection. */
  readonly signal: AbortSignal;
  readonly onFailure: (failure: string) => void;
}

/** Until they are sent, spans wait here; what is beyond it is dropped. */
const MAX_WAITING = 16_384;
const METRICS_EVERY_MS = 60_000;
const SCOPE = "agent-jobs";
/** The conventions that the names of spans, metrics and attributes are from. */
const schemaUrl = "https://opentelemetry.io/schemas/1.41.0";

export function createSdk(options: SdkOptions): Instruments & { close(): Promise<void> } {
  const { version, environment, onFailure } = options;
  setMaxListeners(0, options.signal);
  const resource = defaultResource()
    .merge(
      resourceFromAttributes(
        {
          "service.name": SCOPE,
          "service.version": version,
          // Counters begin at zero in each process: without it, those of another run would be replaced.
          "service.instance.id": crypto.randomUUID(),
          ...gitHubAttributes(environment),
        },
        { schemaUrl },
      ),
    )
    .merge(detectResources({ detectors: [envDetector] }));
  const count = { ended: 0, tried: 0 };
  const ids = { traceId: "", spanId: "" };
  const { traces, metrics: points } = options;
  const tracing = new TracerProvider({
    resource,
    idGenerator: { generateTraceId: () => ids.traceId, generateSpanId: () => ids.spanId },
    sampler: {
      shouldSample: (_context, traceId) => ({
        decision:
          traces !== undefined && isSampled(traceId, options)
            ? SamplingDecision.RECORD_AND_SAMPLED
            : SamplingDecision.NOT_RECORD,
      }),
    },
    spanProcessors:
      traces === undefined
        ? []
        : [
            onEnd(() => (count.ended += 1)),
            new BatchSpanProcessor({
              exporter: watched(
                new OTLPExporterBase(
                  delegate(
                    "traces",
                    traces,
                    options,
                    traces.json ? JsonTraceSerializer : ProtobufTraceSerializer,
                    TraceExporterMetricsHelper,
                  ),
                ),
                (error) => onFailure(unsent("traces", traces, error)),
                (batch) => (count.tried += batch.length),
              ),
              maxQueueSize: MAX_WAITING,
              exportTimeoutMillis: traces.timeoutMs,
            }),
          ],
  });
  const metering = new MeterProvider({
    resource,
    readers:
      points === undefined
        ? []
        : [
            new PeriodicExportingMetricReader({
              exporter: watched(
                new OTLPMetricExporterBase(
                  delegate(
                    "metrics",
                    points,
                    options,
                    points.json ? JsonMetricsSerializer : ProtobufMetricsSerializer,
                    MetricsExporterMetricsHelper,
                  ),
                ),
                (error) => onFailure(unsent("metrics", points, error)),
              ),
              exportIntervalMillis: METRICS_EVERY_MS,
              exportTimeoutMillis: points.timeoutMs,
            }),
          ],
  });
  const meter = metering.getMeter(SCOPE, version, { schemaUrl });
  const recorders = new Map(
    Object.entries<Metric>(metrics).map(([name, metric]) => [name, recorder(meter, name, metric)]),
  );
  return {
    tracer: tracing.getTracer(SCOPE, version, { schemaUrl }),
    ids,
    measure: (name, value, attributes) => recorders.get(name)?.(value, attributes),
    async close() {
      await Promise.allSettled([tracing.shutdown(), metering.shutdown()]);
      const lost = count.ended - count.tried;
      if (lost > 0) onFailure(`${lost} spans were dropped, because too many were waiting`);
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

interface Exporter<Items> {
  export(
    items: Items,
    done: (result: { readonly code: number; readonly error?: Error }) => void,
  ): void;
}

/** The SDK keeps failures to itself. */
function watched<Items, E extends Exporter<Items>>(
  exporter: E & Exporter<Items>,
  onFailure: (error: unknown) => void,
  onExport: (items: Items) => void = () => {},
): E {
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

function unsent(name: SignalName, to: Signal, error: unknown): string {
  const status =
    error instanceof Error && "code" in error && typeof error.code === "number"
      ? `HTTP ${error.code} `
      : "";
  const reason = error instanceof Error ? error.message : String(error);
  let hint = "";
  if (/\/v1\/(?:traces|metrics)\/v1\//.test(to.url))
    hint = `. The address must not end with /v1/traces: /v1/${name} is appended`;
  else if (reason.includes("Parse Error"))
    hint = ". Is it the collector's port for gRPC? The one for HTTP is usually 4318";
  return `Can't send ${name} to ${shownUrl(to)}: ${status}${reason}${hint}`;
}

interface PartialSuccess {
  readonly rejectedSpans?: number;
  readonly rejectedDataPoints?: number;
  readonly errorMessage?: string;
}

function delegate<Items, Response extends { partialSuccess?: PartialSuccess }>(
  name: SignalName,
  to: Signal,
  { signal, onFailure }: SdkOptions,
  serializer: ISerializer<Items, Response>,
  helper: IExporterMetricsHelper<Items>,
): IOtlpExportDelegate<Items> {
  const type = to.json ? "application/json" : "application/x-protobuf";
  const given = { url: to.url, timeoutMillis: to.timeoutMs, concurrencyLimit: 64 };
  const options = convertLegacyHttpOptions(given, name.toUpperCase(), `v1/${name}`, {
    "Content-Type": type,
  });
  const agentFactory = async (protocol: string): Promise<Agent> =>
    endedBy(signal, await options.agentFactory(protocol));
  const listening: ISerializer<Items, Response> = {
    serializeRequest: (items) => serializer.serializeRequest(items),
    deserializeResponse(data) {
      const response = serializer.deserializeResponse(data);
      const {
        rejectedSpans,
        rejectedDataPoints,
        errorMessage = "",
      } = response.partialSuccess ?? {};
      const rejected = rejectedSpans ?? rejectedDataPoints ?? 0;
      const items = name === "traces" ? "spans" : "points";
      if (rejected > 0 || errorMessage !== "")
        onFailure(
          `${shownUrl(to)} rejected ${rejected} ${items}: ${errorMessage || "no reason given"}`,
        );
      return response;
    },
  };
  return createOtlpHttpExportDelegate(
    { ...options, agentFactory },
    listening,
    `otlp_http_${helper.name}_exporter`,
    helper,
    undefined,
  );
}

function endedBy(signal: AbortSignal, agent: Agent): Agent {
  const connect = agent.createConnection.bind(agent);
  // A connection with a signal that has fired fails where nobody can catch it.
  agent.createConnection = (options, done) => {
    if (!signal.aborted) return connect({ ...options, signal }, done);
    done?.(new Error("the time to send it is over"), new Duplex());
    return undefined;
  };
  return agent;
}
