/** The routes of the API, by what they are about, the event streams, and the page. */
import { realpath } from "node:fs/promises";
import { isAbsolute, relative } from "node:path";
import { Readable } from "node:stream";
import type { Hono } from "hono";
import type { ServerResponse } from "node:http";
import type { Feed } from "./feed.ts";
import type { FeedKind } from "./live-runs.ts";
import { DiagnosticsError } from "../document/diagnostic.ts";
import { generateChartNodes } from "../entry/chart.ts";
import { version } from "../generated/version.ts";
import { leaves } from "../platform/search-path.ts";
import { errorMessage } from "../platform/system-error.ts";
import { defined } from "../text/guards.ts";
import { MAX_PAGE } from "../reports/journals.ts";
import { findPageFiles, portalHtml } from "../reports/html/page.ts";
import {
  answer,
  firstLine,
  json,
  readStart,
  refuse,
  route,
  type Env,
  type Served,
} from "./http.ts";
import type { JobHost } from "./job-host.ts";
import type { JobState } from "./live-job.ts";
import { formerPages } from "./security.ts";
import type { SessionState } from "./session-feeds.ts";

export function addJobRoutes(app: Hono<Env>, served: Served): void {
  const { live } = served.host;

  route(app, "copilot/job", () => {
    const { grid = [], jobs = {}, inputs } = live.entry ?? {};
    // A job may have the name of a field that every object has.
    const chart = Object.fromEntries(
      Object.entries(jobs).map(([name, { work }]) => [name, generateChartNodes(work)]),
    );
    const { workflows } = live;
    return json({ grid, jobs, chart, workflows: unlessEmpty(workflows), inputs });
  });

  route(app, "copilot/job/running", () => json({ jobs: live.jobs.map(summaryOf) }));

  // For the page: what the documented answers leave out.
  route(app, "copilot/job/recent", () =>
    json({
      jobs: live.jobs.map((job) => {
        const { workingDirectory, userInput, tasks } = job;
        return {
          ...summaryOf(job),
          endTime: dateOf(job.endTime),
          workingDirectory,
          userInput,
          params: unlessEmpty(job.params),
          inputs: unlessEmpty(job.inputs),
          tasks,
          questions: questionsOf(job),
        };
      }),
    }),
  );

  route(app, "copilot/job/start/:name", async (c) => {
    const start = readStart(c.var.body);
    if (start instanceof Response) return start;
    const { userInput, workingDirectory, params, inputs } = start;
    const name = c.req.param("name");
    return answer(await live.startJob(name, userInput, workingDirectory, params, inputs));
  });

  route(app, "copilot/job/:id/status", (c) => {
    const job = live.job(c.req.param("id"));
    if (job === undefined) return json({ error: "JobNotFound" });
    return json({ ...summaryOf(job), tasks: job.tasks, questions: questionsOf(job) });
  });

  route(app, "copilot/job/:id/stop", (c) =>
    answer(live.stopJob(c.req.param("id")), { result: "Closed" }),
  );

  // The question is in the query: the whole body is the answer, whatever its lines are.
  app.get("/api/copilot/job/:id/answer", () =>
    refuse("MethodNotAllowed", "Use POST, with the answer as the body.", { Allow: "POST" }),
  );
  app.post("/api/copilot/job/:id/answer", (c) =>
    answer(live.answer(c.req.param("id"), c.var.body, c.req.query("question"))),
  );

  addFeedRoutes(app, served, "job");
}

/** Absent if no question waits. */
function questionsOf({ questions }: JobState): readonly object[] | undefined {
  if (questions.length === 0) return undefined;
  return questions.map((one) => ({ ...one, since: dateOf(one.since) }));
}

function summaryOf({ jobId, jobName, startTime, status }: JobState): object {
  return { jobId, jobName, startTime: dateOf(startTime), status };
}

function dateOf(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}

function unlessEmpty(values: object): object | undefined {
  return Object.keys(values).length === 0 ? undefined : values;
}

export function addSessionRoutes(app: Hono<Env>, served: Served): void {
  const { live } = served.host;

  route(app, "copilot/models", async () => json({ models: await live.listModels() }));

  // The id of a model may contain a slash.
  route(app, "copilot/session/start/:modelId{.+}", async (c) => {
    const { first: folder } = firstLine(c.var.body);
    return answer(await live.startSession(c.req.param("modelId"), folder));
  });

  route(app, "copilot/session/:id/stop", async (c) =>
    answer(await live.stopSession(c.req.param("id")), { result: "Closed" }),
  );

  route(app, "copilot/session/:id/query", (c) => answer(live.query(c.req.param("id"), c.var.body)));

  // For the page: what the documented answers and the feeds leave out.
  route(app, "copilot/session/recent", () => json({ sessions: live.sessions.map(recentOf) }));

  addFeedRoutes(app, served, "session");
}

function recentOf({ startTime, endTime, asked, ...session }: SessionState): object {
  return {
    ...session,
    startTime: dateOf(startTime),
    endTime: dateOf(endTime),
    prompts: asked.flatMap(({ kind, ...item }) => (kind === "prompt" ? item : [])),
    tasks: asked.flatMap(({ kind, ...item }) => (kind === "task" ? item : [])),
  };
}

export function addTaskRoutes(app: Hono<Env>, served: Served): void {
  const { host, entriesFolder } = served;
  const { live } = host;

  route(app, "copilot/test/installJobsEntry", async (c) => {
    if (entriesFolder === undefined)
      return refuse("NotFound", "Entries can be installed only if the server runs with --test.");
    return json(await installEntry(host, firstLine(c.var.body).first, entriesFolder));
  });

  route(app, "copilot/task", () => {
    const tasks = Object.entries(live.entry?.tasks ?? {});
    return json({
      tasks: tasks.map(([name, { requireUserInput }]) => ({ name, requireUserInput })),
    });
  });

  route(app, "copilot/task/start/:name/session/:id", (c) => {
    const { name, id } = c.req.param();
    return answer(live.startTask(name, c.var.body, id));
  });

  route(app, "copilot/task/:id/stop", (c) =>
    answer(live.stopTask(c.req.param("id")), { result: "Closed" }),
  );

  addFeedRoutes(app, served, "task");
}

type Installed =
  | { readonly result: "OK" }
  | { readonly result: "InvalidatePath" | "InvalidateEntry" | "Rejected"; readonly error: string };

/** A client gives the server another entry, from a file of the folder. `path`: as it sent it. */
async function installEntry(host: JobHost, path: string, folder: string): Promise<Installed> {
  const file = await fileIn(folder, path);
  if (file === undefined) {
    const error = "The path must be the absolute path of a file in the folder of --entries-dir.";
    return { result: "InvalidatePath", error };
  }
  try {
    await host.installEntryFile(file, { checkModels: true });
    return { result: "OK" };
  } catch (error) {
    const result = error instanceof DiagnosticsError ? "InvalidateEntry" : "Rejected";
    return { result, error: errorMessage(error) };
  }
}

/** The file without links, if it is in the folder. */
async function fileIn(folder: string, path: string): Promise<string | undefined> {
  if (!isAbsolute(path) || path.split(/[/\\]/).includes("..")) return undefined;
  try {
    const [root, file] = await Promise.all([realpath(folder), realpath(path)]);
    const inside = relative(root, file);
    return inside === "" || leaves(inside) ? undefined : file;
  } catch {
    return undefined;
  }
}

export function addPage(app: Hono<Env>, { journals, rehearsal }: Served): void {
  const files = findPageFiles();
  const html = portalHtml({
    version,
    journals: journals !== undefined,
    rehearsal,
  });
  const pages = [
    ["/", "text/html", files && html],
    ["/page.js", "text/javascript", files?.script],
    ["/page.css", "text/css", files?.style],
  ] as const;
  const add = (path: string, answer: (asked: URL) => Response): void => {
    app.get(path, (c) => answer(new URL(c.req.url)));
    app.all(path, (c) =>
      refuse("MethodNotAllowed", `Use GET, not ${c.req.method}.`, { Allow: "GET, HEAD" }),
    );
  };
  for (const [path, type, text] of pages)
    add(path, () =>
      text === undefined
        ? refuse("NotFound", "The page is not part of this installation. The API is at /api/.")
        : new Response(text, { headers: { "Content-Type": `${type}; charset=utf-8` } }),
    );
  // Relative, so that a proxy may put the server anywhere.
  for (const path of formerPages)
    add(path, ({ search, searchParams }) => {
      const jobId = searchParams.get("jobId");
      const place = jobId ? `#/run/${encodeURIComponent(jobId)}` : search;
      return new Response(null, { status: 302, headers: { Location: `./${place}` } });
    });

  route(app, "copilot/journal", async (c) => {
    const { limit: asked = "100", after, run } = c.req.query();
    const limit = Number(asked);
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE)
      return refuse("BadRequest", `limit must be from 1 to ${MAX_PAGE}.`);
    try {
      const page = await journals?.list(defined({ limit, after, run }));
      return json(page ?? { journals: [], total: 0 });
    } catch (error) {
      return refuse("NotFound", `Can't read the folder of --journals: ${errorMessage(error)}.`);
    }
  });

  route(app, "copilot/journal/:name", async (c) => {
    const name = c.req.param("name");
    const events = await journals?.read(name);
    if (events === undefined)
      return refuse("NotFound", `There is no journal ${JSON.stringify(name)}.`);
    return new Response(Readable.toWeb(Readable.from(events)), {
      headers: { "Content-Type": "application/x-ndjson; charset=utf-8" },
    });
  });
}

/* `…/live` hands each response to one caller, once. `…/events` sends all of them to any number of readers. */

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
function addFeedRoutes(
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

/** A stream without events sends a comment this often. */
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
