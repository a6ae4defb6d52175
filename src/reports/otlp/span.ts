/** Spans and measurements in our own words: the fold makes them, and only the exporter knows the SDK. */
import type { Decision } from "../../events/decision.ts";
import { decisionCategory, decisionMessage, withoutDetail } from "../../events/decision.ts";
import { clip } from "../../events/cut.ts";
import { spanIdOf, traceIdOf, type ParentContext } from "./trace-context.ts";

export type AttributeValue = string | number | boolean | string[];
/** An undefined value is left out. */
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>;

export interface SpanEvent {
  readonly name: string;
  readonly at: number;
  readonly attributes: Attributes;
}

/** `client`: a call to a model server. */
export type SpanKind = "internal" | "client";

export interface Span {
  readonly runId: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  /** In milliseconds since 1970, as in events. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  /** It failed. The text is empty unless content is captured. */
  readonly error: { readonly text: string } | undefined;
}

const seconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

/** Of each metric: how it is counted, its unit, and what it says. Those of `gen_ai` are from the conventions. */
export const metrics = {
  "agent_jobs.runs": { kind: "counter", unit: "{run}", description: "Runs that have ended" },
  "agent_jobs.run.duration": {
    kind: "histogram",
    unit: "s",
    description: "Duration of runs",
    buckets: seconds,
  },
  "agent_jobs.retries": {
    kind: "counter",
    unit: "{retry}",
    description: "Retries, by cause: unmet criteria, or the crash of a session",
  },
  "agent_jobs.usage.cost": {
    kind: "counter",
    unit: "{request}",
    description: "Premium requests",
  },
  "gen_ai.client.token.usage": {
    kind: "histogram",
    unit: "{token}",
    description: "Input and output tokens of model calls",
    buckets: Array.from({ length: 14 }, (_, power) => 4 ** power),
  },
  "gen_ai.client.operation.duration": {
    kind: "histogram",
    unit: "s",
    description: "Duration of model calls",
    buckets: Array.from({ length: 14 }, (_, power) => 2 ** power / 100),
  },
} as const satisfies Readonly<Record<string, Metric>>;
type Metric = { readonly unit: string; readonly description: string } & (
  { readonly kind: "counter" } | { readonly kind: "histogram"; readonly buckets: readonly number[] }
);
export type MetricName = keyof typeof metrics;

export interface Measurement {
  readonly metric: MetricName;
  readonly value: number;
  readonly attributes: Attributes;
}

export interface OpenSpan {
  readonly spanId: string;
  /** Makes its id. Those of its children begin with it. */
  readonly place: string;
  readonly parent: OpenSpan | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startedAt: number;
  readonly events: SpanEvent[];
  attributes: Attributes;
  /** Its last event, or the end of its last child. */
  latest: number;
}

export type SpanHead = Pick<OpenSpan, "place" | "parent" | "name" | "startedAt"> & {
  readonly attributes?: Attributes;
  readonly kind?: SpanKind;
};

export interface TraceOptions {
  /** Whether prompts, answers, arguments, results and reasons are part of the trace. */
  readonly content: boolean;
  /** Value of `gen_ai.provider.name`. */
  readonly provider: string;
  /** Default: the run is the root of its trace. */
  readonly parent?: ParentContext | undefined;
}

export interface TraceOutput {
  readonly span: (span: Span) => void;
  readonly measure: (measurement: Measurement) => void;
}

/** How a span ended. `reason` is content. */
export interface SpanEnd {
  readonly attributes?: Attributes;
  /** A class of errors, such as the cause of a crash. Undefined: it did not fail. */
  readonly error?: string | undefined;
  readonly reason?: string | undefined;
}

/** Opens and ends the spans of one run. */
export class SpanWriter {
  readonly #runId: string;
  readonly #traceId: string;
  readonly #output: TraceOutput;
  readonly #taken = new Set<string>();
  readonly options: TraceOptions;

  constructor(runId: string, options: TraceOptions, output: TraceOutput) {
    this.#runId = runId;
    this.#traceId = traceIdOf(runId, options.parent);
    this.#output = output;
    this.options = options;
  }

  /** False if a span has the place: model servers may give two calls of a session the same id. */
  take(place: string): boolean {
    if (this.#taken.has(place)) return false;
    this.#taken.add(place);
    return true;
  }

  open({ attributes = {}, kind = "internal", ...head }: SpanHead): OpenSpan {
    const { place, startedAt } = head;
    const spanId = spanIdOf(this.#runId, place);
    return { ...head, kind, spanId, attributes, events: [], latest: startedAt };
  }

  /** Attributes that are left out unless content is captured. */
  content(attributes: Readonly<Record<string, string | undefined>>): Attributes {
    if (!this.options.content) return {};
    return Object.fromEntries(
      Object.entries(attributes).map(([name, text]) => [name, text && shortened(text)]),
    );
  }

  /** No child ends after its parent. */
  end(span: OpenSpan, at: number, { attributes, error, reason = "" }: SpanEnd = {}): void {
    const { spanId, parent, name, kind, startedAt, events } = span;
    const endedAt = Math.max(at, span.latest);
    if (parent !== undefined) parent.latest = Math.max(parent.latest, endedAt);
    this.#output.span({
      runId: this.#runId,
      traceId: this.#traceId,
      spanId,
      parentSpanId: parent?.spanId ?? this.options.parent?.spanId,
      name,
      kind,
      startedAt,
      endedAt,
      attributes: { ...span.attributes, ...attributes, "error.type": error },
      events,
      error:
        error === undefined ? undefined : { text: this.options.content ? shortened(reason) : "" },
    });
  }

  measure(metric: MetricName, value: number, attributes: Attributes): void {
    this.#output.measure({ metric, value, attributes });
  }
}

/** Fields of decisions that are words or names of the entry. Others may quote the model, a tool or a person. */
const plainFields = new Set(["field", "purpose", "cause", "limit", "modelId", "role", "operation"]);

/** A decision as an event of its span: with content its text, without only what can't contain any. */
export function decisionEvent(decision: Decision, at: number, content: boolean): SpanEvent {
  const plain = Object.entries(decision).flatMap(([name, value]: [string, unknown]) =>
    typeof value === "number" ||
    typeof value === "boolean" ||
    (typeof value === "string" && plainFields.has(name))
      ? [[`agent_jobs.decision.${name}`, value] as const]
      : [],
  );
  return {
    name: decision.kind,
    at,
    attributes: {
      "agent_jobs.decision.category": decisionCategory(decision),
      ...Object.fromEntries(plain),
      ...("crash" in decision && { "error.type": decision.crash.cause }),
      ...(content && {
        "agent_jobs.decision.text": shortened(decisionMessage(withoutDetail(decision))),
      }),
    },
  };
}

const MAX_TEXT = 16_384;

/** Collectors refuse requests of a few megabytes. */
export function shortened(text: string): string {
  return clip(text, MAX_TEXT);
}

type Part =
  | { readonly type: "text"; readonly content: string }
  | {
      readonly type: "tool_call";
      readonly id?: string;
      readonly name: string;
      readonly arguments: unknown;
    }
  | { readonly type: "tool_call_response"; readonly id: string; readonly response: string };

/** A message of a conversation, in the form of `gen_ai.input.messages` and `gen_ai.output.messages`. */
export interface Message {
  readonly role: "user" | "assistant" | "tool";
  readonly parts: readonly Part[];
  readonly finish_reason?: string;
}

/** Arguments of a tool: as they are, or the beginning of their JSON. */
export function shortenedValue(value: unknown): unknown {
  const json = JSON.stringify(value) ?? "";
  return json.length > MAX_TEXT ? shortened(json) : value;
}
