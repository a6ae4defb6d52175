/** The findings of earlier runs of a job on a pull request, and how people reacted. Read once, before the job. */
import { severities } from "../entry/outputs.ts";
import * as is from "../document/describe.ts";
import type { TypeOf } from "../document/describe.ts";

/** The conversation can't be read here; the message says why. */
export class ConversationUnknown extends Error {}

const conversationReply = is.record({
  author: is.text,
  text: is.text,
  /** An earlier run of the job wrote it. Otherwise, a user with write access did. */
  own: is.optional(is.yes),
});

const previousFinding = is.record({
  /** `F1` is the oldest one. Prompts and tools name findings by it. */
  id: is.text,
  /** The fingerprint in the marker of its comment. */
  key: is.text,
  severity: is.words(...severities),
  rule: is.text,
  path: is.text,
  /** The line of its thread in the head now. Absent: GitHub no longer has such a line. */
  line: is.optional(is.natural),
  text: is.text,
  thread: is.words("open", "resolved"),
  /** A login. */
  resolvedBy: is.optional(is.text),
  /** A person with write access resolved it, so it is dismissed: not this job, another bot, or a user who can only read. */
  byPerson: is.optional(is.yes),
  /** The diff has changed at its line since. */
  outdated: is.optional(is.yes),
  /** The text of its line is no longer in the file. */
  gone: is.optional(is.yes),
  /** The oldest first. */
  replies: is.list(conversationReply),
});
export type PreviousFinding = TypeOf<typeof previousFinding>;

export const conversation = is.record({
  findings: is.list(previousFinding),
  /** The head of the last review. */
  lastReviewedHead: is.optional(is.text),
  /** The number of heads that were reviewed before. */
  round: is.count,
  /** Sentences that say what is left out. */
  notes: is.optional(is.list(is.text)),
});
export type Conversation = TypeOf<typeof conversation>;

export function previousFindingOf(
  findings: readonly PreviousFinding[],
  id: unknown,
): { readonly found: PreviousFinding } | { readonly refusal: string } {
  const found = findings.find((one) => one.id === id);
  if (found !== undefined) return { found };
  const ids = findings.map((one) => one.id).join(", ");
  return {
    refusal: `${JSON.stringify(id)} is not the id of an earlier finding. Use one of: ${ids}.`,
  };
}

/** Whether a finding that is reported again stays closed, because a person closed it. */
export function isDismissed({ thread, byPerson }: PreviousFinding): boolean {
  return thread === "resolved" && byPerson === true;
}

/** Whether a person has written in its thread, which is then theirs to close. */
export function hasReply({ replies }: PreviousFinding): boolean {
  return replies.some(({ own }) => own !== true);
}
