/** What a run has handed in, and what its steps did, in the fields of a rehearsal. */
import { collectOutputs, resultsOf } from "../outputs/collect.ts";
import type { Finding, Proposal } from "../events/output-shapes.ts";
import type { RunEvent, WorkEnded } from "../events/event.ts";
import { plannedWorks, workKey } from "../events/plan.ts";
import { givenInOrder, type RunView } from "../events/view.ts";
import { defined } from "../text/guards.ts";
import type {
  ExpectedFinding,
  ExpectedProposal,
  OutputFields,
  WorkResult,
} from "./format/expect.ts";

/** Reports are omitted, because they are prose. */
export function seenOutputs(view: RunView) {
  const { verdict, findings, dismissed, resolved, replies, proposals } = collectOutputs(view);
  const earlier = view.plan?.conversation?.findings ?? [];
  const idOf = (key: string): string | undefined => earlier.find((one) => one.key === key)?.id;
  const fieldsOf = (one: Finding): ExpectedFinding => {
    const { headLine: _, fingerprint, lineDigest: _text, ...fields } = one;
    return { ...fields, ...defined({ sameAs: idOf(fingerprint) }) };
  };
  return {
    verdict: verdict?.verdict ?? "none",
    findings: findings.map(fieldsOf),
    dismissed: dismissed.map(fieldsOf),
    resolved: resolved.map(({ key, reason }) => ({ finding: idOf(key) ?? key, reason })),
    replies: replies.map(({ key, message }) => ({ finding: idOf(key) ?? key, message })),
    proposals: proposals.map(({ task, proposal }) => proposalFields(task, proposal)),
    results: resultsOf(view) ?? {},
  } as const satisfies OutputFields;
}

/** Empty outputs are omitted. */
export function givenOutputs(view: RunView): OutputFields {
  const fields = Object.entries(seenOutputs(view)).filter(
    ([, value]) => value !== "none" && Object.keys(value).length > 0,
  );
  return Object.fromEntries(fields);
}

/** For an Each, the reports of all items. */
export function reportsOf(view: RunView): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const [, { taskId, report }] of givenInOrder(view)) {
    if (report === undefined) continue;
    const before = texts.get(taskId);
    texts.set(taskId, before === undefined ? report.markdown : `${before}\n\n${report.markdown}`);
  }
  return texts;
}

function proposalFields(task: string, proposal: Proposal): ExpectedProposal {
  switch (proposal.kind) {
    case "pull_request":
    case "push": {
      const { base: _, files, ...fields } = proposal;
      return { task, ...fields, files: files.map(({ path }) => path) };
    }
    case "comment":
    case "label":
    case "reviewers":
    case "close": {
      const { number: _, ...fields } = proposal;
      return { task, ...fields };
    }
    case "issue":
      return { task, ...proposal };
  }
}

export interface WorkTally {
  readonly workId: number;
  readonly taskId: string;
  model: string;
  runs: number;
  /** One for each run, in the order of iterations and items. */
  readonly outcomes: WorkResult[];
  /** Why its last run, or that of its last item, did not succeed. */
  reason: string;
  attempts: number;
  retries: number;
  crashes: number;
  /** Documents of the action protocol. */
  rejected: number;
  /** Another work or task ran at the same time. */
  overlapped: boolean;
}

const none = { runs: 0, reason: "", attempts: 0, retries: 0, crashes: 0, rejected: 0 };

export class WorkTallies {
  readonly #works = new Map<number, WorkTally>();
  /** Keyed by step and iteration, because items may run at the same time. */
  readonly #running = new Map<string, WorkTally>();

  get works(): readonly WorkTally[] {
    return [...this.#works.values()];
  }

  report(event: RunEvent): void {
    if (event.type === "run.started") {
      for (const { workId, taskId, modelId: model = "" } of plannedWorks(event.work)) {
        const work = { workId, taskId, model, outcomes: [], overlapped: false, ...none };
        this.#works.set(workId, work);
      }
      return;
    }
    const work =
      "work" in event && event.work !== null ? this.#works.get(event.work.workId) : undefined;
    if (work !== undefined) this.#count(work, event);
  }

  #count(work: WorkTally, event: RunEvent): void {
    switch (event.type) {
      case "work.started":
        work.model = event.modelId ?? "";
        this.#running.set(workKey(event.work), work);
        if (this.#running.size > 1) for (const one of this.#running.values()) one.overlapped = true;
        break;
      case "work.ended":
        this.#running.delete(workKey(event.work));
        end(work, event);
        break;
      case "session.started":
        // A task that it delegates to runs beside it.
        if (event.work.taskId !== work.taskId) work.overlapped = true;
        break;
      case "turn.started":
        if (event.purpose === "prompt") work.attempts += 1;
        break;
      case "decision":
        if (event.decision.kind === "criteria-retry") work.retries += 1;
        if (event.decision.kind === "session-crashed") work.crashes += 1;
        break;
      case "action":
        if (event.action.type === "actions.rejected") work.rejected += 1;
        break;
      default:
        break;
    }
  }
}

function end(tally: WorkTally, { work, outcome }: WorkEnded): void {
  // A skipped run counts as not started.
  if (outcome.kind === "skipped") return;
  // Items may run at the same time, and end in any order.
  const at = work.item === undefined ? tally.runs : work.iteration - 1;
  tally.outcomes[at] = outcome.kind;
  tally.runs += 1;
  if (at !== tally.outcomes.length - 1) return;
  tally.reason =
    outcome.kind === "succeeded"
      ? ""
      : outcome.kind === "crashed"
        ? outcome.crash.message
        : outcome.reason;
}
