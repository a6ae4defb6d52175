/** An eval as one HTML file in the look of the page. It has no script and refers to nothing. */
import { escapeHtml, findPageFiles } from "../reports/html/page.ts";
import { endLine, heads, notes, rowOf } from "./report-lines.ts";
import { totalName } from "./reports.ts";
import type { EvalSummary, Measured } from "./summary.ts";

/** Beside the style of the page, whose colors and sizes it uses. */
const style = `
main { max-width: var(--page-width); margin: 0 auto; padding: var(--space-5); }
main > * + * { margin-top: var(--space-4); }
.eval-table { width: 100%; border-collapse: collapse; background: var(--surface); border: 1px solid var(--line); }
.eval-table th, .eval-table td { padding: var(--space-2) var(--space-3); border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; vertical-align: top; }
.eval-table thead th { color: var(--muted); font-weight: 500; }
.eval-table th:first-child, .eval-table td:last-child { text-align: left; white-space: normal; }
.eval-bar { display: inline-block; width: 80px; height: 8px; background: var(--fail-soft); border-radius: var(--radius-small); overflow: hidden; }
.eval-bar > span { display: block; height: 100%; background: var(--ok); }
.eval-note { color: var(--fail); }
.eval-muted { color: var(--muted); }
.eval-failure { color: var(--muted); font-size: var(--text-s); font-weight: 400; }
`;

export function evalHtml(summary: EvalSummary): string {
  const { file, description, measured, totals } = summary;
  const page = (findPageFiles()?.style ?? "").replace(/<\/style/gi, "");
  const policy =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
  const head = ["Case", "", ...heads];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${escapeHtml(file)} – agent-jobs eval</title>
<style>
${page}${style}</style>
</head>
<body>
<main>
<h1>${escapeHtml(file)}</h1>
<p class="eval-muted">${escapeHtml(description)}</p>
<p>${escapeHtml(endLine(summary))}</p>
${notes(summary)
  .map((note) => `<p class="eval-note">${escapeHtml(note)}</p>`)
  .join("\n")}
<table class="eval-table">
<thead><tr>${head.map((text) => `<th scope="col">${text}</th>`).join("")}</tr></thead>
<tbody>
${measured.map((one) => row(one.key, one, summary, one.failures)).join("\n")}
</tbody>
<tfoot>
${totals.map((one) => row(totalName(one.key), one, summary, [])).join("\n")}
</tfoot>
</table>
</main>
</body>
</html>
`;
}

function row(
  name: string,
  one: Parameters<typeof rowOf>[0],
  summary: EvalSummary,
  failures: Measured["failures"],
): string {
  const { passed, runs } = one;
  const width = runs === 0 ? 0 : Math.round((passed / runs) * 100);
  const reasons = failures.map(
    ({ text, runs: times }) => `<div class="eval-failure">${times}×: ${escapeHtml(text)}</div>`,
  );
  const cells = rowOf(one, summary).map((cell) => `<td>${escapeHtml(cell)}</td>`);
  const bar = `<td><span class="eval-bar" aria-hidden="true"><span style="width: ${width}%"></span></span></td>`;
  return `<tr><th scope="row">${escapeHtml(name)}${reasons.join("")}</th>${bar}${cells.join("")}</tr>`;
}
