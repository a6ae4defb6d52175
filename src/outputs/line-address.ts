import { truncate } from "../text/truncate.ts";
import type { Finding, Origin } from "../events/output-shapes.ts";

export type LinkTarget = Pick<Origin, "server" | "repository" | "head" | "isPullRequest">;

/** The lines in the head of the change; undefined if they are not there. */
export function headLines(
  { line, endLine = line, headLine }: Finding,
  { isPullRequest }: Pick<Origin, "isPullRequest">,
): { readonly from: number; readonly to: number } | undefined {
  // If there is no change, the agent saw the head.
  const from = headLine ?? (isPullRequest === true ? undefined : line);
  return from === undefined ? undefined : { from, to: from + Math.max(0, endLine - line) };
}

/** Returns the address of a line on GitHub, or undefined if it isn't there, or if a journal names an invalid target. */
export function lineAddress(finding: Finding, target: LinkTarget): string | undefined {
  if (!isTarget(target)) return undefined;
  const lines = headLines(finding, target);
  const parts = finding.path.split("/");
  if (lines === undefined || parts.some((part) => part === "" || /^\.{1,2}$/.test(part)))
    return undefined;
  const path = truncate(finding.path.replace(/\p{Cs}/gu, "\uFFFD"), 1_000)
    .split("/")
    .map((part) => encodeURIComponent(part))
    .join("/");
  const { from, to } = lines;
  // GitHub shows the lines of a page only on request.
  const plain = /\.(?:md|markdown|mdx|rst|adoc)$/i.test(path) ? "?plain=1" : "";
  return `${blobs(target)}${target.head}/${path}${plain}#L${from}${to > from ? `-L${to}` : ""}`;
}

function isTarget({ server, repository, head }: LinkTarget): boolean {
  return (
    /^https?:\/\/[\w.:-]+$/.test(server) &&
    /^[\w.-]+\/[\w.-]+$/.test(repository) &&
    /^[0-9a-f]{40,64}$/.test(head)
  );
}

export function blobs({ server, repository }: Pick<Origin, "server" | "repository">): string {
  return `${server}/${repository}/blob/`;
}
