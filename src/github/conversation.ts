/** Reads what earlier runs of a job left on a pull request, and what people with write access did with it. */
import {
  ConversationUnknown,
  type Conversation,
  type PreviousFinding,
  type Origin,
} from "../events/output-shapes.ts";
import { severities } from "../entry/outputs.ts";
import { cleanEventText } from "../text/harmless-text.ts";
import { defined, isText } from "../text/guards.ts";
import { plural } from "../text/numbers.ts";
import { truncate } from "../text/truncate.ts";
import { reasonOf } from "./delivery.ts";
import { GithubFailure, type GithubApi } from "./github-api.ts";
import { readMarkerOf, type Marker, type MarkerKind, type MarkerOwner } from "./markers.ts";
import {
  commentsOf,
  createThreadFacts,
  ownThreads,
  threadsOf,
  type OwnThread,
  type ReviewThread,
  type ThreadComment,
  type ThreadFacts,
} from "./review-threads.ts";

const mostFindings = 100;
/** The latest replies in a thread. */
const mostReplies = 10;
/** Each author costs a request. */
const mostAuthors = 50;
const longestText = 2_000;
/** Characters of all texts together. */
const longestConversation = 60_000;

export interface Conversing extends Omit<MarkerOwner, "leg"> {
  readonly origin: Origin;
}

/** Rejects with a `ConversationUnknown`. */
export async function readConversation(api: GithubApi, about: Conversing): Promise<Conversation> {
  const { number, isPullRequest } = about.origin;
  if (isPullRequest !== true || number === undefined) return { findings: [], round: 0 };
  try {
    return await conversationOf(api, about, number);
  } catch (error) {
    if (!(error instanceof GithubFailure)) throw error;
    const why = reasonOf(error, "`pull-requests: read`");
    throw new ConversationUnknown(`The earlier findings on #${number} can't be read: ${why}`);
  }
}

async function conversationOf(
  api: GithubApi,
  { origin, ...owner }: Conversing,
  number: number,
): Promise<Conversation> {
  const ours: Ours = ({ body, isOurs, isBot }, kind) =>
    // Anybody can write a marker, but only apps that are installed can comment as a bot. Such comments are only read.
    isOurs || isBot ? readMarkerOf(body, kind, { ...owner, leg: origin.leg }) : undefined;
  const threads = ownThreads(await threadsOf(api, number), (first) => ours(first, "finding"));
  const newest = [...threads.values()];
  // Every run updates the report, also one that finds nothing.
  const [report] = (await commentsOf(api, number)).flatMap((one) =>
    // A head that it names as reviewed is not shown again, so only the owner of the token is believed.
    one.isOurs ? (ours(one, "report") ?? []) : [],
  );
  const reviewed = newest.flatMap(({ first, marker }) =>
    first.isOurs ? (marker.reviewed ?? []) : [],
  );
  const lastReviewedHead = report?.reviewed ?? reviewed[0];
  const heads = new Set(
    [report?.reviewed, ...newest.map(({ marker }) => marker.head)].filter(isText),
  );
  const all = newest.toReversed().map((one, index) => ({ ...one, id: `F${index + 1}` }));
  // Open ones are checked again, so they come first, and then the latest.
  const chosen = all
    .toReversed()
    .toSorted((a, b) => Number(a.isResolved) - Number(b.isResolved))
    .slice(0, mostFindings);
  const reading = new Reading(createThreadFacts(api, origin.head), ours);
  const findings: PreviousFinding[] = [];
  for (const one of all) if (chosen.includes(one)) findings.push(await reading.findingOf(one));
  const left = all.length - chosen.length;
  const notes = [
    left === 0 ? "" : `${plural(left, "earlier finding")} of ${all.length} are not listed.`,
    reading.isCut
      ? "Long texts are shortened, and of long conversations only a part is listed."
      : "",
  ].filter((note) => note !== "");
  return {
    findings,
    ...defined({ lastReviewedHead }),
    round: Math.max(heads.size, Number(report?.round ?? 0) || 0),
    ...(notes.length > 0 && { notes }),
  };
}

type Ours = (
  comment: Pick<ThreadComment, "body" | "isOurs" | "isBot">,
  kind: MarkerKind,
) => Marker | undefined;

class Reading {
  readonly #facts: ThreadFacts;
  readonly #ours: Ours;
  readonly #authors = new Set<string>();
  #room = longestConversation;
  isCut = false;

  constructor(facts: ThreadFacts, ours: Ours) {
    this.#facts = facts;
    this.#ours = ours;
  }

  async findingOf(thread: OwnThread & { readonly id: string }): Promise<PreviousFinding> {
    const { id, key, marker, path, line, isResolved, isOutdated, resolvedBy, first } = thread;
    const { rule = "", text: digest } = marker;
    // A thread is outdated if GitHub no longer finds its line, which may also have moved.
    const isGone = isOutdated && digest !== undefined && (await this.#facts.isGone(path, digest));
    const isByPerson = await this.#facts.isClosedByPerson(thread);
    return {
      id,
      key,
      severity: severities.find((one) => one === marker.severity) ?? "warning",
      rule,
      path,
      ...defined({ line, resolvedBy: isResolved ? resolvedBy?.login : undefined }),
      text: this.#fitting(contentOf(first.body)),
      thread: isResolved ? "resolved" : "open",
      ...(isByPerson && { byPerson: true }),
      ...(isOutdated && { outdated: true }),
      ...(isGone && { gone: true }),
      replies: await this.#repliesOf(thread),
    };
  }

  async #repliesOf({ replies }: ReviewThread): Promise<PreviousFinding["replies"]> {
    const found: ThreadComment[] = [];
    const isOwn = (reply: ThreadComment): boolean => this.#ours(reply, "reply") !== undefined;
    for (const reply of replies) {
      const { author, isBot, isOurs } = reply;
      const isPerson = author !== undefined && !isBot && !isOurs;
      if (isOwn(reply) || (isPerson && (await this.#canWrite(author)))) found.push(reply);
    }
    if (found.length > mostReplies) this.isCut = true;
    return found.slice(-mostReplies).map((reply) => ({
      author: reply.author ?? "",
      ...(isOwn(reply)
        ? { text: this.#fitting(contentOf(reply.body)), own: true }
        : { text: this.#fitting(reply.body) }),
    }));
  }

  async #canWrite(author: string): Promise<boolean> {
    if (!this.#authors.has(author) && this.#authors.size >= mostAuthors) {
      this.isCut = true;
      return false;
    }
    this.#authors.add(author);
    return this.#facts.canWrite(author);
  }

  #fitting(given: string): string {
    const limit = Math.min(longestText, this.#room);
    const text = cleanEventText(given).text.trim();
    this.#room -= Math.min(text.length, limit);
    if (text.length > limit) this.isCut = true;
    return truncate(text, limit, "…");
  }
}

/** The text of our comment, without its marker and the line that names the run. */
function contentOf(body: string): string {
  return body
    .replace(/^<!--.*?-->\s*/, "")
    .replace(/\n+<sub>[^\n]*<\/sub>(?=\s*$|\n\n\*\*✓ Resolved\*\*[^\n]*$)/, "");
}
