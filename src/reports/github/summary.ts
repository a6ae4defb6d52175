/**
 * The job summary: a fold over the run, as Markdown for GitHub. Owns the order of the sections and the size
 * limit: GitHub drops a whole summary of more than 1 MiB. All text of an agent, a tool or an entry goes through
 * `inline`, `code` or `fenced` (`escape.ts`), or is Markdown made safe.
 */
import type { RunView } from "../../events/view.ts";
import { actionSections } from "./action-sections.ts";
import { decisionSections, finalMessageSection } from "./decisions-section.ts";
import { code, inline } from "./escape.ts";
import { flowSections, isOneFlow } from "./flow-sections.ts";
import { headline } from "./headline.ts";
import { folded, type Section } from "./layout.ts";
import { findingsSection, memorySection, reportSections, verdictText } from "./result-sections.ts";
import {
  chartSection,
  commandsSection,
  denialsSection,
  failuresSection,
  itemsSection,
  omissionsSection,
  worksSection,
} from "./sections.ts";

export interface SummaryOptions {
  readonly summary: "full" | "compact" | "off";
  /** Relative to the workspace, with `/`. */
  readonly entryFile: string;
  /** Mermaid text of the job with how each node ended. */
  readonly chart: (view: RunView) => string;
  readonly journal?: string;
  /** The file whose script played the model. */
  readonly rehearsal?: string;
}

/** In bytes of UTF-8. The rest up to 1 MiB is left for other text of the step. */
const LIMIT = 1_000_000;
/** For the note about what was left out. */
const NOTE = 8_000;

/** Never more than 1 MiB; empty for `off`. */
export function renderSummary(view: RunView, options: SummaryOptions): string {
  if (options.summary === "off") return "";
  const always = [headline(view, options.entryFile), rehearsalNote(view, options.rehearsal)];
  const room = always.reduce((left, text) => left - Buffer.byteLength(text), LIMIT - NOTE);
  const { texts, missing } = fitting(sectionsOf(view, options), room);
  const all = [...always, ...texts, noteOf(missing, options)];
  return `${all.filter((text) => text !== "").join("\n\n")}\n`;
}

function sectionsOf(view: RunView, { summary, chart }: SummaryOptions): readonly Section[] {
  const why = [failuresSection(view), omissionsSection(view)];
  const findings = findingsSection(view);
  if (summary === "compact") return [...why, findings, worksSection(view)];
  const reports = reportSections(view);
  // How it came to what it is about is only a click away; without that, it is what the page is about.
  const hasResults = findings.text !== "" || reports.length > 0 || verdictText(view) !== undefined;
  const below = (section: Section): Section => (hasResults ? folded(section) : section);
  return [
    ...why,
    ...reports,
    findings,
    memorySection(view),
    below(worksSection(view)),
    below(itemsSection(view)),
    ...(isOneFlow(view) ? [] : [chartSection(view, chart, hasResults)]),
    ...flowSections(view),
    ...actionSections(view),
    below(denialsSection(view)),
    below(commandsSection(view)),
    finalMessageSection(view),
    ...decisionSections(view),
  ];
}

/** The most important sections for which there is room, and the names of those that are not there as a whole. */
function fitting(
  sections: readonly Section[],
  limit: number,
): { readonly texts: readonly string[]; readonly missing: readonly string[] } {
  let room = limit;
  const shown = new Set<Section>();
  const missing: string[] = [];
  for (const section of sections.toSorted((a, b) => a.rank - b.rank)) {
    const { name, heading = "", text, isCut = false } = section;
    const size = Buffer.byteLength(text) + Buffer.byteLength(heading) + 4;
    const fits = size <= room;
    if (isCut || !fits) missing.push(name);
    if (!fits || text === "") continue;
    shown.add(section);
    room -= size;
  }
  const headings = new Set<string>();
  const texts = sections.flatMap((section) => {
    if (!shown.has(section)) return [];
    const { heading, text } = section;
    if (heading === undefined || headings.has(heading)) return [text];
    headings.add(heading);
    return [heading, text];
  });
  return { texts, missing };
}

function rehearsalNote({ status, jobOutcome }: RunView, file: string | undefined): string {
  if (file === undefined) return "";
  const asExpected =
    status === "succeeded" && jobOutcome !== undefined && jobOutcome.kind !== "succeeded"
      ? ` The job ${jobOutcome.kind === "failed" ? "failed" : `was ${jobOutcome.kind}`}, as the rehearsal expects: ${inline(jobOutcome.reason, 1000)}`
      : "";
  return `**Rehearsal:** ${code(file, 200)} played the model; no model was asked.${asExpected}`;
}

const MAX_MISSING = 20;

function noteOf(missing: readonly string[], { journal, summary }: SummaryOptions): string {
  const where = journal === undefined ? "" : `The journal with every event: ${code(journal, 300)}.`;
  if (missing.length === 0) {
    if (summary === "compact" || where === "") return "";
    return `<sub>${where}</sub>`;
  }
  const names = missing.slice(0, MAX_MISSING);
  if (names.length < missing.length) names.push(`${missing.length - names.length} more`);
  const unkept = where === "" ? "Set the input <code>journal</code> to keep them." : where;
  return `**Omitted or shortened:** ${names.join(", ")}. ${unkept}`;
}
