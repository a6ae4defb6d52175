/** The spans of one run. Each has its id from its place in the run, so a journal makes the same trace again. */
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type HrTime,
  type Span,
  type SpanContext,
  type Tracer,
} from "@opentelemetry/api";
import { truncate } from "../../text/truncate.ts";
import {
  decisionCategory,
  decisionMessage,
  withoutDetail,
  type Decision,
} from "../../events/decision.ts";
import { ROOT, spanIdOf, traceIdOf, type TraceContext } from "./trace-context.ts";

export interface Metric {
  readonly unit: string;
  readonly description: string;
  /** Of a histogram; others are counters. */
  readonly buckets?: readonly number[];
}

const seconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];
const powers = (of: (power: number) => number): number[] =>
  Array.from({ length: 14 }, (_, power) => of(power));

/** Those of `gen_ai` are from the conventions. */
export const metrics = {
  "agent_jobs.runs": { unit: "{run}", description: "Runs that have ended" },
  "agent_jobs.run.duration": { unit: "s", description: "Duration of runs", buckets: seconds },
  "agent_jobs.retries": {
    unit: "{retry}",
    description: "Retries, by cause: unmet criteria, or the crash of a session",
  },
  "agent_jobs.usage.cost": { unit: "{request}", description: "Premium requests" },
  "gen_ai.client.token.usage": {
    unit: "{token}",
    description: "Input and output tokens of model calls",
    buckets: powers((power) => 4 ** power),
  },
  "gen_ai.client.operation.duration": {
    unit: "s",
    description: "Duration of model calls",
    buckets: powers((power) => 2 ** power / 100),
  },
  "gen_ai.client.operation.time_to_first_chunk": {
    unit: "s",
    description: "Time to the first token of model calls",
    buckets: powers((power) => 2 ** power / 1000),
  },
} satisfies Readonly<Record<string, Metric>>;

export interface Instruments {
  readonly tracer: Tracer;
  /** Of the span that is started next. */
  readonly ids: { traceId: string; spanId: string };
  readonly measure: (metric: keyof typeof metrics, value: number, attributes: Attributes) => void;
}

export interface TraceOptions extends TraceContext {
  /** Whether prompts, answers, arguments, results and reasons are part of the trace. */
  readonly content: boolean;
  readonly provider: string;
  /** The model server, if it is known. */
  readonly server?: URL | undefined;
}

export class RunSpans {
  readonly runId: string;
  readonly sdk: Instruments;
  readonly options: TraceOptions;
  readonly #taken = new Set<string>();

  constructor(runId: string, options: TraceOptions, sdk: Instruments) {
    this.runId = runId;
    this.options = options;
    this.sdk = sdk;
  }

  /** False if a span has the place: model servers may give two calls of a session the same id. */
  take(place: string): boolean {
    if (this.#taken.has(place)) return false;
    this.#taken.add(place);
    return true;
  }

  /** Attributes that are left out unless content is captured. */
  content(attributes: Readonly<Record<string, string | undefined>>): Attributes {
    if (!this.options.content) return {};
    return Object.fromEntries(
      Object.entries(attributes).map(([name, text]) => [name, text && shortened(text)]),
    );
  }

  root(head: Omit<SpanHead, "place">): OpenSpan {
    const { parent } = this.options;
    const context = parent && { ...parent, traceFlags: Number(parent.sampled), isRemote: true };
    return new OpenSpan(this, { ...head, place: ROOT }, context);
  }
}

export interface SpanHead {
  /** Makes its id. Those of its children begin with it. */
  readonly place: string;
  readonly name: string;
  readonly startedAt: number;
  readonly attributes?: Attributes;
  readonly kind?: SpanKind;
  /** It is over then, or with its last event or child, whenever that is known. */
  readonly endsAt?: number | undefined;
}

/** How a span ended. `reason` is content. */
export interface SpanEnd {
  readonly attributes?: Attributes;
  /** A class of errors, such as the cause of a crash. Undefined: it did not fail. */
  readonly error?: string | undefined;
  readonly reason?: string | undefined;
}

export class OpenSpan {
  readonly place: string;
  readonly startedAt: number;
  readonly #run: RunSpans;
  readonly #span: Span;
  readonly #parent: OpenSpan | undefined;
  readonly #children = new Set<OpenSpan>();
  readonly #sums = new Map<string, number>();
  readonly #endsWithLast: boolean;
  #ended = false;
  /** Its last event, or the end of its last child. */
  #latest: number;

  constructor(run: RunSpans, head: SpanHead, above?: SpanContext, parent?: OpenSpan) {
    const { place, name, startedAt, endsAt, attributes = {}, kind = SpanKind.INTERNAL } = head;
    const { tracer, ids } = run.sdk;
    ids.traceId = traceIdOf(run.runId, run.options.parent);
    ids.spanId = spanIdOf(run.runId, place);
    const context = above === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, above);
    this.#span = tracer.startSpan(name, { kind, attributes, startTime: time(startedAt) }, context);
    this.place = place;
    this.startedAt = startedAt;
    this.#run = run;
    this.#parent = parent;
    this.#endsWithLast = endsAt !== undefined;
    this.#latest = endsAt ?? startedAt;
  }

  open(head: SpanHead): OpenSpan {
    const child = new OpenSpan(this.#run, head, this.#span.spanContext(), this);
    this.#children.add(child);
    return child;
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  /** Attributes that sum up what is below it. */
  add(amounts: Readonly<Record<string, number>>): void {
    for (const [name, amount] of Object.entries(amounts)) {
      const sum = (this.#sums.get(name) ?? 0) + amount;
      this.#sums.set(name, sum);
      this.#span.setAttribute(name, sum);
    }
  }

  /** With content its text, without only what can't contain any. */
  decide(decision: Decision, at: number): void {
    const plain = Object.entries(decision).flatMap(([name, value]: [string, unknown]) =>
      typeof value === "number" ||
      typeof value === "boolean" ||
      (typeof value === "string" && plainFields.has(name))
        ? [[`agent_jobs.decision.${name}`, value] as const]
        : [],
    );
    const attributes = {
      "agent_jobs.decision.category": decisionCategory(decision),
      ...Object.fromEntries(plain),
      ...("crash" in decision && { "error.type": decision.crash.cause }),
      ...this.#run.content({
        "agent_jobs.decision.text": decisionMessage(withoutDetail(decision)),
      }),
    };
    this.#span.addEvent(decision.kind, attributes, time(at));
    this.#latest = Math.max(this.#latest, at);
  }

  /** No child ends after its parent. */
  end(at: number, { attributes = {}, error, reason = "" }: SpanEnd = {}): void {
    if (this.#ended) return;
    this.#ended = true;
    const endedAt = this.#endsWithLast ? this.#latest : Math.max(at, this.#latest);
    this.set({ ...attributes, "error.type": error });
    if (error !== undefined) {
      const message = this.#run.options.content ? shortened(reason) : "";
      this.#span.setStatus({ code: SpanStatusCode.ERROR, message });
    }
    this.#span.end(time(endedAt));
    const parent = this.#parent;
    if (parent === undefined) return;
    parent.#latest = Math.max(parent.#latest, endedAt);
    parent.#children.delete(this);
    for (const child of this.#children) parent.#children.add(child);
  }

  /** After what is under way below it. */
  endAll(at: number, end?: SpanEnd): void {
    for (const child of [...this.#children].toReversed()) child.endAll(at);
    this.end(at, end);
  }
}

/** As numbers, small ones would be taken for the time since the process has started. */
function time(milliseconds: number): HrTime {
  const whole = Math.floor(milliseconds / 1000);
  return [whole, Math.floor((milliseconds - whole * 1000) * 1e6)];
}

/** Fields of decisions that are words or names of the entry. Others may quote the model, a tool or a person. */
const plainFields = new Set(["field", "purpose", "cause", "limit", "modelId", "role", "operation"]);

const MAX_TEXT = 16_384;

/** Collectors refuse requests of a few megabytes. */
export function shortened(text: string): string {
  return truncate(text, MAX_TEXT, "…");
}

/** Arguments of a tool: as they are, or the beginning of their JSON. */
export function shortenedValue(value: unknown): unknown {
  const json = JSON.stringify(value) ?? "";
  return json.length > MAX_TEXT ? shortened(json) : value;
}
