/** Which parts of a script were used. An unused part is an unmet expectation. */
import type { Reply, Rule, Turn } from "../format/script.ts";

/** A rule with an account of its use. */
export interface PlayedRule {
  readonly rule: Rule;
  /** How many sessions it has played. */
  used: number;
  /** The turns and replies that were played, by any session. */
  readonly played: Set<Turn | Reply>;
  /** The longest series of requests that got a reply, in any session. */
  readonly given: Map<Reply, number>;
}

export function unusedParts({ rule, used, played, given }: PlayedRule): string[] {
  if (rule.optional) return [];
  if (used === 0) return [`${rule.place} was never used: no session matched it.`];
  const missing: string[] = [];
  if (rule.repeat !== "any" && used < rule.repeat) {
    missing.push(`${rule.place} was used by ${used} of ${rule.repeat} sessions.`);
  }
  for (const turn of rule.turns) missing.push(...unusedIn(turn, played, given));
  return missing;
}

function unusedIn(
  turn: Turn,
  played: ReadonlySet<Turn | Reply>,
  given: ReadonlyMap<Reply, number>,
): string[] {
  if (!played.has(turn))
    return [`${turn.place} was never played: the session sent no further prompt.`];
  return turn.replies.flatMap((reply, index) => {
    if (reply.implied) return [];
    if (!played.has(reply)) {
      const before = turn.replies[index - 1]?.play;
      const hint =
        before?.kind === "answer" && before.tools.length === 0
          ? " A reply that calls no tool ends the turn."
          : "";
      return [`${reply.place} was never sent.${hint}`];
    }
    const { play } = reply;
    const times = play.kind === "error" || play.kind === "cut" ? play.times : undefined;
    const count = given.get(reply) ?? 0;
    return times === undefined || count >= times
      ? []
      : [`${reply.place} was sent ${count} of ${times} times.`];
  });
}
