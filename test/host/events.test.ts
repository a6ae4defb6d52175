/** `…/events`: the responses of a feed as server-sent events, for any number of readers, resumable. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { named, type Answer } from "../rig/answer.ts";
import { startServer } from "../rig/server.ts";
import type { ServerEvent } from "../rig/answer.ts";
import { entryOf, loop, par, ref, reports, seq, sessions } from "../rig/server-fixtures.ts";

const ok = ref("ok");
const words = Array.from({ length: 300 }, (_, index) => `word ${index}`).join(" ");

const server = await startServer({
  entry: entryOf({
    several: seq(ok, par(ok, ref("fails"), ok)),
    long: loop(ok, { postCondition: [true, ref("first")] }),
  }),
  sessions: [...sessions, { turns: [{ reasoning: words, text: words }, reports, "Hello again!"] }],
});
after(() => server.stop());

async function all(events: AsyncIterable<ServerEvent>): Promise<ServerEvent[]> {
  const read: ServerEvent[] = [];
  for await (const event of events) read.push(event);
  return read;
}

const dataOf = (events: readonly ServerEvent[]): Answer[] => events.map(({ data }) => data);

/** Numbered from 1, without a gap, and closed at the end. */
function check(events: readonly ServerEvent[], closed: string): void {
  assert.deepEqual(
    events.map(({ id }) => id),
    events.map((_, index) => String(index + 1)),
  );
  assert.deepEqual(events.at(-1)?.data, { error: closed });
  assert.ok(events.slice(0, -1).every(({ data }) => !("error" in data)));
}

/** Reads a feed in pieces of `size`, each on a connection of its own that goes on where the last one ended. */
async function inPieces(route: string, size: number): Promise<ServerEvent[]> {
  const read: ServerEvent[] = [];
  for (;;) {
    const last = read.at(-1);
    const options = { lastEventId: last?.id };
    let count = 0;
    for await (const event of server.events(route, options)) {
      read.push(event);
      count += 1;
      if (count === size) break;
    }
    if (count === 0) return read;
  }
}

describe("the events of a job", { concurrency: true }, () => {
  it("are the responses of live in the same order, for several readers at once", async () => {
    const jobId = await server.startJob("several");
    const route = `copilot/job/${jobId}/events`;
    const [{ job }, ...readers] = await Promise.all([
      server.follow(jobId),
      all(server.events(route)),
      all(server.events(route)),
      inPieces(route, 1),
      inPieces(route, 3),
    ]);
    for (const events of readers) {
      check(events, "JobsClosed");
      assert.deepEqual(dataOf(events).slice(0, -1), job);
    }
    // Also when it is over, and when `live` doesn't know it any more.
    assert.deepEqual(await all(server.events(route)), readers[0]);
  });

  it("are there for each task, and for its session", async () => {
    const { job, tasks } = await server.runJob("long");
    assert.equal(tasks.size, 4);
    assert.deepEqual(job.at(-1), { callback: "jobSucceeded" });
    for (const [taskId, feed] of tasks) {
      const events = await all(server.events(`copilot/task/${taskId}/events`));
      check(events, "TaskClosed");
      assert.deepEqual(dataOf(events).slice(0, -1), feed);
      const started = feed.find((one) => one["callback"] === "taskSessionStarted");
      const session = `copilot/session/${String(started?.["sessionId"])}`;
      const both = [all(server.events(`${session}/events`)), server.drain(session)] as const;
      const [heard, taken] = await Promise.all(both);
      check(heard, "SessionClosed");
      assert.deepEqual(dataOf(heard).slice(0, -1), taken);
    }
  });
});

describe("the events of a session", { concurrency: true }, () => {
  it("resume after any of them without loss or repetition", async () => {
    const id = await server.startSession();
    const feed = `copilot/session/${id}`;
    assert.deepEqual(await server.post(`${feed}/query`, "Hello"), {});
    await server.takeUntil(feed, (one) => one["callback"] === "onIdle");
    const live = inPieces(`${feed}/events`, 7);
    assert.deepEqual(await server.post(`${feed}/query`, "Report"), {});
    await server.takeUntil(feed, (one) => one["callback"] === "onIdle");
    await server.close(feed);
    const whole = await all(server.events(`${feed}/events`));
    check(whole, "SessionClosed");
    assert.deepEqual(await live, whole);
    const deltas = (callback: string): string =>
      named(dataOf(whole), callback)
        .map((one) => String(one["delta"]))
        .join("");
    assert.ok(deltas("onMessage").startsWith(words));
    assert.equal(deltas("onReasoning"), words);
    for (const lastEventId of ["1", "5", String(whole.length - 1)]) {
      const rest = await all(server.events(`${feed}/events`, { lastEventId }));
      assert.deepEqual(rest, whole.slice(Number(lastEventId)));
    }
  });

  it("are over after the Closed event: 204, so that a browser doesn't come again", async () => {
    const id = await server.startSession();
    const feed = `copilot/session/${id}`;
    await server.close(feed);
    const [closed, ...others] = await all(server.events(`${feed}/events`));
    assert.deepEqual([closed, others], [{ id: "1", data: { error: "SessionClosed" } }, []]);
    check(await all(server.events(`${feed}/events`, { lastEventId: "" })), "SessionClosed");
    for (const [status, ...values] of [
      [204, "1", "2", "99999999999"],
      [400, "x", "-1", "1.5", "1e3"],
    ] as const)
      for (const last of values) {
        const headers = { "last-event-id": last };
        assert.equal((await server.request(`${feed}/events`, { headers })).status, status, last);
      }
  });
});
