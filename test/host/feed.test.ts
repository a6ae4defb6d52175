import assert from "node:assert/strict";
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { Feed, FeedFile } from "../../src/host/feed.ts";
import { systemClock as clock } from "../../src/platform/system-clock.ts";
import { FakeClock } from "../rig/fake-clock.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const filler = "x".repeat(100);

function fill(feed: Feed, from: number, to: number): void {
  for (let n = from; n <= to; n += 1) feed.append({ n, filler });
}

function numbers(feed: Feed, after = 0): unknown[] {
  const found: unknown[] = [];
  for (let at = after; ;) {
    const items = feed.read(at);
    const last = items.at(-1);
    if (last === undefined) return found;
    at = last.seq;
    found.push(...items.map(({ json }) => numberOf(json)));
  }
}

function numberOf(json: string): unknown {
  const value: unknown = JSON.parse(json);
  if (typeof value !== "object" || value === null) return undefined;
  return "n" in value ? value.n : value;
}

type Taken = Awaited<ReturnType<Feed["take"]>>;

function responseOf(taken: Taken): Extract<Taken, { kind: "response" }> {
  return taken.kind === "response" ? taken : assert.fail(taken.kind);
}

const counted = (to: number): number[] => Array.from({ length: to }, (_, index) => index + 1);

describe("a feed", () => {
  it("spills to its file, for its user only, and removes it when it is forgotten", async (t) => {
    const { path } = await makeWorkspace(t);
    const file = join(path, "deep", "feed");
    const feed = new Feed({ clock, kept: 2_000, file: new FeedFile(file) });
    fill(feed, 1, 10);
    assert.ok(!existsSync(file), "what fits in memory makes no file");
    fill(feed, 11, 1_000);
    if (process.platform !== "win32") assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(numbers(feed), counted(1_000));
    feed.close();
    assert.deepEqual(numbers(feed, 990), counted(1_000).slice(990));
    assert.deepEqual(numbers(feed), counted(1_000));
    feed.dispose();
    assert.deepEqual(readdirSync(join(path, "deep")), []);
    assert.deepEqual(feed.read(0), []);
  });

  it("goes on when its folder can't be written, and says what is lost", async (t) => {
    const { path } = await makeWorkspace(t);
    const blocked = join(path, "blocked");
    writeFileSync(blocked, "a file where a folder should be");
    const problems: string[] = [];
    const file = new FeedFile(join(blocked, "feed"), (problem) => problems.push(problem));
    const feed = new Feed({ clock, kept: 2_000, file });
    fill(feed, 1, 100);
    const [lost, ...rest] = numbers(feed);
    assert.ok(typeof lost === "object" && lost !== null && "count" in lost);
    assert.deepEqual(rest, counted(100).slice(Number(lost.count)));
    assert.match(problems[0] ?? "", /is not a folder/);
    rmSync(blocked);
    fill(feed, 101, 200);
    const [, ...later] = numbers(feed);
    assert.equal(later.length, 200 - Number(lost.count) - (later[0] === 101 ? 1 : 0));
    feed.dispose();
  });

  it("holds 60 MB that nobody reads in little memory", async (t) => {
    const { path } = await makeWorkspace(t);
    const worker = new Worker(new URL("feed-worker.js", import.meta.url), {
      workerData: join(path, "feed"),
      resourceLimits: { maxOldGenerationSizeMb: 24 },
    });
    const [code] = await once(worker, "exit");
    assert.equal(code, 0);
  });
});

describe("readers of a feed", () => {
  it("follow it from where they are, each at its own pace, to its end", async () => {
    const feed = new Feed({ clock });
    fill(feed, 1, 3);
    const read = async (after: number): Promise<unknown[]> => {
      const all: unknown[] = [];
      for await (const items of feed.follow(after, 60_000))
        all.push(...items.map(({ json }) => numberOf(json)));
      return all;
    };
    const readers = [read(0), read(2), read(5)];
    await new Promise(setImmediate);
    fill(feed, 4, 7);
    feed.close();
    assert.deepEqual(await Promise.all(readers), [
      [1, 2, 3, 4, 5, 6, 7],
      [3, 4, 5, 6, 7],
      [6, 7],
    ]);
    feed.append({ n: 8 });
    assert.deepEqual(await read(7), [], "nothing comes after the end");
  });

  it("stop when they are canceled", async () => {
    const feed = new Feed({ clock });
    const gone = new AbortController();
    const waiting = feed.changed(0, 60_000, gone.signal);
    const following = (async () => {
      for await (const items of feed.follow(0, 60_000, gone.signal))
        assert.fail(JSON.stringify(items));
    })();
    gone.abort();
    await Promise.all([waiting, following]);
  });
});

describe("the one caller that takes from a feed", () => {
  it("waits for the next response up to its time", async () => {
    const time = new FakeClock();
    const feed = new Feed({ clock: time });
    const taken = await time.runUntil(feed.take(5_000));
    assert.deepEqual([taken.kind, time.now()], ["timeout", 5_000]);
    const waiting = feed.take(5_000);
    fill(feed, 1, 2);
    assert.equal(numberOf(responseOf(await waiting).json), 1);
    assert.equal(time.waiting, 0, "no timer is left");
  });
});
