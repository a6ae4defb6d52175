/** Reads the variables of OpenTelemetry. A variable that can't be honored is a warning after the run. */
import { accessSync } from "node:fs";
import { urlOf } from "../../text/guards.ts";
import type { Environment } from "../../platform/environment.ts";
import { createHash } from "node:crypto";

const signals = ["traces", "metrics"] as const;
export type SignalName = (typeof signals)[number];

export interface Signal {
  readonly url: string;
  /** Otherwise as protobuf. */
  readonly json: boolean;
  /** An export that takes longer has failed. */
  readonly timeoutMs: number;
}

export type TelemetrySettings = Readonly<Partial<Record<SignalName, Signal>>> & {
  readonly sampling: Sampling;
  readonly warnings: readonly string[];
};

/** The address without what may be a secret. */
export function shownUrl({ url }: Signal): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

const TIMEOUT_MS = 1_500;
const MAX_TIMEOUT_MS = 60_000;
const samplers = ["always_on", "always_off", "traceidratio"];

function isCollector(address: string): boolean {
  return urlOf(address) !== undefined && /^https?:\/\//i.test(address);
}

/** Returns undefined if nothing was asked for. */
export function readSettings(
  environment: Environment,
  otlp: string | undefined,
): TelemetrySettings | undefined {
  const valueOf = (name: string): string => environment[name]?.trim() ?? "";
  const warnings: string[] = [];
  /** By the reason. */
  const unsent = new Map<string, SignalName[]>();
  const signal = (name: SignalName): Signal | undefined => {
    /** The variable of the signal, or that of both. */
    const find = (what: string): readonly [variable: string, value: string] => {
      const own = `OTEL_EXPORTER_OTLP_${name.toUpperCase()}_${what}`;
      const common = `OTEL_EXPORTER_OTLP_${what}`;
      return valueOf(own) === "" ? [common, valueOf(common)] : [own, valueOf(own)];
    };
    const [variable, address] = otlp === undefined ? find("ENDPOINT") : ["--otlp", otlp];
    const exporter = `OTEL_${name.toUpperCase()}_EXPORTER`;
    const exporters = valueOf(exporter) || "otlp";
    if (address === "" || exporters === "none") return undefined;
    const refuse = (reason: string): undefined =>
      void unsent.set(reason, [...(unsent.get(reason) ?? []), name]);
    if (!exporters.split(",").some((one) => one.trim() === "otlp"))
      return refuse(`${exporter} is "${exporters}", and only "otlp" and "none" are supported.`);
    if (!isCollector(address))
      return refuse(
        `${variable} is "${address.replace(/^.*@/, "")}", not an http or https address, such as http://127.0.0.1:4318.`,
      );
    const [protocolVariable, protocol] = find("PROTOCOL");
    if (!["", "http/protobuf", "http/json"].includes(protocol))
      return refuse(
        `${protocolVariable} is "${protocol}", which is not supported: set "http/protobuf" or "http/json", and the collector's port for HTTP, usually 4318.`,
      );
    const [compressionVariable, compression] = find("COMPRESSION");
    if (!["", "gzip", "none"].includes(compression))
      warnings.push(`${compressionVariable} is "${compression}", and not "gzip": not compressed.`);
    for (const what of ["CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"]) {
      const [fileVariable, path] = find(what);
      try {
        if (path !== "") accessSync(path);
      } catch (error) {
        warnings.push(`${fileVariable} can't be read: ${String(error)}.`);
      }
    }
    const [timeoutVariable, given] = find("TIMEOUT");
    const timeout = given === "" ? TIMEOUT_MS : Number(given);
    const isTime = timeout > 0;
    if (!isTime)
      warnings.push(
        `${timeoutVariable} is "${given}", not a number of milliseconds: 1500 is used.`,
      );
    return {
      url: variable.includes(name.toUpperCase())
        ? address
        : `${address.replace(/(?<!\/)\/+$/, "")}/v1/${name}`,
      json: protocol === "http/json",
      timeoutMs: isTime ? Math.min(timeout, MAX_TIMEOUT_MS) : TIMEOUT_MS,
    };
  };
  if (valueOf("OTEL_SDK_DISABLED").toLowerCase() === "true") return undefined;
  const [traces, metrics] = signals.map(signal);
  const sampling = traces && samplingOf(valueOf("OTEL_TRACES_SAMPLER"), valueOf, warnings);
  for (const [reason, names] of unsent) warnings.push(`${reason} Not sent: ${names.join(", ")}.`);
  if ((traces ?? metrics) === undefined && warnings.length === 0) return undefined;
  return {
    ...(traces && { traces }),
    ...(metrics && { metrics }),
    sampling: sampling ?? defaultSampling,
    warnings: [...new Set(warnings)],
  };
}

function samplingOf(
  name: string,
  valueOf: (name: string) => string,
  warnings: string[],
): Sampling | undefined {
  if (name === "") return undefined;
  const own = name.replace(/^parentbased_/, "");
  if (!samplers.includes(own)) {
    warnings.push(`OTEL_TRACES_SAMPLER is "${name}", which is not supported: all is sampled.`);
    return undefined;
  }
  const given = valueOf("OTEL_TRACES_SAMPLER_ARG");
  const ratio = own === "always_off" ? 0 : own === "always_on" || given === "" ? 1 : Number(given);
  const isRatio = ratio >= 0 && ratio <= 1;
  if (!isRatio)
    warnings.push(`OTEL_TRACES_SAMPLER_ARG is "${given}", not a number from 0 to 1: 1 is used.`);
  return { ratio: isRatio ? ratio : 1, parentBased: own !== name };
}

/* The identity of a trace: from `TRACEPARENT` (W3C Trace Context) or from the run, so that a journal gives it again. */

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
