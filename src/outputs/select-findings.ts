/** Findings of several tasks as one list: each once, the worst first, bounded; and compared with those of an earlier run. */
import { severities, type Severity } from "../entry/outputs.ts";
import type { Finding } from "../events/output-shapes.ts";

export interface SelectedFindings {
  readonly findings: readonly Finding[];
  /** More than `max`. */
  readonly omitted: number;
}

/** One of each fingerprint and rule's worst, errors first, then by place; at most `max`. */
export function selectFindings(
  all: readonly Finding[],
  {
    max = Infinity,
    minSeverity = "notice",
  }: { readonly max?: number; readonly minSeverity?: Severity } = {},
): SelectedFindings {
  const unique = new Map<string, Finding>();
  for (const finding of all) {
    if (rank(finding) < severities.indexOf(minSeverity)) continue;
    const other = unique.get(finding.fingerprint);
    if (other === undefined || compare(finding, other) < 0)
      unique.set(finding.fingerprint, finding);
  }
  const ordered = [...unique.values()].sort(compare);
  return { findings: ordered.slice(0, max), omitted: Math.max(0, ordered.length - max) };
}

function rank({ severity }: Finding): number {
  return severities.indexOf(severity);
}

function compare(a: Finding, b: Finding): number {
  return (
    rank(b) - rank(a) ||
    order(a.path, b.path) ||
    a.line - b.line ||
    (a.endLine ?? a.line) - (b.endLine ?? b.line) ||
    order(JSON.stringify(a), JSON.stringify(b))
  );
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export interface ComparedFindings {
  readonly added: readonly Finding[];
  readonly remaining: readonly Finding[];
  /** Of the earlier run. */
  readonly gone: readonly string[];
}

/** With the fingerprints of an earlier run on the same pull request. */
export function compareFindings(
  earlier: Iterable<string>,
  now: readonly Finding[],
): ComparedFindings {
  const known = new Set(earlier);
  const current = new Set(now.map((one) => one.fingerprint));
  return {
    added: now.filter((one) => !known.has(one.fingerprint)),
    remaining: now.filter((one) => known.has(one.fingerprint)),
    gone: [...known].filter((one) => !current.has(one)),
  };
}
