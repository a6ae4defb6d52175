import type { Origin } from "../events/output-shapes.ts";
import { defined } from "../text/guards.ts";
import { truncate } from "../text/truncate.ts";
import { codeText } from "./findings-table.ts";
import { withoutInstructions } from "../text/harmless-text.ts";
import { blobs } from "../outputs/line-address.ts";
import { markerOf, type Marker } from "./markers.ts";
import { safeMarkdown, writtenCell } from "./safe-markdown.ts";

/** GitHub's limit, in characters. */
export const maxBody = 65_536;

export interface Publisher {
  readonly job: string;
  /** As the marker names it: the path of the entry. */
  readonly entry: string;
  readonly origin: Origin;
}

export function markerLine(
  { job, entry, origin }: Publisher,
  rest: Omit<Marker, "job" | "entry" | "leg" | "head">,
): string {
  const { leg, head } = origin;
  return markerOf({ job, entry, ...defined({ leg }), head, ...rest });
}

/** Paragraphs that have something in them, after the marker. */
export function bodyOf(marker: string, parts: readonly string[]): string {
  return withoutInstructions([marker, ...parts.filter((part) => part !== "")].join("\n\n"));
}

export function runLink(
  { server, repository, workflowRun, attempt }: Origin,
  text: string,
): string {
  const url = `${server}/${repository}/actions/runs/${encodeURIComponent(workflowRun)}/attempts/${attempt}`;
  return writtenCell([{ type: "link", url, children: [{ type: "text", value: text }] }]);
}

/** With links to files of the repository. */
export function safeText(text: string, maxLength: number, { origin }: Publisher): string {
  const options = { maxLength, allowedLinks: [blobs(origin)], lowered: 3 };
  const { text: safe, whole } = safeMarkdown(text, options);
  return whole ? safe : `${safe}\n\n${rest(origin)}`;
}

export function rest(origin: Origin): string {
  return `_This is too long for GitHub. The rest is in the ${runLink(origin, "job summary")}._`;
}

const MAX_NAME = 100;

export function byline({ job, origin }: Publisher, task: string): string {
  return `<sub>Proposed by job ${codeText(job, MAX_NAME)}, task ${codeText(truncate(task, MAX_NAME, "…"), MAX_NAME)} · ${runLink(origin, "run")}</sub>`;
}
