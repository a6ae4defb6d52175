/**
 * The job summary: a fold over the run, as Markdown for GitHub. Owns the order of the sections and the size
 * limit: GitHub drops a whole summary of more than 1 MiB. `sections.ts` renders the sections, and `escape.ts`
 * escapes foreign text.
 */
import type { RunView } from "../../events/view.ts";
import { reportSections } from "./report-section.ts";
import { actionSections } from "./action-sections.ts";
import { code, inline } from "./escape.ts";
import { flowSections, isOneFlow } from "./flow-sections.ts";
import { findingsSection, verdictText } from "./findings-section.ts";
import { folded, type Section } from "./section.ts";
import {
  chartSection,
  commandsSection,
  denialsSection,
  failuresSection,
  headline,
  omissionsSection,
  itemsSection,
  worksSection,
} from "./sections.ts";
import { memorySection } from "./memory-section.ts";
import { decisionSections, finalMessageSection } from "./decisions-section.ts";

export interface SummaryOptions {
  readonly summary: "full" | "compact" | "off";
  /** Relative to the workspace, with `/`. */
  readonly entryFile: string;
  /** Mermaid text of the job with how each node ended. */
  readonly chart: (view: RunView) => string;
  /** The path to show. */
  readonly journal?: string;
  /** The file whose script played the model. */
  readonly rehearsal?: string;
}

/** In bytes of UTF-8. The rest up to 1 MiB is left for other text of the step. */
const LIMIT = 1_000_000;
/** For headings, and for the note about what was left out. */
const NOTE = 8_000;

/** Never more than 1 MiB; empty for `off`. */
export function renderSummary(view: RunView, options: SummaryOptions): string {
  if (options.summary === "off") return "";
  const always = [headline(view, options.entryFile), rehearsalNote(view, options.rehearsal)]
    .filter((text) => text !== "")
    .join("\n\n");
  const why = [failuresSection(view), omissionsSection(view)];
  const findings = findingsSection(view);
  const reports = reportSections(view);
  // How it came to what it is about is only a click away; without that, it is what the page is about.
  const hasResults = !findings.empty || reports.length > 0 || verdictText(view) !== undefined;
  const below = (section: Section): Section => (hasResults ? folded(section) : section);
  const sections =
    options.summary === "compact"
      ? [...why, findings, worksSection(view)]
      : [
          ...why,
          ...reports,
          findings,
          memorySection(view),
          below(worksSection(view)),
          below(itemsSection(view)),
          ...(isOneFlow(view) ? [] : [chartSection(view, options.chart, hasResults)]),
          ...flowSections(view),
          ...actionSections(view),
          below(denialsSection(view)),
          below(commandsSection(view)),
          finalMessageSection(view),
          ...decisionSections(view),
        ];
  const { texts, missing } = fitted(sections, LIMIT - NOTE - bytes(always));
  const note = noteOf(missing, options);
  return `${[always, ...texts, note].filter((text) => text !== "").join("\n\n")}\n`;
}

/**
 * The most important sections in full, the first that has no room shortened, nothing of the others that
 * matter less. In the order of the page.
 */
function fitted(
  sections: readonly Section[],
  limit: number,
): { readonly texts: readonly string[]; readonly missing: readonly string[] } {
  let room = limit;
  const missing = new Set<Section>();
  const chosen = new Map<Section, string>();
  for (const section of sections.toSorted((a, b) => a.rank - b.rank)) {
    if (room > 0) {
      const { text, whole } = section.render(room - 2);
      if (!whole) {
        missing.add(section);
        room = section.optional === true ? room : 0;
      }
      if (text === "") continue;
      chosen.set(section, text);
      room -= bytes(text) + 2;
    } else if (!section.empty) missing.add(section);
  }
  const headings = new Set<string>();
  const texts = sections.flatMap((section) => {
    const text = chosen.get(section);
    if (text === undefined) return [];
    const { heading } = section;
    if (heading === undefined || headings.has(heading)) return [text];
    headings.add(heading);
    return [heading, text];
  });
  // The folds are many: what there is one of is named first.
  const names = [...missing].sort(
    (a, b) => Number(a.heading !== undefined) - Number(b.heading !== undefined),
  );
  return { texts, missing: names.map(({ name }) => name) };
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

function bytes(text: string): number {
  return Buffer.byteLength(text);
}
