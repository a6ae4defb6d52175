/** Readers of feeds over HTTP: complete responses, hang-ups, slow readers, reconnections. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { Feed } from "../../src/host/feed.ts";
import type { FeedItem } from "../../src/host/feed.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { followFeed } from "../../src/host/routes.ts";
import { makeLive } from "./live-rig.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { until } from "../sessions/rig.ts";
import { ask, isRefused, serve, smallEntry, waitingCall, type TestServer } from "./http-rig.ts";

/** A server with a job whose task waits for a model that answers after a minute. */
async function serveSlowJob(
  t: TestContext,
  clock: Clock = systemClock,
): Promise<TestServer & { readonly jobId: string }> {
  const sessions = [{ turns: [{ replies: [{ delay: 60_000, text: "Done." }] }] }];
  const { host, folder } = await makeLive(t, smallEntry, sessions, { clock });
  const server = await serve(t, { host });
  const started = await server.api("copilot/job/start/hello", folder);
  assert.ok(typeof started === "object" && started !== null && "jobId" in started);
  return { ...server, jobId: String(started.jobId) };
}

const names = { notFound: "JobNotFound", closed: "JobsClosed" };

describe("live", () => {
  it("waits five seconds for a response", async (t) => {
    const waits: number[] = [];
    const clock: Clock = {
      now: () => systemClock.now(),
      sleep(milliseconds, signal) {
        waits.push(milliseconds);
        return systemClock.sleep(milliseconds === 5_000 ? 1 : milliseconds, signal);
      },
    };
    const { api, jobId } = await serveSlowJob(t, clock);
    const live = `copilot/job/${jobId}/live`;
    assert.deepEqual(Object(await api(live)).callback, "workStarted");
    assert.ok(!waits.includes(5_000));
    assert.deepEqual(await api(live), { error: "HttpRequestTimeout" });
    assert.ok(waits.includes(5_000));
  });

  it("gives the place and the response of a caller that hangs up to the next one", async (t) => {
    const server = await serveSlowJob(t);
    const { api, jobId, port } = server;
    const live = `copilot/job/${jobId}/live`;
    assert.deepEqual(Object(await api(live)).callback, "workStarted");
    const hangUp = new AbortController();
    const { answer: gone } = await waitingCall(() =>
      ask(port, `/api/${live}`, { signal: hangUp.signal }),
    );
    hangUp.abort();
    await assert.rejects(gone);
    const answers: unknown[] = [];
    await until(async () => {
      const stopped = answers.length === 0 ? api(`copilot/job/${jobId}/stop`) : undefined;
      const answer: unknown = await api(live);
      await stopped;
      if (Object(answer).error === "ParallelCallNotSupported") return false;
      answers.push(answer);
      return Object(answer).error === "JobsClosed";
    }, "the feed ends");
    assert.deepEqual(answers, [
      { callback: "workStopped", workId: 0, succeeded: false },
      { callback: "jobCanceled" },
      { error: "JobsClosed" },
    ]);
    assert.deepEqual(await api(live), { error: "JobNotFound" });
  });

  it("gives the response that a caller could not be sent to the next one", async (t) => {
    const { api, host, jobId, port } = await serveSlowJob(t);
    const live = `copilot/job/${jobId}/live`;
    assert.deepEqual(Object(await api(live)).callback, "workStarted");
    // More than the buffers of a connection hold.
    const large = "x".repeat(32 * 1024 * 1024);
    const feed = host.live.feed("job", jobId);
    feed?.append({ large });
    const socket = connect(port, "127.0.0.1").pause();
    socket.write(`GET /api/${live} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    await until(async () => {
      const taken = await feed?.take(0);
      if (taken?.kind === "response") taken.giveBack();
      return taken?.kind === "timeout";
    }, "the response was taken");
    feed?.append({ next: true });
    // Otherwise this caller would get the next response, and nobody the one before.
    assert.deepEqual(await api(live), { error: "ParallelCallNotSupported" });
    socket.destroy();
    let answer: unknown;
    await until(async () => {
      answer = await api(live);
      return Object(answer).error !== "ParallelCallNotSupported";
    }, "the place is free");
    assert.equal(Object(answer).large, large);
    assert.deepEqual(await api(live), { next: true });
  });
});

describe("server-sent events", () => {
  it("are read from the feed only as fast as the client reads", async () => {
    class CountedFeed extends Feed {
      reads = 0;

      override read(after: number, most?: number): readonly FeedItem[] {
        this.reads += 1;
        return super.read(after, most);
      }
    }
    const feed = new CountedFeed({ clock: systemClock });
    for (let n = 0; n < 2_000; n += 1) feed.append({ n });
    feed.close();
    const { body } = followFeed(feed, { names });
    assert.ok(body !== null);
    await systemClock.sleep(0);
    assert.equal(feed.reads, 0);
    const reader = body.getReader();
    await reader.read();
    assert.equal(feed.reads, 1);
    await reader.read();
    assert.equal(feed.reads, 2);
    await reader.cancel();
    assert.equal(feed.reads, 2);
  });

  it("send a comment every 15 seconds while nothing happens", async () => {
    const clock = new FakeClock();
    const feed = new Feed({ clock });
    const { body } = followFeed(feed, { names });
    assert.ok(body !== null);
    const reader = body.getReader();
    const next = async (): Promise<string> =>
      new TextDecoder().decode((await clock.runUntil(reader.read())).value);
    assert.equal(await next(), ":\n\n");
    assert.equal(await next(), ":\n\n");
    assert.equal(clock.now(), 30_000);
    const waiting = reader.read();
    await systemClock.sleep(0);
    feed.append({ a: 1 });
    const sent = new TextDecoder().decode((await waiting).value);
    assert.equal(sent, `id: 1\ndata: {"a":1}\n\n`);
    assert.equal(clock.waiting, 0);
    feed.close();
    assert.equal(await next(), `id: 2\ndata: {"error":"JobsClosed"}\n\n`);
    assert.equal((await reader.read()).done, true);
    assert.equal(clock.waiting, 0);
  });

  it("end when the client has gone, even if the clock notices it later", async () => {
    const clock = {
      now: () => 0,
      sleep: (_: number, signal?: AbortSignal) =>
        new Promise<void>((resolve) => {
          signal?.addEventListener("abort", () => setImmediate(resolve));
        }),
    };
    let waits = 0;
    const feed = new (class extends Feed {
      override async changed(...given: Parameters<Feed["changed"]>): Promise<void> {
        waits += 1;
        if (waits > 10) throw new Error("It waits again and again.");
        return super.changed(...given);
      }
    })({ clock });
    const reader = followFeed(feed, { names }).body?.getReader();
    void reader?.read();
    await systemClock.sleep(0);
    await reader?.cancel();
    await systemClock.sleep(1);
    assert.equal(waits, 1);
  });
});

describe("a server that shuts down", () => {
  it("answers those who wait, refuses those who come, and ends", async (t) => {
    const { api, ask, jobId, stop, ended } = await serveSlowJob(t);
    const live = `copilot/job/${jobId}/live`;
    assert.deepEqual(Object(await api(live)).callback, "workStarted");
    const { answer: waiting } = await waitingCall(() => ask(`/api/${live}`));
    const following = ask(`/api/copilot/job/${jobId}/events`);
    const stopping = stop();
    isRefused(await ask("/api/test"), 409, "ShuttingDown");
    isRefused(await ask("/api/stop"), 409, "ShuttingDown");
    const { json } = await waiting;
    assert.deepEqual(json, { callback: "workStopped", workId: 0, succeeded: false });
    assert.match((await following).text, /"ShuttingDown"|"JobsClosed"\}\n\n$/);
    await stopping;
    await ended;
    await assert.rejects(ask("/api/test"), { code: "ECONNREFUSED" });
    await stop();
  });

  it("answers the call of stop first", async (t) => {
    const { api, ended } = await serve(t);
    assert.deepEqual(await api("stop"), {});
    await ended;
  });
});
