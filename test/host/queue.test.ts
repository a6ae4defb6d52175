/** `examples/queue`, as a user runs it, with the real Redis and BullMQ. */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, readFile, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { Budget, RateLimit } from "../../src/engine/ports.ts";
import type { JournalStore } from "../../src/journal/store.ts";
import { findRuntime } from "../../src/runtime/find-runtime.ts";
import { installPackage } from "../rig/dist.ts";
import { skipUnlessCi, withoutRedis } from "../rig/programs.ts";
import { makeWorkspace } from "../rig/workspace.ts";

const items = "a b c d e f g h".split(" ");
const root = join(import.meta.dirname, "../../..");
const packages = ["bullmq", "ioredis"];
const isInstalled = packages.every((name) => existsSync(join(root, "node_modules", name)));
const skip =
  withoutRedis || (!isInstalled && skipUnlessCi("bullmq is not installed. Run `npm ci`"));

/** The example in a folder of its own, with what `npm install` would put there. */
async function install(t: TestContext): Promise<string> {
  const { path } = await makeWorkspace(t);
  await cp(join(root, "examples/queue"), path, { recursive: true });
  await installPackage(path);
  for (const name of packages)
    await symlink(join(root, "node_modules", name), join(path, "node_modules", name));
  return path;
}

interface Program {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<number | null>;
}

function start(
  t: TestContext,
  [command = "", ...args]: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Program {
  const { PATH = "", HOME = "" } = process.env;
  const COPILOT_CLI_PATH = findRuntime({ environment: process.env }) ?? "";
  const child = spawn(command, args, { cwd, env: { PATH, HOME, COPILOT_CLI_PATH, ...env } });
  t.after(() => child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text: Buffer) => (output += text.toString()));
  const ended = once(child, "close").then(() => child.exitCode);
  return { child, output: () => output, ended };
}

describe("the example of a queue", { skip }, () => {
  it("has the result of one machine, while workers and Redis are killed, and says so", async (t) => {
    const cwd = await install(t);
    const args = ["--items", "12", "--shards", "6", "--workers", "2", "--kill-every", "4"];
    const demo = start(t, [process.execPath, "demo/demo.mjs", ...args], cwd);
    assert.equal(await demo.ended, 0, demo.output());
    assert.equal(demo.output().match(/^✔ /gm)?.length, 4, demo.output());
  });

  it("says how to get Redis where it isn't installed", async (t) => {
    const cwd = await install(t);
    const demo = start(t, [process.execPath, "demo/demo.mjs"], cwd, { PATH: cwd });
    assert.equal(await demo.ended, 2);
    assert.equal(demo.output(), "The demo needs redis-server: apt install redis-server\n");
  });

  it("stops all workers at the budget that they share, each with its turn at most", async (t) => {
    const { model, run } = await play(t, { MAX_TOKENS: "1000" });
    await produce(run, items, { shards: 8 });
    const workers = [run("worker.mjs"), run("worker.mjs")];
    const said = (): string => workers.map(({ output }) => output()).join("");
    await until(() => said().includes("job.merge: "));
    assert.match(said(), /^job\.merge: failed .*limits\.tokens/m);
    assert.ok(model.tokens >= 1_000 && model.tokens <= 1_000 + 2 * TOKENS_OF_TURN, said());
  });

  it("ends the run of a worker that was thought to be dead, and pays no item a third time", async (t) => {
    const { cwd, model, run } = await play(t, { LOCK_MS: "1000" });
    const entry = join(cwd, "survey.yml");
    const text = await readFile(entry, "utf8");
    await writeFile(entry, text.replace("parallel: 8", "parallel: 2"));
    await produce(run, items, { shards: 1 });
    const frozen = run("worker.mjs");
    await until(() => model.paid.size > 2);
    frozen.child.kill("SIGSTOP");
    const other = run("worker.mjs");
    await until(() => other.output().includes("job.1-of-1: succeeded"));
    const total = model.tokens;
    frozen.child.kill("SIGCONT");
    await until(() => frozen.output().includes("another worker has"));
    await until(() => `${frozen.output()}${other.output()}`.includes("job.merge: succeeded"));
    assert.deepEqual([...model.paid.keys()].toSorted(), items);
    assert.ok(Math.max(...model.paid.values()) <= 2, JSON.stringify([...model.paid]));
    // The turns that were under way, and the summary.
    assert.ok(model.tokens <= total + 3 * TOKENS_OF_TURN, `${total}, then ${model.tokens}`);
    assert.deepEqual(
      model.summarized.match(/Seen: \w/g),
      items.map((item) => `Seen: ${item}`),
    );
  });
});

describe("the ports of the example of a queue", { skip }, () => {
  it("append to a journal once, after what was read, and tell who is too late", async (t) => {
    const { redis, ports } = await connect(t);
    const lost: string[] = [];
    const [one, other] = [1, 2].map(
      () => new ports.RedisJournals(redis, (name) => lost.push(name)),
    );
    assert.ok(one !== undefined && other !== undefined);
    assert.equal(await textOf(one, "a"), "");
    await one.append("a", "first\n");
    assert.equal(await textOf(other, "a"), "first\n");
    // The reply was lost, so the command is sent again.
    await redis.journalAppend("journal:a", 6, "sécond\n");
    await other.append("a", "sécond\n");
    await other.append("a", "third\n");
    await assert.rejects(one.append("a", "late\n"), /another worker has continued the journal a$/);
    assert.deepEqual(lost, ["a"]);
    assert.equal(await textOf(one, "a"), "first\nsécond\nthird\n");
    assert.deepEqual([await one.has("a"), await one.has("b")], [true, false]);
  });

  it("end a run whose journal Redis refuses to write, so that it pays nothing that isn't kept", async (t) => {
    const { redis, ports } = await connect(t);
    const ended: string[] = [];
    const store = new ports.RedisJournals(redis, (name) => ended.push(name));
    await redis.lpush("journal:a", "not a text");
    await assert.rejects(store.append("a", "line\n"), /WRONGTYPE/);
    assert.deepEqual(ended, ["a"]);
  });

  it("add up what the runs of a job spend", async (t) => {
    const { redis, ports } = await connect(t);
    const [one, other] = ["job", "job", "another"].map((job) => ports.redisBudget(redis, job));
    await one?.add({ tokens: 100, cost: 0.5 });
    assert.deepEqual(await other?.add({ tokens: 20, cost: 0.25 }), { tokens: 120, cost: 0.75 });
    assert.deepEqual(await one?.add({ tokens: 0, cost: 0 }), { tokens: 120, cost: 0.75 });
  });

  it("let turns wait for a rate limit that another machine has met, until an answer lifts it", async (t) => {
    const { redis, ports } = await connect(t);
    const [one, other] = [new ports.RedisRateLimit(redis), new ports.RedisRateLimit(redis)];
    const { signal } = new AbortController();
    await other.enter(signal, () => assert.fail("there is no limit"));
    one.pause(60_000);
    const waits: number[] = [];
    const entered = other.enter(signal, (milliseconds) => waits.push(milliseconds));
    await until(() => waits.length > 0);
    assert.ok(waits[0] !== undefined && waits[0] > 50_000 && waits[0] <= 60_000, String(waits));
    one.lifted();
    await entered;
    one.met();
    const stop = new AbortController();
    const stopped = other.enter(stop.signal, () => stop.abort());
    await stopped;
    assert.ok((await redis.pttl("rate-limit:pause")) > 3_000);
  });
});

interface Model {
  readonly url: string;
  readonly paid: ReadonlyMap<string, number>;
  readonly tokens: number;
  readonly summarized: string;
  close(): void;
}

interface Demo {
  readonly startModel: (latencyMs: number) => Promise<Model>;
}

/** A turn has two requests, of 120 tokens each. */
const TOKENS_OF_TURN = 240;

interface Redis {
  journalAppend(key: string, before: number, text: string): Promise<number>;
  lpush(key: string, value: string): Promise<number>;
  pttl(key: string): Promise<number>;
  disconnect(): void;
}

interface Ports {
  readonly RedisJournals: new (
    redis: Redis,
    onEnd: (name: string) => void,
  ) => JournalStore & { has(name: string): Promise<boolean> };
  redisBudget(redis: Redis, job: string): Budget;
  readonly RedisRateLimit: new (redis: Redis) => RateLimit;
}

type Run = (...args: string[]) => Program;

/** Starts Redis and a model. `run` starts a program of the example. */
async function play(
  t: TestContext,
  more: Readonly<Record<string, string>>,
): Promise<{ readonly cwd: string; readonly model: Model; readonly run: Run }> {
  const cwd = await install(t);
  const { startModel }: Demo = await load(cwd, "demo/model.mjs");
  const model = await startModel(100);
  t.after(() => model.close());
  const env = { REDIS_URL: await startRedis(t, cwd), MODEL_SERVER: model.url, ...more };
  return { cwd, model, run: (...args) => start(t, [process.execPath, ...args], cwd, env) };
}

async function produce(
  run: Run,
  items: readonly string[],
  { shards }: { readonly shards: number },
): Promise<void> {
  const producer = run("produce.mjs", "job", String(shards));
  producer.child.stdin?.end(items.join("\n"));
  assert.equal(await producer.ended, 0, producer.output());
}

async function load<T>(folder: string, file: string): Promise<T> {
  return import(pathToFileURL(join(folder, file)).href);
}

/** Returns the path of its socket. */
async function startRedis(t: TestContext, folder: string): Promise<string> {
  const socket = join(folder, "redis.sock");
  const persistence = ["--appendonly", "yes", "--save", "", "--dir", folder];
  start(t, ["redis-server", "--port", "0", "--unixsocket", socket, ...persistence], folder);
  await until(() => existsSync(socket));
  return socket;
}

async function connect(t: TestContext): Promise<{ readonly redis: Redis; readonly ports: Ports }> {
  const folder = await install(t);
  const socket = await startRedis(t, folder);
  const { Redis: Client }: { Redis: new (path: string) => Redis } = createRequire(
    join(root, "package.json"),
  )("ioredis");
  const redis = new Client(socket);
  t.after(() => redis.disconnect());
  return { redis, ports: await load(folder, "ports.mjs") };
}

async function textOf(store: JournalStore, name: string): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of store.read(name)) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString();
}

async function until(holds: () => boolean): Promise<void> {
  for (let look = 0; !holds(); look += 1) {
    assert.ok(look < 1_200, "nothing happened in a minute");
    await sleep(50);
  }
}
