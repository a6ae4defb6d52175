/**
 * A report: one HTML file without any reference to another. Nothing of a journal is in it but as escaped text, as JSON
 * without `<`, or in base64. The only script that may run is the page's own: the policy names its hash.
 */
import { createHash } from "node:crypto";
import type { ReportBoot, ReportRun } from "./boot.ts";
import { escapeHtml, pageParts, policyAndStyle, type PageFiles } from "./page.ts";

const MAX_RUNS = 1000;

/** The file in parts. `events`: gzip of the events as NDJSON, in order. */
export function reportHtml(
  boot: ReportBoot,
  events: readonly Uint8Array[],
  page: PageFiles,
): Iterable<string> {
  const script = inlineScript(page.script);
  const hash = createHash("sha256").update(script).digest("base64");
  return pageParts({
    title: titleOf(boot.runs),
    head: policyAndStyle(`script-src 'sha256-${hash}'`, page.style),
    boot,
    plain: `\n${plainReport(boot)}\n`,
    data: dataAndScript(events, script),
  });
}

function* dataAndScript(events: readonly Uint8Array[], script: string): Iterable<string> {
  yield `<script type="application/octet-stream" id="events">`;
  yield* base64(events);
  yield `</script>\n<script type="module">${script}</script>\n`;
}

function titleOf(runs: readonly ReportRun[]): string {
  const [first] = runs;
  if (first === undefined) return "agent-jobs report";
  return runs.length === 1
    ? `${first.jobName}: ${endOf(first)} – agent-jobs report`
    : `${runs.length} runs – agent-jobs report`;
}

function endOf({ status, rehearsed }: ReportRun): string {
  return rehearsed === true ? `${status} (rehearsal)` : status;
}

/**
 * A parser of HTML changes line ends, and the hash is of what it reads. After `<!--`, a `<script` in a string would
 * hide the end of this script; a bundler writes both only inside of texts and patterns.
 */
function inlineScript(script: string): string {
  const text = script.replace(/\r\n?/g, "\n").replaceAll("<!--", "\\x3c!--");
  if (/<\/script/i.test(text))
    throw new Error("The script of the page contains the end of a script.");
  return text;
}

/** In parts of whole groups, so that all of them together are one text. */
function* base64(parts: readonly Uint8Array[]): Iterable<string> {
  let rest: Uint8Array = new Uint8Array();
  for (const part of parts) {
    const bytes = Buffer.concat([rest, part]);
    const whole = bytes.length - (bytes.length % 3);
    yield bytes.toString("base64", 0, whole);
    rest = bytes.subarray(whole);
  }
  yield Buffer.from(rest).toString("base64");
}

function plainReport({ runs, createdAt, version }: ReportBoot): string {
  const items = runs.slice(0, MAX_RUNS).map((run) => {
    const { jobName, startTime = "", reason = "" } = run;
    return `<li>${escapeHtml(`${jobName} ${endOf(run)} ${startTime} ${reason}`)}</li>`;
  });
  return `<p>This page needs JavaScript to show more than this list. Created ${escapeHtml(createdAt)} by agent-jobs ${escapeHtml(version)}.</p>\n<ul>\n${items.join("\n")}\n</ul>`;
}
