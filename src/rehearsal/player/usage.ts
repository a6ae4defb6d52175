/** Which parts of a script were used. An unused part is an unmet expectation. */
import type { ModelRequest } from "../../sessions/transport.ts";
import { writtenName } from "../format/activity-name.ts";
import type { Reply, Rule, Turn } from "../format/script.ts";

export interface PlayedRule {
  readonly rule: Rule;
  /** How many sessions it has played, or how often it has begun with its turns. */
  used: number;
  /** Of a rule for an activity: the next turn, by the run of the workflow. */
  readonly next: Map<string, number>;
  /** The turns and replies that were played, by any session. */
  readonly played: Set<Turn | Reply>;
  /** The longest series of requests that got a reply, in any session. */
  readonly given: Map<Reply, number>;
}

/** Whether it plays the prompts of an activity, not whole sessions. */
export function playsActivity({ selectors }: Rule): boolean {
  return selectors.activity !== undefined && !selectors.subAgent;
}

/** The turn for the next prompt or session, by its index; undefined if the rule is used up. */
export function nextTurn(
  { rule, used, next }: Pick<PlayedRule, "rule" | "used" | "next">,
  { label }: ModelRequest,
): number | undefined {
  const turn = next.get(runOf(label)) ?? 0;
  if (turn > 0 && turn < rule.turns.length) return turn;
  return rule.repeat === "any" || used < rule.repeat ? 0 : undefined;
}

/** It plays this turn in a new session, or for a prompt of its activity. */
export function use(played: PlayedRule, turn: number, { label }: ModelRequest): void {
  if (turn === 0) played.used += 1;
  if (playsActivity(played.rule)) played.next.set(runOf(label), turn + 1);
}

function runOf(label: ModelRequest["label"]): string {
  return `${label?.workId} ${label?.iteration}`;
}

export function unusedParts({ rule, used, played, given }: PlayedRule): string[] {
  if (rule.optional) return [];
  const { activity } = rule.selectors;
  const sender = activity === undefined || !playsActivity(rule) ? undefined : writtenName(activity);
  if (used === 0) {
    const what = sender === undefined ? "no session" : `no prompt of ${sender}`;
    return [`${rule.place} was never used: ${what} matched it.`];
  }
  const missing: string[] = [];
  if (rule.repeat !== "any" && used < rule.repeat) {
    missing.push(
      sender === undefined
        ? `${rule.place} was used by ${used} of ${rule.repeat} sessions.`
        : `${rule.place} was played ${used} of ${rule.repeat} times by ${sender}.`,
    );
  }
  for (const turn of rule.turns) {
    for (const text of unusedIn(turn, sender ?? "the session", played, given)) missing.push(text);
  }
  return missing;
}

function unusedIn(
  turn: Turn,
  sender: string,
  played: ReadonlySet<Turn | Reply>,
  given: ReadonlyMap<Reply, number>,
): string[] {
  if (!played.has(turn))
    return [`${turn.place} was never played: ${sender} sent no further prompt.`];
  return turn.replies.flatMap((reply, index) => {
    if (reply.implied === true) return [];
    if (!played.has(reply)) {
      const before = turn.replies[index - 1];
      const ends = before?.kind === "answer" && before.tools.length === 0;
      const hint = ends ? " A reply that calls no tool ends the turn." : "";
      return [`${reply.place} was never sent.${hint}`];
    }
    const { times } = reply;
    const count = given.get(reply) ?? 0;
    return times === undefined || count >= times
      ? []
      : [`${reply.place} was sent ${count} of ${times} times.`];
  });
}
