/** `…/live` hands each response to one caller, once. `…/events` sends all of them to any number of readers. */
import type { ServerResponse } from "node:http";
import type { Hono } from "hono";
import type { Feed } from "./feed.ts";
import type { FeedKind } from "./live-runs.ts";
import { json, refuse, route, type Env, type Served } from "./http.ts";

interface FeedNames {
  readonly notFound: string;
  readonly closed: string;
}

const feedNames = {
  session: { notFound: "SessionNotFound", closed: "SessionClosed" },
  task: { notFound: "TaskNotFound", closed: "TaskClosed" },
  job: { notFound: "JobNotFound", closed: "JobsClosed" },
} as const satisfies Record<string, FeedNames>;

/** `copilot/KIND/{id}/live` and `…/events`, and for jobs `…/journal`: every event of the run. */
export function addFeedRoutes(
  app: Hono<Env>,
  { host: { live } }: Served,
  kind: keyof typeof feedNames,
): void {
  const names = feedNames[kind];
  /** The feeds of which a response is on its way: the call lasts until its caller has it. */
  const sending = new WeakSet<Feed>();
  route(app, `copilot/${kind}/:id/live`, (c) => {
    const feed = live.feed(kind, c.req.param("id"));
    if (feed === undefined) return json({ error: names.notFound });
    if (sending.has(feed)) return json({ error: "ParallelCallNotSupported" });
    return takeLive(feed, names, c.env.outgoing, sending);
  });
  const follow = (name: string, feed: FeedKind): void =>
    route(app, `copilot/${kind}/:id/${name}`, (c) => {
      const lastEventId = c.req.header("Last-Event-ID");
      return followFeed(live.feed(feed, c.req.param("id")), { names, lastEventId });
    });
  follow("events", kind);
  if (kind === "job") follow("journal", "journal");
}

const LIVE_MS = 5_000;
/** A response that its caller doesn't read ends the call. */
const UNREAD_MS = 30_000;

/** The next response. One that does not reach its caller is for the next caller. */
async function takeLive(
  feed: Feed,
  names: FeedNames,
  outgoing: ServerResponse,
  sending: WeakSet<Feed>,
): Promise<Response> {
  const gone = new AbortController();
  let giveBack: (() => void) | undefined;
  let sent = false;
  const { socket } = outgoing;
  // It "finishes" as well when the connection breaks off in the middle of the answer.
  outgoing.once("finish", () => (sent = socket?.destroyed === false));
  outgoing.once("close", () => {
    gone.abort(true);
    if (giveBack === undefined) return;
    sending.delete(feed);
    if (!sent) giveBack();
  });
  if (outgoing.destroyed) gone.abort(true);
  const taken = await feed.take(LIVE_MS, gone.signal);
  if (taken.kind === "response" || taken.kind === "closed") {
    ({ giveBack } = taken);
    sending.add(feed);
    outgoing.setTimeout(UNREAD_MS, () => outgoing.destroy());
  }
  if (taken.kind === "response") {
    const type = "application/json; charset=utf-8";
    return new Response(taken.json, { headers: { "Content-Type": type } });
  }
  const errors = {
    closed: names.closed,
    gone: names.notFound,
    timeout: "HttpRequestTimeout",
    canceled: "HttpRequestTimeout",
    busy: "ParallelCallNotSupported",
  };
  return json({ error: errors[taken.kind] });
}

const HEARTBEAT_MS = 15_000;

interface FollowOptions {
  readonly names: FeedNames;
  /** The value of the header. Absent or empty (proxies may empty it): from the beginning. */
  readonly lastEventId?: string | undefined;
}

export function followFeed(
  feed: Feed | undefined,
  { names, lastEventId = "" }: FollowOptions,
): Response {
  if (feed === undefined) return json({ error: names.notFound });
  if (!/^\d{0,15}$/.test(lastEventId))
    return refuse("BadRequest", "Last-Event-ID must be the id of an event of this stream.");
  const after = Number(lastEventId);
  // The client knows that this was the end. Any other status would make a browser connect again.
  if (feed.closed && after > feed.last) return new Response(null, { status: 204 });
  const gone = new AbortController();
  const events = serverEvents(feed, after, names.closed, gone.signal);
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await events.next();
        if (done !== true) controller.enqueue(new TextEncoder().encode(value));
        else if (!gone.signal.aborted) controller.close();
      },
      cancel: () => gone.abort(true),
    },
    { highWaterMark: 0 },
  );
  return new Response(stream, {
    headers: { "Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no" },
  });
}

async function* serverEvents(feed: Feed, after: number, closed: string, gone: AbortSignal) {
  for await (const items of feed.follow(after, HEARTBEAT_MS, gone))
    // A proxy closes a connection on which nothing moves.
    yield items.map(({ seq, json: data }) => event(seq, data)).join("") || ":\n\n";
  if (!gone.aborted) yield event(feed.last + 1, JSON.stringify({ error: closed }));
}

function event(id: number, data: string): string {
  return `id: ${id}\ndata: ${data}\n\n`;
}
