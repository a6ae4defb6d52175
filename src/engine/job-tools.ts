/** The job tools with which agents hand something in: reports, results, findings, verdicts, proposals and notes. */
import type { PreparedTask } from "../entry/model.ts";
import {
  proposalKinds,
  severities,
  verdicts,
  type ProposalKind,
  type ProposalsOutput,
} from "../entry/outputs.ts";
import type { EventOf, WorkRef } from "../events/event.ts";
import { noteEntry } from "../events/memory.ts";
import { hasReply, previousFindingOf, type PreviousFinding } from "../events/output-shapes.ts";
import { isRecord, isText } from "../text/guards.ts";
import { handedInOnce } from "./criteria.ts";
import { listOf, type Given } from "./job-data.ts";
import type { GivenEvent } from "./past.ts";
import type { SessionTool, ToolAnswer } from "./ports.ts";
import type { JobContext } from "./task-context.ts";

/** The limits of one run of a task keep the journal small. Delivery has far lower ones. */
const mostFindings = 1_000;
const mostProposals = 100;
const longestReason = 2_000;
/** A longer path or message of a refused finding is not kept. */
const longestShown = 10_000;
const mostNotes = 50;
/** Bytes of UTF-8. */
const longestNote = 2_000;
const longestReport = 256_000;

interface HandingIn extends Pick<JobContext, "spec" | "ports"> {
  readonly task: PreparedTask;
  readonly work: WorkRef;
  readonly given: Given;
}

/** Offers `job_result` to a task with a schema, and the others where prompts or criteria name them: each tool costs the runtime. */
export function jobTools(handing: HandingIn): readonly SessionTool[] {
  const { prompt, system, criteria } = handing.task;
  const texts = JSON.stringify([prompt, system, criteria]);
  const all = [jobReport, jobAnnotate, jobResolve, jobReply, jobVerdict, jobRemember, jobPropose];
  const named = all
    .flatMap((make) => make(handing) ?? [])
    .filter(({ name }) => texts.includes(name));
  const own = [...named, ...(criteria?.result ? [jobResult(handing, criteria.result)] : [])];
  return saysWhatIsLeft(handing, own);
}

/** Models hand in the same again if nobody tells them that it was enough. */
function saysWhatIsLeft({ task, given }: HandingIn, tools: readonly SessionTool[]): SessionTool[] {
  const { prompt, criteria } = task;
  const asked = handedInOnce.filter((name) => prompt[0].includes(name));
  const needed = new Set([...(criteria?.toolExecuted ?? []), ...asked]);
  if (criteria?.result !== undefined) needed.add("job_result");
  const rounds = new Map<string, number>();
  return tools.map((tool) => ({
    ...tool,
    async run(value, call) {
      const answer = await tool.run(value, call);
      if (!answer.succeeded || !handedInOnce.includes(tool.name)) return answer;
      rounds.set(tool.name, given.round);
      const left = [...needed].filter((name) =>
        name === "job_result" ? !rounds.has(name) : rounds.get(name) !== given.round,
      );
      const rest =
        left.length === 0
          ? "Nothing else is needed."
          : `Also call ${left.join(" and ")}, unless you have.`;
      return { ...answer, text: `${answer.text} ${rest}` };
    },
  }));
}

type Arguments = Readonly<Record<string, unknown>>;
/** A text says why nothing was taken. */
type Taken = string | undefined;

function jobTool(
  name: string,
  description: string,
  properties: Readonly<Record<string, object>>,
  required: readonly string[],
  take: (given: Arguments, signal: AbortSignal) => Taken | Promise<Taken>,
): SessionTool {
  return {
    name,
    description,
    parameters: { type: "object", properties, required, additionalProperties: false },
    allowed: "always",
    run: async (value, { signal }) => answerOf(await take(isRecord(value) ? value : {}, signal)),
  };
}

function answerOf(refusal: Taken): ToolAnswer {
  return { succeeded: refusal === undefined, text: refusal ?? "Noted." };
}

function text(description: string): object {
  return { type: "string", description };
}

/** The text that a tool needs in a field, or why it is refused. */
function textIn(
  tool: string,
  field: string,
  value: unknown,
  most: number,
  unit: "bytes" | "characters",
): { readonly text: string } | { readonly refusal: string } {
  if (!isText(value) || value.trim() === "")
    return { refusal: `${tool} needs a text in "${field}".` };
  const length = unit === "bytes" ? new TextEncoder().encode(value).length : value.length;
  if (length <= most) return { text: value };
  const refusal = `"${field}" has ${length} ${unit}, and at most ${most} are allowed. Call ${tool} again with a shorter one.`;
  return { refusal };
}

const lastCounts =
  "Call it once, when you are done; if you call it several times, the last call counts.";

function jobReport(handing: HandingIn): SessionTool {
  return jobTool(
    "job_report",
    `Hands in the report of your task, in Markdown: for people, and for later tasks. ${lastCounts}`,
    { title: text("In one line."), markdown: text("The whole report.") },
    ["markdown"],
    ({ title = "", markdown }) => {
      const report = textIn("job_report", "markdown", markdown, longestReport, "bytes");
      if ("refusal" in report) return report.refusal;
      if (!isText(title)) return 'The "title" of job_report must be a text.';
      const line = title.replaceAll(/\s+/gu, " ").trim();
      const said = { ...(line === "" ? {} : { title: line }), markdown: report.text };
      return handIn(handing, { type: "report.given", work: handing.work, ...said });
    },
  );
}

function jobResult(handing: HandingIn, schema: object): SessionTool {
  const { spec, work } = handing;
  return {
    name: "job_result",
    description: `Hands in the result of your task as data. The arguments are the result. ${lastCounts}`,
    parameters: { ...schema, type: "object" },
    allowed: "always",
    async run(value): Promise<ToolAnswer> {
      const problems = (await spec.resultChecks?.[work.taskId]?.(value)) ?? [];
      const reason = "The result is not what was asked for. Call job_result again.";
      if (problems.length > 0) return answerOf([reason, ...problems].join("\n"));
      return answerOf(handIn(handing, { type: "result.given", work, result: value }));
    },
  };
}

function jobAnnotate(handing: HandingIn): SessionTool | undefined {
  const { spec, work } = handing;
  const { outputChecks: checks, previous = [] } = spec;
  if (checks === undefined) return undefined;
  const sameAs = text(
    "The id of the earlier finding that this one repeats, even if it was worded differently.",
  );
  return jobTool(
    "job_annotate",
    "Reports a finding at a line of a file, for people. Call it once for each finding. Paths are relative to the root of the repository.",
    {
      path: text("The file, relative to the root of the repository."),
      line: { type: "integer", minimum: 1, description: "The first line." },
      endLine: { type: "integer", minimum: 1, description: "The last line. Default: line." },
      severity: { type: "string", enum: severities },
      title: text("In a few words, on one line."),
      message: text("What is wrong and why, in Markdown."),
      suggestion: text("Replaces the lines from line to endLine, whole and with their indents."),
      rule: text("A short name for this kind of finding."),
      ...(previous.length > 0 && { sameAs }),
    },
    ["path", "line", "severity", "message"],
    async (value, signal) => {
      const checked = await checks.finding(value, work.taskId, signal);
      const reason =
        checked.kind === "refused"
          ? checked.reason
          : handInOne(
              handing,
              { type: "finding.reported", work, finding: checked.value },
              mostFindings,
            );
      if (reason === undefined) return undefined;
      const refused = {
        kind: "finding",
        reason,
        severity: severities.find((one) => one === value["severity"]),
        path: shortText(value["path"]),
        message: shortText(value["message"]),
      } as const;
      handInOne(handing, { type: "output.refused", work, refused }, Infinity);
      return reason;
    },
  );
}

function shortText(value: unknown): string | undefined {
  return isText(value) && value.length <= longestShown ? value : undefined;
}

function jobResolve(handing: HandingIn): SessionTool | undefined {
  return aboutPrevious(
    "job_resolve",
    "Closes the thread of an earlier finding that is fixed or was wrong. Other findings stay open.",
    ["reason", "Why, in a sentence."],
    handing,
    (found) => {
      if (found.thread === "resolved") return `${found.id} is resolved already.`;
      return hasReply(found)
        ? `A person has replied to ${found.id}, so the thread is theirs to close. Say what you found with job_reply.`
        : undefined;
    },
    (finding, reason) => ({ type: "finding.resolved", work: handing.work, finding, reason }),
  );
}

function jobReply(handing: HandingIn): SessionTool | undefined {
  return aboutPrevious(
    "job_reply",
    "Answers what people have replied to an earlier finding, in its thread. If you call it several times for a finding, the last call counts.",
    ["message", "In Markdown."],
    handing,
    (found) => {
      if (!hasReply(found)) return `Nobody has replied to ${found.id}.`;
      return found.replies.at(-1)?.own === true
        ? `${found.id} was answered already, and nobody has replied since.`
        : undefined;
    },
    (finding, message) => ({ type: "reply.given", work: handing.work, finding, message }),
  );
}

function aboutPrevious(
  name: string,
  description: string,
  [field, meaning]: readonly [field: string, meaning: string],
  handing: HandingIn,
  refusalOf: (found: PreviousFinding) => Taken,
  eventOf: (key: string, given: string) => EventOf<"finding.resolved" | "reply.given">,
): SessionTool | undefined {
  const { previous = [] } = handing.spec;
  if (previous.length === 0) return undefined;
  const id = { type: "string", enum: previous.map((one) => one.id), description: "Its id." };
  return jobTool(
    name,
    description,
    { finding: id, [field]: text(meaning) },
    ["finding", field],
    ({ finding, [field]: value }) => {
      const named = previousFindingOf(previous, finding);
      if ("refusal" in named) return named.refusal;
      const said = textIn(name, field, value, longestReason, "characters");
      if ("refusal" in said) return said.refusal;
      const { found } = named;
      return refusalOf(found) ?? handInOne(handing, eventOf(found.key, said.text), mostFindings);
    },
  );
}

function jobVerdict(handing: HandingIn): SessionTool {
  const { work } = handing;
  return jobTool(
    "job_verdict",
    `Says what you think of the change as a whole. ${lastCounts}`,
    {
      verdict: { type: "string", enum: verdicts },
      reason: text("Why, in one or two sentences."),
    },
    ["verdict", "reason"],
    ({ verdict: word, reason: value }) => {
      const verdict = verdicts.find((one) => one === word);
      const reason = textIn("job_verdict", "reason", value, longestReason, "characters");
      if (verdict !== undefined && "text" in reason) {
        const given = { verdict, reason: reason.text };
        return handIn(handing, { type: "verdict.given", work, verdict: given });
      }
      const why =
        verdict !== undefined && "refusal" in reason
          ? reason.refusal
          : `The "verdict" of job_verdict must be one of: ${verdicts.join(", ")}.`;
      const refused = { kind: "verdict", verdict, reason: why } as const;
      handIn(handing, { type: "output.refused", work, refused });
      return why;
    },
  );
}

function jobRemember(handing: HandingIn): SessionTool | undefined {
  const { memory } = handing.spec;
  if (memory === undefined) return undefined;
  let count = 0;
  // Two always fit, so the newest one stays.
  const longest = Math.min(longestNote, Math.floor(memory.max / 2));
  return jobTool(
    "job_remember",
    "Keeps a note for later runs of this job. Call it once for each thing that will still be true then.",
    { text: text("The note, in a sentence or two.") },
    ["text"],
    ({ text: value }) => {
      // The bullet and the indents of further lines count.
      const kept = isText(value) && value.trim() !== "" ? noteEntry(value) : value;
      const note = textIn("job_remember", "text", kept, longest, "bytes");
      if ("refusal" in note) return note.refusal;
      if (count >= mostNotes) return enough(mostNotes);
      count += 1;
      return handIn(handing, {
        type: "note.added",
        work: handing.work,
        note: String(value).trim(),
      });
    },
  );
}

function jobPropose(handing: HandingIn): SessionTool | undefined {
  const { spec, work } = handing;
  const { outputChecks: checks, outputs } = spec;
  const proposals = outputs?.proposals ?? {};
  const kinds = proposalKinds.filter((kind) => proposals[kind] !== undefined);
  if (checks === undefined || kinds.length === 0) return undefined;
  const list = (description: string): object => ({
    type: "array",
    items: { type: "string" },
    description,
  });
  const fields = kinds.map((kind) => `${kind} (${fieldsOf(kind, proposals)})`).join("; ");
  return jobTool(
    "job_propose",
    `Proposes something that is then done on GitHub, as far as this job allows it. Fields by kind: ${fields}.`,
    {
      kind: { type: "string", enum: kinds },
      number: {
        type: "integer",
        minimum: 1,
        description: "Of the issue or pull request. Default, and the only one: that of the event.",
      },
      labels: list("The labels to add."),
      title: text("On one line."),
      body: text("In Markdown."),
      branch: text("The name of the branch, without a prefix."),
      reviewers: list("Logins, or org/team."),
      reason: text("Why, in a sentence."),
    },
    ["kind"],
    async (value, signal) => {
      const checked = await checks.proposal(value, proposals, signal);
      if (checked.kind === "refused") return checked.reason;
      const event = { type: "proposal.made", work, proposal: checked.value } as const;
      return handInOne(handing, event, mostProposals);
    },
  );
}

function fieldsOf(kind: ProposalKind, { label, reviewers }: ProposalsOutput): string {
  const changed = "with what has changed in the working directory";
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
      return `title, body, branch: ${changed}`;
    case "push":
      return `title, body (optional): a commit on the branch of the pull request, ${changed}`;
    case "close":
      return "reason";
  }
}

function handIn({ given, ports }: HandingIn, event: GivenEvent): undefined {
  given.add(event);
  ports.emit(event);
}

function handInOne(
  handing: HandingIn,
  event: EventOf<
    "finding.reported" | "finding.resolved" | "reply.given" | "proposal.made" | "output.refused"
  >,
  most: number,
): Taken {
  const { round, events } = handing.given.lastRound(listOf(event));
  const isNew = round !== handing.given.round;
  if (!isNew && events.length >= most) return enough(most);
  return handIn(handing, isNew && round !== undefined ? { ...event, first: true } : event);
}

function enough(most: number): string {
  return `${most} are enough: no more are taken.`;
}
