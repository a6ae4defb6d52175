/** The spans of one run. Each has its id from its place in the run, so a journal makes the same trace again. */
import { truncate } from "../../text/truncate.ts";
import {
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Attributes,
  type HrTime,
  type SpanContext,
} from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import {
  decisionCategory,
  decisionMessage,
  withoutDetail,
  type Decision,
} from "../../events/decision.ts";
import { ROOT, spanIdOf, traceIdOf, type ParentContext, type TraceContext } from "./settings.ts";

export type EndedSpan = Omit<ReadableSpan, "resource" | "instrumentationScope">;

/** Takes spans that have ended, children before their parents, and measurements. */
export interface Instruments {
  readonly export: (span: EndedSpan) => void;
  readonly measure: (metric: string, value: number, attributes: Attributes) => void;
}

export interface TraceOptions extends TraceContext {
  /** Whether prompts, answers, arguments, results and reasons are part of the trace. */
  readonly content: boolean;
  readonly provider: string;
  /** The model server, if it is known. */
  readonly server?: URL | undefined;
}

export interface TracedRun {
  readonly runId: string;
  readonly options: TraceOptions;
  readonly sdk: Instruments;
  /** Places of tool calls: model servers may give two calls of a session the same id. */
  readonly calls: Set<string>;
}

/** The measurements at the end of a span. */
export interface Measured {
  /** A histogram of durations. */
  readonly duration: string;
  readonly attributes: Attributes;
  /** Histograms of numbers, and the attributes of the span that hold them. */
  readonly counts: Readonly<Record<string, string>>;
}

export interface SpanHead {
  readonly name: string;
  readonly startedAt: number;
  readonly attributes?: Attributes;
  readonly kind?: SpanKind;
  readonly measured?: Measured;
  /** Spans of other traces, or of other processes, that it continues. */
  readonly links?: readonly ParentContext[];
  /** Its id is made from it. Default: its number among the children of its parent. */
  readonly place?: string;
  /** It ends then, or with its last event or child, whenever that is known. */
  readonly endsAt?: number;
}

/** How a span ended. `reason` is content. */
export interface SpanEnd {
  readonly attributes?: Attributes;
  /** A class of errors, such as the cause of a crash. Undefined: it did not fail. */
  readonly error?: string | undefined;
  readonly reason?: string | undefined;
}

export class Span {
  readonly place: string;
  readonly startedAt: number;
  readonly #run: TracedRun;
  readonly #head: SpanHead;
  readonly #context: SpanContext;
  readonly #parent: Span | undefined;
  readonly #attributes: Attributes = {};
  readonly #events: EndedSpan["events"] = [];
  readonly #open = new Set<Span>();
  #children = 0;
  #isEnded = false;
  /** Its last event, or the end of its last child. */
  #latest: number;

  /** If it has no parent, it is the root of the run. */
  constructor(run: TracedRun, head: SpanHead, parent?: Span) {
    this.#run = run;
    this.#head = head;
    this.#parent = parent;
    this.startedAt = head.startedAt;
    this.place =
      head.place ?? (parent === undefined ? ROOT : `${parent.place}/${parent.#children}`);
    this.#context = {
      traceId: traceIdOf(run.runId, run.options.parent),
      spanId: spanIdOf(run.runId, this.place),
      traceFlags: TraceFlags.SAMPLED,
    };
    this.#latest = head.endsAt ?? head.startedAt;
    this.set(head.attributes ?? {});
  }

  open(head: SpanHead): Span {
    this.#children += 1;
    const child = new Span(this.#run, head, this);
    this.#open.add(child);
    return child;
  }

  set(attributes: Attributes): void {
    for (const [name, value] of Object.entries(attributes))
      if (value !== undefined) this.#attributes[name] = value;
  }

  /** Adds to attributes that sum up what is below it. */
  add(amounts: Readonly<Record<string, number>>): void {
    for (const [name, amount] of Object.entries(amounts))
      this.#attributes[name] = Number(this.#attributes[name] ?? 0) + amount;
  }

  /** Adds an event. Its fields that may quote the model, a tool or a person are content. */
  decide(decision: Decision, at: number): void {
    const plain = Object.entries(decision).filter(([name, value]: [string, unknown]) =>
      typeof value === "string"
        ? plainFields.has(name)
        : typeof value === "number" || typeof value === "boolean",
    );
    const attributes = {
      "agent_jobs.decision.category": decisionCategory(decision),
      ...Object.fromEntries(plain.map(([name, value]) => [`agent_jobs.decision.${name}`, value])),
      ...("crash" in decision && { "error.type": decision.crash.cause }),
      ...contentOf(this.#run, {
        "agent_jobs.decision.text": decisionMessage(withoutDetail(decision)),
      }),
    };
    this.#events.push({ name: decision.kind, attributes, time: time(at) });
    this.#latest = Math.max(this.#latest, at);
  }

  /** No child ends after its parent. */
  end(at: number, { attributes = {}, error, reason = "" }: SpanEnd = {}): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { name, kind = SpanKind.INTERNAL, startedAt, endsAt, measured, links = [] } = this.#head;
    const parent = this.#parent;
    const { options, sdk } = this.#run;
    const endedAt = Math.max(endsAt === undefined ? at : 0, this.#latest);
    this.set({ ...attributes, "error.type": error });
    if (measured !== undefined) this.#measure(measured, endedAt);
    sdk.export({
      name,
      kind,
      spanContext: () => this.#context,
      parentSpanContext:
        parent === undefined ? options.parent && remoteOf(options.parent) : parent.#context,
      startTime: time(startedAt),
      endTime: time(endedAt),
      duration: time(endedAt - startedAt),
      attributes: this.#attributes,
      events: this.#events,
      status:
        error === undefined
          ? { code: SpanStatusCode.UNSET }
          : { code: SpanStatusCode.ERROR, message: options.content ? shortened(reason) : "" },
      ended: true,
      links: links.map((context) => ({ context: remoteOf(context) })),
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    });
    if (parent === undefined) return;
    parent.#latest = Math.max(parent.#latest, endedAt);
    parent.#open.delete(this);
    for (const child of this.#open) parent.#open.add(child);
  }

  #measure({ duration, counts, attributes }: Measured, endedAt: number): void {
    const { measure } = this.#run.sdk;
    const { "agent_jobs.outcome": outcome, "error.type": error } = this.#attributes;
    const how = { ...(outcome && { "agent_jobs.outcome": outcome }) };
    const ended = { ...attributes, ...how, ...(error && { "error.type": error }) };
    measure(duration, (endedAt - this.startedAt) / 1000, ended);
    for (const [metric, name] of Object.entries(counts))
      measure(metric, Number(this.#attributes[name] ?? 0), attributes);
  }

  /** Ends it after what is under way below it. */
  endAll(at: number, end?: SpanEnd): void {
    for (const child of [...this.#open].toReversed()) child.endAll(at);
    this.end(at, end);
  }
}

function remoteOf({ traceId, spanId }: ParentContext): SpanContext {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
}

function time(milliseconds: number): HrTime {
  const whole = Math.floor(milliseconds / 1000);
  return [whole, Math.floor((milliseconds - whole * 1000) * 1e6)];
}

/** Fields of decisions that are words or names of the entry. */
const plainFields = new Set(["field", "purpose", "cause", "limit", "modelId", "role", "operation"]);

/** Collectors refuse requests of a few megabytes. */
const MAX_TEXT = 16_384;

export function shortened(text: string): string {
  return truncate(text, MAX_TEXT, "…");
}

/** Returns the attributes, unless content is left out of the trace. */
export function contentOf(
  { options }: TracedRun,
  attributes: Readonly<Record<string, string | undefined>>,
): Attributes {
  if (!options.content) return {};
  return Object.fromEntries(
    Object.entries(attributes).map(([name, text]) => [name, text && shortened(text)]),
  );
}
