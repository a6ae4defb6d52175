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
  type ThreadComment,
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
  // Anybody can write a marker, but only apps that are installed can comment as a bot. Such comments are only read.
  const ours = ({ body, isOurs, isBot }: ThreadComment, kind: MarkerKind): Marker | undefined =>
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
  const all = newest.toReversed().map((thread, index) => ({ thread, id: `F${index + 1}` }));
  // Open ones are checked again, so they come first, and then the latest.
  const chosen = all
    .toReversed()
    .toSorted((a, b) => Number(a.thread.isResolved) - Number(b.thread.isResolved))
    .slice(0, mostFindings);

  const facts = createThreadFacts(api, origin.head);
  const authors = new Set<string>();
  let room = longestConversation;
  let isCut = false;
  const fitting = (given: string): string => {
    const limit = Math.min(longestText, room);
    const text = cleanEventText(given).text.trim();
    room -= Math.min(text.length, limit);
    isCut ||= text.length > limit;
    return truncate(text, limit, "…");
  };
  const canWrite = async (author: string): Promise<boolean> => {
    const isLeftOut = !authors.has(author) && authors.size >= mostAuthors;
    isCut ||= isLeftOut;
    if (isLeftOut) return false;
    authors.add(author);
    return facts.canWrite(author);
  };
  const repliesOf = async ({ replies }: OwnThread): Promise<PreviousFinding["replies"]> => {
    const found: { readonly reply: ThreadComment; readonly isOwn: boolean }[] = [];
    for (const reply of replies) {
      const { author, isBot, isOurs } = reply;
      const isOwn = ours(reply, "reply") !== undefined;
      const isPerson = author !== undefined && !isBot && !isOurs;
      if (isOwn || (isPerson && (await canWrite(author)))) found.push({ reply, isOwn });
    }
    isCut ||= found.length > mostReplies;
    return found.slice(-mostReplies).map(({ reply: { author = "", body }, isOwn }) => ({
      author,
      text: fitting(isOwn ? contentOf(body) : body),
      ...(isOwn && { own: true }),
    }));
  };

  const findings: PreviousFinding[] = [];
  for (const one of all.filter((found) => chosen.includes(found))) {
    const { id, thread } = one;
    const { key, marker, path, line, isResolved, isOutdated, resolvedBy, first } = thread;
    const { rule = "", text: digest } = marker;
    // A thread is outdated if GitHub no longer finds its line, which may also have moved.
    const isGone = isOutdated && digest !== undefined && (await facts.isGone(path, digest));
    const isByPerson = await facts.isClosedByPerson(thread);
    findings.push({
      id,
      key,
      severity: severities.find((severity) => severity === marker.severity) ?? "warning",
      rule,
      path,
      ...defined({ line, resolvedBy: isResolved ? resolvedBy?.login : undefined }),
      text: fitting(contentOf(first.body)),
      thread: isResolved ? "resolved" : "open",
      ...(isByPerson && { byPerson: true }),
      ...(isOutdated && { outdated: true }),
      ...(isGone && { gone: true }),
      replies: await repliesOf(thread),
    });
  }
  const left = all.length - chosen.length;
  const notes = [
    ...(left === 0 ? [] : [`${plural(left, "earlier finding")} of ${all.length} are not listed.`]),
    ...(isCut
      ? ["Long texts are shortened, and of long conversations only a part is listed."]
      : []),
  ];
  return {
    findings,
    ...defined({ lastReviewedHead }),
    round: Math.max(heads.size, Number(report?.round ?? 0) || 0),
    ...(notes.length > 0 && { notes }),
  };
}

/** The text of our comment, without its marker and the line that names the run. */
function contentOf(body: string): string {
  return body
    .replace(/^<!--.*?-->\s*/, "")
    .replace(/\n+<sub>[^\n]*<\/sub>(?=\s*$|\n\n\*\*✓ Resolved\*\*[^\n]*$)/, "");
}
