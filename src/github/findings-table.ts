import type { PhrasingContent } from "mdast";
import type { Finding } from "../events/output-shapes.ts";
import { oneLine } from "../text/harmless-text.ts";
import { plural, unbroken } from "../text/numbers.ts";
import { lineAddress, type LinkTarget } from "../outputs/line-address.ts";
import { safeCell, writtenCell } from "./safe-markdown.ts";

const MAX_MESSAGE = 500;
const MAX_TITLE = 200;
const MAX_NAME = 100;
const MAX_PATH = 300;

export const severitySigns: Readonly<Record<Finding["severity"], string>> = {
  error: "✗",
  warning: "⚠",
  notice: "ℹ",
};

const columns = "| Severity | Place | Rule | Finding |\n| --- | --- | --- | --- |\n";

/** As many of the first rows as fit into `room`; the others, and those `omitted` before, are counted. */
export function findingsTable(
  findings: readonly Finding[],
  {
    target,
    omitted = 0,
    room,
  }: {
    readonly target?: LinkTarget | undefined;
    readonly omitted?: number;
    readonly room: number;
  },
): { readonly text: string; readonly left: number } {
  const rows: string[] = [];
  // For the row that counts the others.
  let free = room - columns.length - 100;
  for (const finding of findings) {
    const row = rowOf(finding, target);
    free -= row.length;
    if (free < 0) break;
    rows.push(row);
  }
  const left = findings.length - rows.length + omitted;
  if (rows.length === 0) return { text: "", left };
  if (left > 0) rows.push(`| | and ${left} more | | |\n`);
  return { text: (columns + rows.join("")).trimEnd(), left };
}

function rowOf(finding: Finding, target: LinkTarget | undefined): string {
  const { severity, title, message, rule } = finding;
  const about = safeCell(message, { maxLength: MAX_MESSAGE, title: title?.slice(0, MAX_TITLE) });
  const sign = unbroken(`${severitySigns[severity]} ${severity}`);
  return `| ${sign} | ${placeText(finding, target)} | ${codeText(rule, MAX_NAME)} | ${about} |\n`;
}

/** `src/index.ts:3-5`, a link if the lines are in the commit that it leads to. */
function placeText(finding: Finding, target?: LinkTarget): string {
  const url = target === undefined ? undefined : lineAddress(finding, target);
  const { path, line, endLine = line } = finding;
  const text = `${oneLine(path, MAX_PATH)}:${line}${endLine > line ? `-${endLine}` : ""}`;
  const place: PhrasingContent = { type: "inlineCode", value: text };
  return writtenCell([url === undefined ? place : { type: "link", url, children: [place] }]);
}

export function codeText(name: string, length: number): string {
  return writtenCell([{ type: "inlineCode", value: oneLine(name, length) || "?" }]);
}

/** `2 errors, 1 warning` */
export function countsText(findings: readonly Finding[]): string {
  return (["error", "warning", "notice"] as const)
    .flatMap((severity) => {
      const count = findings.filter((one) => one.severity === severity).length;
      return count === 0 ? [] : [plural(count, severity)];
    })
    .join(", ");
}
