/** Readers of a running job. Each checks what it reads: nothing lost, nothing twice, nothing out of order. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Answer } from "../../test/rig/answer.ts";
import type { AgentServer } from "../../test/rig/server.ts";

/** Of one reader. */
export interface Readings {
  responses: number;
  /** From the event to the reader, in milliseconds. */
  readonly latencies: number[];
}

export const readings = (): Readings => ({ responses: 0, latencies: [] });

export interface StreamOptions {
  /** Breaks the connection after so many events, and goes on where it ended. */
  readonly breakAfter?: number;
  /** Waits so long after every event, until `slow` aborts. */
  readonly pauseMs?: number;
  readonly slow?: AbortSignal;
}

/** Reads server-sent events to their end; their ids must be 1, 2, 3… */
export async function readStream(
  server: AgentServer,
  route: string,
  into: Readings,
  onAnswer: (answer: Answer) => void,
  { breakAfter = Infinity, pauseMs = 0, slow }: StreamOptions = {},
): Promise<void> {
  for (let last = 0; ;) {
    let count = 0;
    const options = last === 0 ? {} : { lastEventId: String(last) };
    for await (const { id, data } of server.events(route, options)) {
      assert.equal(id, String(last + 1), `${route}: lost, twice or out of order`);
      last += 1;
      count += 1;
      if (data["error"] !== undefined) return;
      into.responses += 1;
      onAnswer(data);
      if (count === breakAfter) break;
      if (slow?.aborted === false)
        await sleep(pauseMs, undefined, { signal: slow }).catch(() => {});
    }
    assert.ok(count > 0, `${route} ended after ${last} events, without a Closed event`);
  }
}

/** Reads the journal of a job: in the order of time, from its start to its end. */
export async function readJournal(
  server: AgentServer,
  jobId: string,
  into: Readings,
  options: StreamOptions = {},
): Promise<void> {
  let at = 0;
  const types: unknown[] = [];
  await readStream(
    server,
    `copilot/job/${jobId}/journal`,
    into,
    (event) => {
      const time = Number(event["at"]);
      assert.ok(time >= at, "an event before the one before it");
      at = time;
      assert.equal(event["runId"], jobId);
      if (types.length < 2) types.push(event["type"]);
      else types[1] = event["type"];
      if (options.pauseMs === undefined) into.latencies.push(now() - time);
    },
    options,
  );
  assert.deepEqual(types, ["run.started", "run.ended"]);
}

/** Polls a feed until it is closed. */
export async function poll(
  server: AgentServer,
  feed: string,
  into: Readings,
  onAnswer: (answer: Answer) => void,
): Promise<void> {
  for (;;) {
    const answer = await server.get(`${feed}/live`);
    const { error } = answer;
    if (error === "HttpRequestTimeout") continue;
    if (typeof error === "string") {
      assert.match(error, /Closed$/, feed);
      return;
    }
    into.responses += 1;
    onAnswer(answer);
  }
}

/** Polls the sessions of a job, one after the other; the deltas of a message must be the whole message. */
export async function pollSessions(
  server: AgentServer,
  jobId: string,
  into: Readings,
): Promise<void> {
  let polled = Promise.resolve();
  await readStream(server, `copilot/job/${jobId}/journal`, readings(), (event) => {
    const { type, sessionId } = event;
    if (type !== "session.started" || typeof sessionId !== "string") return;
    polled = polled.then(() => pollSession(server, sessionId, into));
  });
  await polled;
}

async function pollSession(server: AgentServer, id: string, into: Readings): Promise<void> {
  const texts = new Map<unknown, string>();
  await poll(server, `copilot/session/${id}`, into, (answer) => {
    const { callback, messageId, delta, completeContent } = answer;
    const text = texts.get(messageId) ?? "";
    if (callback === "onMessage" && typeof delta === "string") texts.set(messageId, text + delta);
    if (callback === "onEndMessage") assert.equal(text, completeContent, "a delta was lost");
  });
}

/** As the server reads the clock: once, and the monotonic one from then on. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
