/** The SDK of OpenTelemetry, loaded when it is needed. It reads headers and attributes from `process.env`. */
import { setMaxListeners } from "node:events";
import type { Agent } from "node:http";
import { Duplex } from "node:stream";
import type { Attributes } from "@opentelemetry/api";
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
import { BatchSpanProcessor, type ReadableSpan } from "@opentelemetry/sdk-trace";
import type { Clock } from "../../platform/clock.ts";
import type { Environment } from "../../platform/environment.ts";
import {
  shownUrl,
  type Signal,
  type SignalName,
  type TelemetrySettings,
  isSampled,
} from "./settings.ts";
import type { Instruments, TraceOptions } from "./span.ts";

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

/** The number of spans that wait to be sent; further ones are dropped. */
const MAX_WAITING = 16_384;
const METRICS_EVERY_MS = 60_000;
/** The conventions of service, pipeline and change; the GenAI conventions 0.1.0 have published no schema. */
const schemaUrl = "https://opentelemetry.io/schemas/1.45.0";

/** Buckets, each `factor` times as wide as the one before it. */
const powers = (first: number, factor: number, length = 14): number[] =>
  Array.from({ length }, (_, power) => Number((first * factor ** power).toPrecision(12)));
const seconds = powers(0.01, 2);
const tokens = powers(1, 4);
const usage = (what: string): readonly [string, string] => ["{token}", `${what} of model calls`];

/** Unit, description, and the buckets of a histogram; others are counters. */
const metrics: Readonly<Record<string, readonly [string, string, number[]?]>> = {
  "agent_jobs.runs": ["{run}", "Runs that have ended"],
  "agent_jobs.retries": ["{retry}", "Retries, by cause: unmet criteria, or the crash of a session"],
  "agent_jobs.usage.cost": ["{credit}", "AI credits of GitHub Copilot (0.01 USD each)"],
  "gen_ai.invoke_agent.duration": ["s", "Duration of agents and workflows", powers(0.1, 2, 13)],
  "gen_ai.invoke_agent.inference_calls": [
    "{inference_call}",
    "Model calls of an agent",
    powers(1, 2, 8),
  ],
  "gen_ai.invoke_agent.tool_calls": ["{tool_call}", "Tool calls of an agent", powers(1, 2, 8)],
  "gen_ai.execute_tool.duration": ["s", "Duration of tool calls", seconds],
  "gen_ai.client.inference.duration": ["s", "Duration of model calls", seconds],
  "gen_ai.client.inference.time_to_first_chunk": [
    "s",
    "Time to the first token of model calls",
    powers(0.001, 2),
  ],
  "gen_ai.client.inference.usage.input_tokens": usage("Input tokens"),
  "gen_ai.client.inference.usage.output_tokens": usage("Output tokens"),
  "gen_ai.client.inference.usage.cache_read.input_tokens": usage("Input tokens from a cache"),
  "gen_ai.client.inference.usage.reasoning.output_tokens": usage("Output tokens for reasoning"),
  "gen_ai.client.inference.operation.input_tokens": [...usage("Input tokens"), tokens],
  "gen_ai.client.inference.operation.output_tokens": [...usage("Output tokens"), tokens],
};

export function createSdk(options: SdkOptions): Instruments & { close(): Promise<void> } {
  const { version, environment, onFailure, signal, traces, metrics: points } = options;
  setMaxListeners(0, signal);
  const scope = { name: "agent-jobs", version };
  const resource = defaultResource()
    .merge(
      resourceFromAttributes(
        {
          "service.name": scope.name,
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
  const processor =
    traces &&
    new BatchSpanProcessor({
      exporter: new OTLPExporterBase(
        delegate(
          "traces",
          traces,
          options,
          traces.json ? JsonTraceSerializer : ProtobufTraceSerializer,
          TraceExporterMetricsHelper,
          (batch: readonly ReadableSpan[]) => (count.tried += batch.length),
        ),
      ),
      maxQueueSize: MAX_WAITING,
      exportTimeoutMillis: traces.timeoutMs,
    });
  const exporter =
    points &&
    new OTLPMetricExporterBase(
      delegate(
        "metrics",
        points,
        options,
        points.json ? JsonMetricsSerializer : ProtobufMetricsSerializer,
        MetricsExporterMetricsHelper,
      ),
    );
  const metering = new MeterProvider({
    resource,
    readers:
      exporter === undefined
        ? []
        : [
            new PeriodicExportingMetricReader({
              exporter,
              exportIntervalMillis: METRICS_EVERY_MS,
              exportTimeoutMillis: points?.timeoutMs,
            }),
          ],
  });
  const meter = metering.getMeter(scope.name, version);
  const recorders = new Map(
    Object.entries(metrics).map(([name, [unit, description, buckets]]) => {
      const histogram =
        buckets &&
        meter.createHistogram(name, {
          unit,
          description,
          advice: { explicitBucketBoundaries: buckets },
        });
      const counter = histogram ?? meter.createCounter(name, { unit, description });
      return [
        name,
        (value: number, attributes: Attributes) =>
          "record" in counter ? counter.record(value, attributes) : counter.add(value, attributes),
      ];
    }),
  );
  return {
    export(span) {
      if (processor === undefined || !isSampled(span.spanContext().traceId, options)) return;
      count.ended += 1;
      processor.onEnd({ ...span, resource, instrumentationScope: scope });
    },
    measure: (name, value, attributes) => recorders.get(name)?.(value, attributes),
    async close() {
      await Promise.allSettled([processor?.shutdown(), metering.shutdown()]);
      const lost = count.ended - count.tried;
      if (lost > 0) onFailure(`${lost} spans were dropped, because too many were waiting`);
    },
  };
}

/** Returns the pipeline and the change of a run on GitHub, in the names of the conventions. */
function gitHubAttributes(environment: Environment): Attributes {
  if (environment["GITHUB_ACTIONS"] !== "true") return {};
  const of = (name: string): string | undefined => environment[`GITHUB_${name}`] || undefined;
  const [owner, repository] = of("REPOSITORY")?.split("/") ?? [];
  const home = repository && `${of("SERVER_URL") ?? "https://github.com"}/${of("REPOSITORY")}`;
  const run = of("RUN_ID");
  const attempt = of("RUN_ATTEMPT") ?? "1";
  const source = of("HEAD_REF");
  return {
    "cicd.pipeline.name": of("WORKFLOW"),
    "cicd.pipeline.run.id": run,
    "cicd.pipeline.run.url.full": home && run && `${home}/actions/runs/${run}/attempts/${attempt}`,
    "cicd.pipeline.task.name": of("JOB"),
    "cicd.worker.name": environment["RUNNER_NAME"],
    "vcs.provider.name": "github",
    "vcs.owner.name": owner,
    "vcs.repository.name": repository,
    "vcs.repository.url.full": home,
    "vcs.ref.head.name": source ?? of("REF_NAME"),
    "vcs.ref.head.type": source === undefined ? of("REF_TYPE") : "branch",
    // The commit of a pull request's event is a merge that nobody has pushed.
    "vcs.ref.head.revision": source === undefined ? of("SHA") : undefined,
    "vcs.ref.base.name": of("BASE_REF"),
    "vcs.change.id": /^refs\/pull\/(\d+)\//.exec(of("REF") ?? "")?.[1],
  };
}

function unsent(name: SignalName, to: Signal, error: Error): string {
  const status = "code" in error && typeof error.code === "number" ? `HTTP ${error.code} ` : "";
  const reason = error.message;
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

/** Sends items and reports failures, which the SDK keeps to itself. */
function delegate<Items, Response extends { partialSuccess?: PartialSuccess }>(
  name: SignalName,
  to: Signal,
  { signal, onFailure }: SdkOptions,
  serializer: ISerializer<Items, Response>,
  helper: IExporterMetricsHelper<Items>,
  onExport: (items: Items) => void = () => {},
): IOtlpExportDelegate<Items> {
  const options = convertLegacyHttpOptions(
    { url: to.url, timeoutMillis: to.timeoutMs, concurrencyLimit: 64 },
    name.toUpperCase(),
    `v1/${name}`,
    { "Content-Type": to.json ? "application/json" : "application/x-protobuf" },
  );
  const listening: ISerializer<Items, Response> = {
    serializeRequest: (items) => serializer.serializeRequest(items),
    deserializeResponse(data) {
      const response = serializer.deserializeResponse(data);
      const { rejectedSpans, rejectedDataPoints, errorMessage } = response.partialSuccess ?? {};
      const rejected = rejectedSpans ?? rejectedDataPoints ?? 0;
      const items = name === "traces" ? "spans" : "points";
      const reason = errorMessage || "no reason given";
      if (rejected > 0 || errorMessage)
        onFailure(`${shownUrl(to)} rejected ${rejected} ${items}: ${reason}`);
      return response;
    },
  };
  const inner = createOtlpHttpExportDelegate(
    { ...options, agentFactory: async (kind) => endedBy(signal, await options.agentFactory(kind)) },
    listening,
    `otlp_http_${helper.name}_exporter`,
    helper,
    undefined,
  );
  const send = inner.export.bind(inner);
  inner.export = (items, done) => {
    onExport(items);
    send(items, (result) => {
      if (result.error !== undefined) onFailure(unsent(name, to, result.error));
      done(result);
    });
  };
  return inner;
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
