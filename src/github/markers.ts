/**
 * The hidden first line of all that we write on GitHub. Texts of agents never stand in the first line. Anybody may write
 * a marker, though: check the author, too.
 */
import { defined } from "../text/guards.ts";
import { truncate, wholeCharacters } from "../text/truncate.ts";

/** `report`: the comment that every run of a job updates. `finding`: a comment of a review. `reply`: an answer in its thread. `decision`: a review that merge rules count. The others are proposals. */
export const markerKinds = [
  "report",
  "review",
  "finding",
  "reply",
  "decision",
  "comment",
  "issue",
  "pull_request",
  "close",
] as const;
export type MarkerKind = (typeof markerKinds)[number];

export interface Marker {
  readonly kind: MarkerKind;
  readonly job: string;
  readonly entry: string;
  /** The leg of a matrix that wrote it. */
  readonly leg?: string;
  /** The fingerprint of a finding, also of the one that a reply is about, or the digest of a proposal. */
  readonly key?: string;
  /** Set for a finding. */
  readonly rule?: string;
  readonly severity?: string;
  /** `lineDigest` of a finding. */
  readonly text?: string;
  readonly head?: string;
  /** The last head that a run has reviewed without leaving anything out. */
  readonly reviewed?: string;
  /** For a report: the run and attempt that is running, or `ended` if the one that was shown has left no report. */
  readonly status?: string;
  /** For a report: the number of such heads. */
  readonly round?: string;
  /** For a finding: the head at which we closed its thread. */
  readonly closed?: string;
  /** The findings that a report or a review lists; only the first are kept. */
  readonly fingerprints?: readonly string[];
}

/** Maximum length of all encoded fingerprints: about 300 SHA-256. */
const MAX_FINGERPRINTS = 20_000;
const MAX_VALUE = 300;
/** A longer first line is none of ours. */
const MAX_LINE = 100_000;

const fields = [
  "job",
  "entry",
  "leg",
  "key",
  "head",
  "reviewed",
  "status",
  "round",
  "closed",
  "rule",
  "severity",
  "text",
] as const;

export function markerOf({ kind, fingerprints, ...marker }: Marker): string {
  const values = fields.flatMap((name) => {
    const value = marker[name];
    return value === undefined ? [] : [` ${name}=${encoded(value)}`];
  });
  if (fingerprints !== undefined) values.push(` fingerprints=${joined(fingerprints)}`);
  return `<!-- agent-jobs:${kind}${values.join("")} -->`;
}

/** Undefined: the body doesn't begin with a marker of ours. */
export function readMarker(body: string): Marker | undefined {
  const [line = ""] = body.slice(0, MAX_LINE).split(/\r?\n/, 1);
  const match = /^<!-- agent-jobs:([a-z_]+)((?: [a-z]+=[^\s<>]*)*) -->$/.exec(line);
  const kind = markerKinds.find((one) => one === match?.[1]);
  if (kind === undefined) return undefined;
  const values = new Map(
    (match?.[2] ?? "").split(" ").map((pair): [string, string] => {
      const [name = "", value = ""] = pair.split("=", 2);
      return [name, value];
    }),
  );
  const found: Partial<Record<(typeof fields)[number], string>> = {};
  for (const name of fields) Object.assign(found, defined({ [name]: decoded(values.get(name)) }));
  const { job, entry, ...rest } = found;
  if (job === undefined || entry === undefined) return undefined;
  const fingerprints = values
    .get("fingerprints")
    ?.split(",")
    .flatMap((one) => decoded(one) || []);
  return { kind, job, entry, ...rest, ...defined({ fingerprints }) };
}

export type MarkerOwner = Pick<Marker, "job" | "entry"> & { readonly leg: string | undefined };

/** The marker of a body, if it is of this kind, job and leg. Check the author, too. */
export function readMarkerOf(
  body: string,
  kind: MarkerKind,
  { job, entry, leg }: MarkerOwner,
): Marker | undefined {
  const marker = readMarker(body);
  if (marker?.kind !== kind || marker.job !== job || marker.entry !== entry) return undefined;
  // A marker without a leg is of a run outside of a matrix.
  return marker.leg === undefined || marker.leg === leg ? marker : undefined;
}

function joined(fingerprints: readonly string[]): string {
  let text = "";
  for (const one of fingerprints) {
    const next = (text === "" ? "" : ",") + encoded(one);
    if (text.length + next.length > MAX_FINGERPRINTS) break;
    text += next;
  }
  return text;
}

/** Encodes `-`, `<`, `>`, space and line end, so that no value ends the comment. */
function encoded(value: string): string {
  return encodeURIComponent(wholeCharacters(truncate(value, MAX_VALUE))).replaceAll("-", "%2D");
}

function decoded(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
