/** A collector on loopback, which reads OTLP with the official definitions of its messages. */
import { createServer, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { buffer } from "node:stream/consumers";
import { isRecord } from "../../src/text/guards.ts";
import { listen, type Owner } from "./listen.ts";

type Value = string | number | boolean | readonly Value[];
type Attributes = Readonly<Record<string, Value>>;

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: it is the root. */
  readonly parentSpanId: string;
  readonly name: string;
  /** `CLIENT`, `INTERNAL`… */
  readonly kind: string;
  /** In milliseconds. */
  readonly start: number;
  readonly end: number;
  readonly attributes: Attributes;
  readonly events: readonly ReceivedEvent[];
  /** The ids of the spans that it is linked to. */
  readonly links: readonly string[];
  /** Undefined: no error. */
  readonly error: string | undefined;
}

export interface ReceivedEvent {
  readonly name: string;
  readonly at: number;
  readonly attributes: Attributes;
}

export interface ReceivedPoint {
  readonly metric: string;
  readonly unit: string;
  readonly attributes: Attributes;
  readonly value: number;
}

export interface Collector {
  /** For `--otlp`. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  readonly points: readonly ReceivedPoint[];
  readonly resource: Attributes;
  readonly schemas: ReadonlySet<string>;
  /** The paths of all requests. */
  readonly requests: readonly string[];
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** By its name. */
  span(name: string): ReceivedSpan;
  /** Names from the root to the span. */
  pathOf(span: ReceivedSpan): readonly string[];
}

/** `answer`: instead of success. */
export async function startCollector(
  t: Owner,
  answer?: (response: ServerResponse, body: Buffer, path: string) => void,
): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const points: ReceivedPoint[] = [];
  const requests: string[] = [];
  const schemas = new Set<string>();
  let [resource, headers]: [Attributes, Collector["headers"]] = [{}, {}];
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      requests.push(request.url ?? "");
      headers = request.headers;
      if (answer !== undefined) return answer(response, body, request.url ?? "");
      if (request.url === "/v1/traces") {
        const sent: SentTraces = JSON.parse(decode("trace.v1.ExportTraceServiceRequest", body));
        for (const one of sent.resourceSpans) {
          resource = attributesOf(one.resource.attributes);
          schemas.add(one.schemaUrl);
          for (const { schemaUrl } of one.scopeSpans) schemas.add(schemaUrl);
          for (const scope of one.scopeSpans) spans.push(...scope.spans.map(received));
        }
      } else {
        const sent: SentMetrics = JSON.parse(
          decode("metrics.v1.ExportMetricsServiceRequest", body),
        );
        for (const one of sent.resourceMetrics)
          for (const scope of one.scopeMetrics)
            for (const metric of scope.metrics) points.push(...pointsOf(metric));
      }
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  const url = await listen(t, server);
  const collector: Collector = {
    url,
    spans,
    points,
    requests,
    schemas,
    get resource() {
      return resource;
    },
    get headers() {
      return headers;
    },
    span(name) {
      const found = spans.find((span) => span.name === name);
      if (found === undefined)
        throw new Error(`No span ${name}: ${spans.map((span) => span.name).join(", ")}`);
      return found;
    },
    pathOf(span) {
      const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
      return [...(parent === undefined ? [] : collector.pathOf(parent)), span.name];
    },
  };
  return collector;
}

interface SentAttribute {
  readonly key: string;
  readonly value: SentValue;
}
interface SentValue {
  readonly arrayValue?: { readonly values: readonly SentValue[] };
  readonly stringValue?: string;
  readonly intValue?: string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
}
interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly SentAttribute[];
  readonly events: readonly {
    readonly name: string;
    readonly timeUnixNano: string;
    readonly attributes: readonly SentAttribute[];
  }[];
  readonly links: readonly { readonly spanId: string }[];
  readonly status?: { readonly code: string; readonly message: string };
}
interface SentTraces {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly SentAttribute[] };
    readonly schemaUrl: string;
    readonly scopeSpans: readonly {
      readonly schemaUrl: string;
      readonly spans: readonly SentSpan[];
    }[];
  }[];
}
interface SentPoint {
  readonly attributes: readonly SentAttribute[];
  readonly asDouble?: number;
  readonly sum?: number;
}
interface SentMetric {
  readonly name: string;
  readonly unit: string;
  readonly sum?: { readonly dataPoints: readonly SentPoint[] };
  readonly histogram?: { readonly dataPoints: readonly SentPoint[] };
}
interface SentMetrics {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly SentMetric[] }[];
  }[];
}

/** An older release of the exporter's package has what was generated from the definitions; newer ones only write. */
const definitions: unknown = createRequire(import.meta.url)(
  "otlp-definitions/build/src/generated/root.js",
);

/** JSON. */
function decode(message: string, body: Buffer): string {
  let type: unknown = definitions;
  for (const name of `opentelemetry.proto.collector.${message}`.split("."))
    type = isRecord(type) || typeof type === "function" ? Reflect.get(type, name) : undefined;
  if (typeof type !== "function") throw new Error(`No message ${message}.`);
  const call = (name: string, ...args: unknown[]): unknown =>
    Reflect.apply(Reflect.get(type, name), type, args);
  const forms = { longs: String, enums: String, bytes: String, arrays: true };
  return JSON.stringify(call("toObject", call("decode", body), forms));
}

const hex = (base64 = ""): string => Buffer.from(base64, "base64").toString("hex");

/** In milliseconds, as exact as a number is. */
function time(nanoseconds: string): number {
  return Math.round(Number(nanoseconds) / 1e4) / 100;
}

function received(span: SentSpan): ReceivedSpan {
  const { status } = span;
  return {
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentSpanId: hex(span.parentSpanId),
    name: span.name,
    kind: span.kind.replace("SPAN_KIND_", ""),
    start: time(span.startTimeUnixNano),
    end: time(span.endTimeUnixNano),
    attributes: attributesOf(span.attributes),
    events: span.events.map(({ name, timeUnixNano, attributes }) => ({
      name,
      at: time(timeUnixNano),
      attributes: attributesOf(attributes),
    })),
    links: span.links.map(({ spanId }) => hex(spanId)),
    error: status?.code === "STATUS_CODE_ERROR" ? (status.message ?? "") : undefined,
  };
}

function pointsOf({ name, unit, sum, histogram }: SentMetric): ReceivedPoint[] {
  const { dataPoints = [] } = sum ?? histogram ?? {};
  return dataPoints.map(({ attributes, asDouble, sum: total }) => ({
    metric: name,
    unit,
    attributes: attributesOf(attributes),
    value: asDouble ?? total ?? 0,
  }));
}

function attributesOf(sent: readonly SentAttribute[]): Attributes {
  return Object.fromEntries(sent.map(({ key, value }) => [key, valueOf(value)]));
}

function valueOf(value: SentValue): Value {
  const { arrayValue, stringValue, intValue, doubleValue, boolValue } = value;
  if (arrayValue !== undefined) return arrayValue.values.map(valueOf);
  return stringValue ?? boolValue ?? doubleValue ?? Number(intValue);
}
