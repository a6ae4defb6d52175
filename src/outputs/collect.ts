import { defaultOutputs, severities, type Outputs, type Severity } from "../entry/outputs.ts";
import {
  hasReply,
  isDismissed,
  type Finding,
  type GivenReply,
  type Proposal,
  type RefusedOutput,
  type ResolvedFinding,
  type Verdict,
} from "../events/output-shapes.ts";
import { givenInOrder, type GivenView, type RunView } from "../events/view.ts";

export interface CollectedOutputs {
  /** The worst first, each once, at most `outputs.findings.max`, without dismissed ones. */
  readonly findings: readonly Finding[];
  readonly omitted: number;
  /** Reported again, although a person had closed their thread before the run. They count nowhere else. */
  readonly dismissed: readonly Finding[];
  /** Earlier findings that were not reported again, and that nobody has replied to. */
  readonly resolved: readonly ResolvedFinding[];
  /** For each earlier finding, the last one. */
  readonly replies: readonly GivenReply[];
  /** Nothing is missing: the head counts as reviewed. */
  readonly complete: boolean;
  readonly verdict: Verdict | undefined;
  /** Outputs that were refused and not corrected afterwards. */
  readonly refused: readonly RefusedOutput[];
  readonly proposals: readonly CollectedProposal[];
}

export interface CollectedProposal {
  readonly task: string;
  /** The items of each `Each` around the task. */
  readonly items: readonly string[];
  readonly proposal: Proposal;
}

/** `outputs`: what the entry says, by default what the plan of the run says. */
export function collectOutputs(
  view: RunView,
  outputs: Outputs = view.plan?.outputs ?? {},
): CollectedOutputs {
  const given = (from: readonly string[] | undefined): GivenView[] =>
    givenInOrder(view).flatMap(([, one]) => (from?.includes(one.taskId) === false ? [] : [one]));
  const { findings, verdict, proposals } = outputs;
  const { max = defaultOutputs.findings.max, minSeverity = defaultOutputs.findings.minSeverity } =
    findings ?? {};
  const found = given(findings?.from);
  const all = found.flatMap((one) => one.findings);
  const isOf = (kind: RefusedOutput["kind"]) => (one: RefusedOutput) => one.kind === kind;
  // The last verdict counts.
  const judges = given(verdict?.from).filter(
    (one) => one.verdict ?? one.refused.some(isOf("verdict")),
  );
  const previous = view.plan?.conversation?.findings ?? [];
  const closed = new Set(previous.filter(isDismissed).map(({ key }) => key));
  const { dismissed, ...selected } = selectFindings(all, { max, minSeverity, closed });
  const reported = new Set(all.map(({ fingerprint }) => fingerprint));
  const stays = new Set(previous.filter(hasReply).map(({ key }) => key));
  const refused = found.flatMap((one) => one.refused.filter(isOf("finding")));
  return {
    ...selected,
    dismissed,
    resolved: lastOfEach(found.flatMap((one) => one.resolved)).filter(
      ({ key }) => !reported.has(key) && !stays.has(key),
    ),
    replies: lastOfEach(found.flatMap((one) => one.replies)),
    complete: selected.omitted === 0 && refused.length === 0 && ranWhole(view),
    verdict: judges.findLast((one) => one.verdict !== undefined)?.verdict,
    refused: [...refused, ...(judges.at(-1)?.refused.filter(isOf("verdict")).slice(-1) ?? [])],
    proposals: given(proposals?.from).flatMap(({ taskId, items, proposals: made }) =>
      made.map((proposal) => ({ task: taskId, items, proposal })),
    ),
  };
}

function lastOfEach<Of extends { readonly key: string }>(all: readonly Of[]): readonly Of[] {
  return [...new Map(all.map((one) => [one.key, one])).values()];
}

/** Every work that the job came to has succeeded, or has answered as a condition. Nothing was left out. */
function ranWhole({ works }: RunView): boolean {
  return [...works.values()].every(
    ({ status, reason, decisions }) =>
      !/^(?:failed|crashed|canceled)$/.test(status) &&
      (status !== "skipped" || reason === undefined) &&
      !decisions.some(({ kind }) => kind === "left-out"),
  );
}

/** The structured result of each task; of one in an `Each`, a list of `{ item, result }`. Null: there is none. */
export function resultsOf(view: RunView): Readonly<Record<string, unknown>> | null {
  const tasks: Record<string, unknown> = Object.create(null);
  const lists = new Map<string, object[]>();
  for (const [, { taskId, items, result }] of givenInOrder(view)) {
    if (result === undefined) continue;
    const item = items.at(-1);
    if (item === undefined) tasks[taskId] = result.value;
    else {
      const list = lists.get(taskId) ?? [];
      lists.set(taskId, [...list, { item, result: result.value }]);
    }
  }
  for (const [taskId, list] of lists) tasks[taskId] ??= list;
  return Object.keys(tasks).length === 0 ? null : tasks;
}

/** Sorts findings by severity and place, keeps the worst of equal ones, and numbers equal fingerprints. `closed`: fingerprints of those that are dismissed. */
export function selectFindings(
  all: readonly Finding[],
  {
    max = Infinity,
    minSeverity = "notice",
    closed = new Set(),
  }: {
    readonly max?: number;
    readonly minSeverity?: Severity;
    readonly closed?: ReadonlySet<string>;
  } = {},
): Pick<CollectedOutputs, "findings" | "omitted" | "dismissed"> {
  const unique = new Map<string, Finding>();
  for (const finding of all) {
    if (rank(finding) < severities.indexOf(minSeverity)) continue;
    const { path, line, message, fingerprint } = finding;
    const words = message.toLowerCase().trim().replace(/\s+/gu, " ");
    const key = JSON.stringify([fingerprint, path, line, words]);
    const other = unique.get(key);
    if (other === undefined || compare(finding, other) < 0) unique.set(key, finding);
  }
  const sorted = [...unique.values()].sort(compare);
  const given = new Set(sorted.map(({ fingerprint }) => fingerprint));
  const used = new Set<string>();
  const ordered = sorted.map((finding) => {
    let key = finding.fingerprint;
    // An earlier finding may have such a key already.
    for (let ordinal = 2; used.has(key) || (ordinal > 2 && given.has(key)); ordinal += 1)
      key = `${finding.fingerprint}-${ordinal}`;
    used.add(key);
    return { ...finding, fingerprint: key };
  });
  const open = ordered.filter(({ fingerprint }) => !closed.has(fingerprint));
  return {
    findings: open.slice(0, max),
    omitted: Math.max(0, open.length - max),
    dismissed: ordered.filter(({ fingerprint }) => closed.has(fingerprint)),
  };
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

/* The decisions of a run about findings of earlier runs, for logs and reports. The delivery decides what is done on GitHub. */

export interface PreviousOutcome {
  /** `dismissed`: reported again, although a person had closed its thread. */
  readonly kind: "resolved" | "answered" | "dismissed";
  readonly key: string;
  readonly id: string;
  readonly path: string;
  readonly line: number | undefined;
  /** The reason for resolving it, the answer, or the text that was reported. */
  readonly text: string;
}

export function previousOutcomes(view: RunView): readonly PreviousOutcome[] {
  const { dismissed, resolved, replies } = collectOutputs(view);
  const all = [
    ...resolved.map(({ key, reason: text }) => ({ kind: "resolved", key, text }) as const),
    ...replies.map(({ key, message: text }) => ({ kind: "answered", key, text }) as const),
    ...dismissed.map(
      ({ fingerprint: key, title, message }) =>
        ({ kind: "dismissed", key, text: title ?? message }) as const,
    ),
  ];
  return all.map((one) => ({ ...one, ...previousPlace(view, one.key) }));
}

/** A journal may name a finding that its plan lacks. */
export function previousPlace(
  { plan }: Pick<RunView, "plan">,
  key: string,
): Pick<PreviousOutcome, "id" | "path" | "line"> {
  const found = plan?.conversation?.findings.find((one) => one.key === key);
  return { id: found?.id ?? "?", path: found?.path ?? "?", line: found?.line };
}

/** `resolved F1 at a.ts:3` */
export function previousOutcomeText({ kind, id, path, line }: PreviousOutcome): string {
  return `${kind} ${id} at ${path}${line === undefined ? "" : `:${line}`}`;
}
