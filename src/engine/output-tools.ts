/** `job_annotate`, `job_verdict`, `job_propose`, `job_remember`: a task says what people shall see, have done, and keep. */
import { isRecord } from "../document/guards.ts";
import {
  proposalKinds,
  severities,
  verdicts,
  type ProposalKind,
  type ProposalsOutput,
} from "../entry/outputs.ts";
import { noteEntry, type PlannedMemory } from "../events/memory.ts";
import { LastRound } from "./job-data.ts";
import { namesTool, type ReportContext } from "./report-tools.ts";
import type { Checked, OutputChecks, SessionTool, ToolAnswer } from "./ports.ts";

/** Of one run of a task. Delivery has far lower limits; these keep the journal small. */
const mostFindings = 1_000;
const mostProposals = 100;
const longestReason = 2_000;
const mostNotes = 50;
const longestNote = 2_000;

/** Those that the texts of the task name. `job_propose` needs `outputs.proposals`, too. */
export function outputTools(context: ReportContext): readonly SessionTool[] {
  const { checks, proposals, memory } = context;
  const kinds = proposalKinds.filter((kind) => proposals?.[kind] !== undefined);
  const always = [
    ...(namesTool(context, "job_verdict") ? [jobVerdict(context)] : []),
    ...(memory !== undefined && namesTool(context, "job_remember")
      ? [jobRemember(context, memory)]
      : []),
  ];
  if (checks === undefined) return always;
  return [
    ...(namesTool(context, "job_annotate") ? [jobAnnotate(context, checks)] : []),
    ...always,
    ...(kinds.length > 0 && namesTool(context, "job_propose")
      ? [jobPropose(context, kinds, checks)]
      : []),
  ];
}

const text = (description: string): object => ({ type: "string", description });

function jobAnnotate({ work, given, ports }: ReportContext, checks: OutputChecks): SessionTool {
  return {
    name: "job_annotate",
    description:
      "Reports a finding at a line of a file, for people. Call it once for each finding. Paths are relative to the root of the repository.",
    parameters: {
      type: "object",
      properties: {
        path: text("The file, relative to the root of the repository."),
        line: { type: "integer", minimum: 1, description: "The first line." },
        endLine: { type: "integer", minimum: 1, description: "The last line. Default: line." },
        severity: { type: "string", enum: severities },
        title: text("In a few words, on one line."),
        message: text("What is wrong and why, in Markdown."),
        suggestion: text("Replaces the lines from line to endLine, whole and with their indents."),
        rule: text("A short name for this kind of finding."),
      },
      required: ["path", "line", "severity", "message"],
      additionalProperties: false,
    },
    allowed: "always",
    async run(value, { signal }) {
      const checked = await checks.finding(value, work.taskId, signal);
      const findings = (given.findings ??= new LastRound());
      return handIn(checked, findings, given.round, mostFindings, (finding, first) =>
        ports.emit({ type: "finding.reported", work, finding, ...first }),
      );
    },
  };
}

function jobVerdict({ work, given, ports }: ReportContext): SessionTool {
  return {
    name: "job_verdict",
    description:
      "Says what you think of the change as a whole. Call it once, when you are done; if you call it several times, the last call counts.",
    parameters: {
      type: "object",
      properties: {
        verdict: { type: "string", enum: verdicts },
        reason: text("Why, in one or two sentences."),
      },
      required: ["verdict", "reason"],
      additionalProperties: false,
    },
    allowed: "always",
    run(value): ToolAnswer {
      const { verdict: word, reason } = isRecord(value) ? value : {};
      const verdict = verdicts.find((one) => one === word);
      if (verdict === undefined)
        return refused(`The "verdict" of job_verdict must be one of: ${verdicts.join(", ")}.`);
      if (typeof reason !== "string" || reason.trim() === "")
        return refused('job_verdict needs a "reason".');
      if (reason.length > longestReason)
        return refused(
          `The reason has ${reason.length} characters, and at most ${longestReason} are allowed. Call job_verdict again with a shorter one.`,
        );
      given.verdict = { verdict, reason };
      ports.emit({ type: "verdict.given", work, verdict: given.verdict });
      return { succeeded: true, text: "Noted." };
    },
  };
}

function jobRemember({ work, ports }: ReportContext, { max }: PlannedMemory): SessionTool {
  let count = 0;
  // Two always fit, so the newest one stays.
  const longest = Math.min(longestNote, Math.floor(max / 2));
  return {
    name: "job_remember",
    description:
      "Keeps a note for later runs of this job. Call it once for each thing that will still be true then.",
    parameters: {
      type: "object",
      properties: { text: text("The note, in a sentence or two.") },
      required: ["text"],
      additionalProperties: false,
    },
    allowed: "always",
    run(value): ToolAnswer {
      const note = isRecord(value) ? value["text"] : undefined;
      if (typeof note !== "string" || note.trim() === "")
        return refused('job_remember needs the note as a "text".');
      const bytes = new TextEncoder().encode(noteEntry(note)).length;
      if (bytes > longest)
        return refused(
          `The note has ${bytes} bytes, and at most ${longest} are allowed. Call job_remember again with a shorter one.`,
        );
      if (count >= mostNotes) return refused(`${mostNotes} are enough: no more are taken.`);
      count += 1;
      ports.emit({ type: "note.added", work, note: note.trim() });
      return { succeeded: true, text: "Noted." };
    },
  };
}

function jobPropose(
  { work, given, ports, proposals = {} }: ReportContext,
  kinds: readonly ProposalKind[],
  checks: OutputChecks,
): SessionTool {
  const list = (description: string): object => ({
    type: "array",
    items: { type: "string" },
    description,
  });
  return {
    name: "job_propose",
    description: `Proposes something that is then done on GitHub, as far as this job allows it. Fields by kind: ${kinds
      .map((kind) => `${kind} (${fieldsOf(kind, proposals)})`)
      .join("; ")}.`,
    parameters: {
      type: "object",
      properties: {
        kind: { type: "string", enum: kinds },
        number: {
          type: "integer",
          minimum: 1,
          description:
            "Of the issue or pull request. Default, and the only one: that of the event.",
        },
        labels: list("The labels to add."),
        title: text("On one line."),
        body: text("In Markdown."),
        branch: text("The name of the branch, without a prefix."),
        reviewers: list("Logins, or org/team."),
        reason: text("Why, in a sentence."),
      },
      required: ["kind"],
      additionalProperties: false,
    },
    allowed: "always",
    async run(value, { signal }) {
      const checked = await checks.proposal(value, proposals, signal);
      const made = (given.proposals ??= new LastRound());
      return handIn(checked, made, given.round, mostProposals, (proposal, first) =>
        ports.emit({ type: "proposal.made", work, proposal, ...first }),
      );
    },
  };
}

function fieldsOf(kind: ProposalKind, { label, reviewers }: ProposalsOutput): string {
  switch (kind) {
    case "comment":
      return "body";
    case "label":
      return `labels, of: ${label?.allowed.join(", ") ?? ""}`;
    case "reviewers":
      return reviewers?.allowed === undefined
        ? "reviewers"
        : `reviewers, of: ${reviewers.allowed.join(", ")}`;
    case "issue":
      return "title, body";
    case "pull_request":
      return "title, body, branch: with what has changed in the working directory";
    case "close":
      return "reason";
  }
}

function handIn<Value>(
  checked: Checked<Value>,
  list: LastRound<Value>,
  round: number | undefined,
  most: number,
  emit: (value: Value, first: { readonly first?: true }) => void,
): ToolAnswer {
  if (checked.kind === "refused") return refused(checked.reason);
  if (list.count(round) >= most) return refused(`${most} are enough: no more are taken.`);
  const replaces = list.add(checked.value, round);
  emit(checked.value, replaces ? { first: true } : {});
  return { succeeded: true, text: "Noted." };
}

function refused(reason: string): ToolAnswer {
  return { succeeded: false, text: reason };
}
