/** The texts of what an agent proposes: the body of a comment, of an issue or of a pull request. */
import type { Proposal } from "../events/output-shapes.ts";
import { bodyOf, byline, markerLine, maxBody, safeText, type Publisher } from "./comment-parts.ts";
import { safeCell } from "./safe-markdown.ts";

export interface ProposedText extends Publisher {
  readonly task: string;
  /** By which a re-run finds what was written already. */
  readonly key: string;
}

const MAX_REASON = 1_000;

type WithText = Extract<Proposal, { kind: "comment" | "issue" | "pull_request" | "close" }>;

/** Of what is to be closed: the comment that says why. */
export function proposalBody(proposal: WithText, about: ProposedText): string {
  const { kind, reason = "" } = proposal;
  const why = safeCell(reason, { maxLength: MAX_REASON });
  const text = "body" in proposal ? proposal.body : "";
  return bodyOf(markerLine(about, { kind, key: about.key }), [
    safeText(text, maxBody - 10_000, about),
    why === "" ? "" : `**Why:** ${why}`,
    byline(about, about.task),
  ]);
}
