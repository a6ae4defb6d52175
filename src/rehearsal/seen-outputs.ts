import { truncate } from "../text/truncate.ts";
import type { Finding, Proposal } from "../events/output-shapes.ts";
import { givenInOrder, type RunView } from "../events/view.ts";
import { collectOutputs, resultsOf } from "../outputs/collect.ts";
import type {
  ExpectedFinding,
  ExpectedProposal,
  ExpectedReply,
  ExpectedResolved,
  OutputFields,
  WorkResult,
} from "./format/fields.ts";
import type { Found } from "./listed-expectations.ts";
import type { RunEvent, WorkEnded } from "../events/event.ts";
import { plannedWorks, workKey } from "../events/plan.ts";

/** In the fields of a rehearsal. */
export class SeenOutputs {
  readonly #view: RunView;

  constructor(view: RunView) {
    this.#view = view;
  }

  get verdict(): OutputFields["verdict"] & string {
    return collectOutputs(this.#view).verdict?.verdict ?? "none";
  }

  get findings(): readonly ExpectedFinding[] {
    return collectOutputs(this.#view).findings.map((one) => this.#fieldsOf(one));
  }

  get dismissed(): readonly ExpectedFinding[] {
    return collectOutputs(this.#view).dismissed.map((one) => this.#fieldsOf(one));
  }

  get resolved(): readonly ExpectedResolved[] {
    const { resolved } = collectOutputs(this.#view);
    return resolved.map(({ key, reason }) => ({ finding: this.#idOf(key) ?? key, reason }));
  }

  get replies(): readonly ExpectedReply[] {
    const { replies } = collectOutputs(this.#view);
    return replies.map(({ key, message }) => ({ finding: this.#idOf(key) ?? key, message }));
  }

  get proposals(): readonly ExpectedProposal[] {
    const { proposals } = collectOutputs(this.#view);
    return proposals.map(({ task, proposal }) => proposalFields(task, proposal));
  }

  get results(): Readonly<Record<string, unknown>> | null {
    return resultsOf(this.#view);
  }

  /** For an Each, the reports of all items. */
  get reports(): ReadonlyMap<string, string> {
    const texts = new Map<string, string>();
    for (const [, { taskId, report }] of givenInOrder(this.#view)) {
      if (report === undefined) continue;
      const before = texts.get(taskId);
      texts.set(taskId, before === undefined ? report.markdown : `${before}\n\n${report.markdown}`);
    }
    return texts;
  }

  /** Fields for `expect`, without empty ones and without reports, which are prose. */
  fields(): OutputFields {
    const { verdict, findings, dismissed, resolved, replies, proposals, results } = this;
    return {
      ...(verdict !== "none" && { verdict }),
      ...(findings.length > 0 && { findings }),
      ...(dismissed.length > 0 && { dismissed }),
      ...(resolved.length > 0 && { resolved }),
      ...(replies.length > 0 && { replies }),
      ...(proposals.length > 0 && { proposals }),
      ...(results !== null && { results }),
    };
  }

  #fieldsOf(finding: Finding): ExpectedFinding {
    const { headLine: _, fingerprint, lineDigest: _text, ...fields } = finding;
    const sameAs = this.#idOf(fingerprint);
    return { ...fields, ...(sameAs !== undefined && { sameAs }) };
  }

  #idOf(key: string): string | undefined {
    const { findings = [] } = this.#view.plan?.conversation ?? {};
    return findings.find((one) => one.key === key)?.id;
  }
}

/** A text that it doesn't have contains nothing. */
const noTexts = { title: "", message: "", suggestion: "", body: "", reason: "" };

export function asFound(
  output: ExpectedFinding | ExpectedProposal | ExpectedResolved | ExpectedReply,
): Found {
  return { title: shown(output), fields: { ...noTexts, ...output } };
}

export function shown(value: unknown): string {
  return truncate(JSON.stringify(value), 300);
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
