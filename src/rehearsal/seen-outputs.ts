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
} from "./format/output-fields.ts";
import type { Found } from "./listed-expectations.ts";

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
