/** The identity of a trace: from `TRACEPARENT` (W3C Trace Context) or from the run, so that a journal gives it again. */
import { createHash } from "node:crypto";

/** A span of another process, which is the parent of the whole run. */
export interface ParentContext {
  readonly traceId: string;
  readonly spanId: string;
  /** False: its caller does not record the trace. */
  readonly sampled: boolean;
}

/** Returns undefined for a header that is missing or not valid: the run starts a trace of its own. */
export function parseTraceparent(header: string | undefined): ParentContext | undefined {
  const [, version, traceId = "", spanId = "", flags = ""] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/.exec(
      header?.trim() ?? "",
    ) ?? [];
  if (version === undefined || version === "ff" || /^0+$/.test(traceId) || /^0+$/.test(spanId))
    return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The id of a run is a UUID: without its hyphens it is that of the trace. */
export function traceIdOf(runId: string, parent?: ParentContext): string {
  if (parent !== undefined) return parent.traceId;
  const plain = runId.replaceAll("-", "").toLowerCase();
  return /^(?!0+$)[0-9a-f]{32}$/.test(plain) ? plain : digest(runId, 32);
}

/** `place`: of the span in the run. The same place always has the same id. */
export function spanIdOf(runId: string, place: string): string {
  return digest(`${runId}/${place}`, 16);
}

export const ROOT = "run";

/** The place of a tool call, known to the runner of the tool and to the reporter of its span. */
export function callPlace(sessionId: string, toolCallId: string): string {
  return `call/${sessionId}/${toolCallId}`;
}

/** Which traces are recorded, as `OTEL_TRACES_SAMPLER` says. */
export interface Sampling {
  readonly ratio: number;
  /** A trace that has a parent is recorded if its parent is. */
  readonly parentBased: boolean;
}

export const defaultSampling: Sampling = { ratio: 1, parentBased: true };

export interface TraceContext {
  readonly parent?: ParentContext | undefined;
  readonly sampling: Sampling;
}

export function isSampled(traceId: string, { parent, sampling }: TraceContext): boolean {
  if (parent !== undefined && sampling.parentBased) return parent.sampled;
  // Half of the random part, which a number holds exactly.
  return Number.parseInt(traceId.slice(-13), 16) >= (1 - sampling.ratio) * 2 ** 52;
}

/** A header for processes that the run starts: their spans are children of the span at the place. */
export function traceparentOf(runId: string, context: TraceContext, place = ROOT): string {
  const traceId = traceIdOf(runId, context.parent);
  return `00-${traceId}-${spanIdOf(runId, place)}-${isSampled(traceId, context) ? "01" : "00"}`;
}

function digest(text: string, length: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}
