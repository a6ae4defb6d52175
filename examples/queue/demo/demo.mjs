/**
 * Plays the queue with a scripted model: one machine does the job, then workers do it from a queue, while workers are killed,
 * Redis is restarted and jobs come twice. Exits with 1 if the results differ, with 2 without `redis-server`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { applyEvent, createRunView, JobHost, parseJournal } from "agent-jobs";
import { Queue } from "bullmq";
import { connect, ENTRY, JOB, journals, openHost, QUEUE } from "../queue.mjs";
import { startModel, TOKENS_OF_TURN } from "./model.mjs";

const number = (preset) => ({ type: "string", default: String(preset) });
const { values } = parseArgs({
  options: {
    items: number(40),
    shards: number(10),
    workers: number(3),
    "kill-every": number(4), // seconds
    tokens: number(100_000),
  },
});
const [items, workers, tokens] = [values.items, values.workers, values.tokens].map(Number);
const shards = String(values.shards);
const lines = Array.from({ length: items }, (_, index) => `item-${index + 1}`).join("\n");
const ID = "demo";
const LONGEST_MS = 300_000;

const folder = mkdtempSync(join(tmpdir(), "agent-jobs-queue-"));
const socket = join(folder, "redis.sock");
const log = join(folder, "log");
const children = new Set();
const model = await startModel(50);
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
process.exit(await play().catch(({ message }) => (console.error(message), 1)));

async function play() {
  let server = await startRedis();
  if (server === undefined) {
    console.log("The demo needs redis-server: apt install redis-server");
    return 2;
  }
  const began = performance.now();
  const expected = await onOneMachine();
  console.log(`One machine: ${items} items, ${model.tokens} tokens, ${secondsSince(began)} s.`);
  model.paid.clear();
  model.tokens = 0;

  const start = performance.now();
  Object.assign(process.env, { REDIS_URL: socket, MODEL_SERVER: model.url, LOCK_MS: "2000" });
  process.env.MAX_TOKENS = values.tokens;
  // The second call adds nothing.
  for (let time = 1; time <= 2; time += 1) await produce();
  const running = Array.from({ length: workers }, () => startNode("worker.mjs"));
  const redis = connect(() => {});
  const queue = new Queue(QUEUE, { connection: redis }).on("error", () => {});
  let [kills, restarts, lastKill, spent] = [0, 0, start, 0];
  while (!(await hasEnded(queue, `${ID}.merge`))) {
    await sleep(50);
    const now = performance.now();
    if (now - start > LONGEST_MS) throw new Error(`The merge has not ended:\n${lastLines()}`);
    // What is killed again and again is paid again and again, or never begun. Here, once is enough.
    const isDue = now - lastKill >= Number(values["kill-every"]) * 1000;
    if (isDue && model.tokens > spent && !(await isRepeating(redis))) {
      running.shift().kill("SIGKILL");
      running.push(startNode("worker.mjs"));
      [kills, lastKill, spent] = [kills + 1, now, model.tokens];
    }
    if (restarts === 0 && model.paid.size >= items / 2) {
      server.kill("SIGKILL");
      await once(server, "exit");
      server = await startRedis();
      restarts += 1;
    }
  }
  const [seconds, total] = [secondsSince(start), model.tokens];

  // The queue doesn't know any more that these were done. Their journals do.
  const { data } = await queue.getJob(`${ID}.merge`);
  for (const [name, shards] of [
    ["merge", data.shards],
    ["shard", data.shards.slice(0, 1)],
  ]) {
    await queue.add(name, { id: ID, shards }, { jobId: `${name} again` });
    while (!(await hasEnded(queue, `${name} again`))) await sleep(50);
  }

  const { host, journalStore } = await openHost(redis, ID, () => {});
  const found = resultIn(await text(journalStore.read(journals.merged(ID))));
  await host.close();
  for (const worker of running) worker.kill();
  await Promise.all(running.map((worker) => once(worker, "exit")));
  const counts = [...model.paid.values()];
  const twice = counts.filter((count) => count === 2).length;
  const most = tokens + workers * TOKENS_OF_TURN;
  const checks = {
    "The result is that of one machine": isDeepStrictEqual(found, expected),
    [`No item was paid more than twice, ${twice} of ${items} were`]: Math.max(...counts) <= 2,
    [`The total is at most the budget of ${tokens} and one turn a worker`]: total <= most,
    "A merge and a shard that came again cost nothing": model.tokens === total,
  };
  console.log(
    `${workers} workers: ${items} items, ${total} tokens, ${seconds} s; ${kills} workers and Redis killed.`,
  );
  for (const [what, holds] of Object.entries(checks)) console.log(`${holds ? "✔" : "✖"} ${what}.`);
  if (Object.values(checks).every(Boolean)) return 0;
  console.log(JSON.stringify({ expected, found }), lastLines());
  return 1;
}

async function onOneMachine() {
  const host = new JobHost({ provider: { baseUrl: model.url }, limits: { tokens } });
  await host.installEntryFile(ENTRY);
  const journal = join(folder, "one.jsonl");
  const { outcome } = await host.runJob(JOB, { userInput: lines, journal });
  await host.close();
  if (outcome.kind !== "succeeded") throw new Error(`One machine failed: ${outcome.reason}`);
  return resultIn(readFileSync(journal, "utf8"));
}

/** Of the last run of a journal. */
function resultIn(journal) {
  const { events } = parseJournal(journal);
  const view = createRunView();
  for (const event of events) if (event.runId === events.at(-1).runId) applyEvent(view, event);
  const works = [...view.works.values()].map(({ taskId, status }) => [taskId, status]);
  const reports = [...view.given].map(([task, { report }]) => [task, report]);
  return { status: view.status, works, reports: new Map(reports), summarized: model.summarized };
}

async function produce() {
  const producer = startNode("produce.mjs", ID, shards);
  producer.stdin.end(lines);
  const [code] = await once(producer, "exit");
  if (code !== 0) throw new Error(`The producer failed:\n${lastLines()}`);
}

/** Whether an item that a kill interrupted is running again: until its end is in a journal, a kill would repeat it. */
async function isRepeating(redis) {
  if (model.repeated.size === 0) return false;
  const texts = await redis.mget(await redis.keys(`journal:${ID}/shard-*`));
  for (const { type, work, outcome } of texts.flatMap((one) => parseJournal(one).events))
    if (type === "work.ended" && outcome.kind === "succeeded") model.repeated.delete(work.item);
  return model.repeated.size > 0;
}

async function hasEnded(queue, id) {
  const { finishedOn, failedReason } = await queue.getJob(id);
  if (finishedOn === undefined || failedReason === undefined) return finishedOn !== undefined;
  throw new Error(`${id} failed: ${failedReason}\n${lastLines()}`);
}

function lastLines() {
  return readFileSync(log, "utf8").slice(-4000);
}

function startNode(...args) {
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  const output = openSync(log, "a");
  return kept(spawn(process.execPath, args, { cwd, stdio: ["pipe", output, output] }));
}

/** Undefined: it is not installed. */
async function startRedis() {
  const args = ["--port", "0", "--unixsocket", socket, "--dir", folder, "--appendonly", "yes"];
  const child = spawn("redis-server", [...args, "--save", ""], { stdio: "ignore" });
  const isStarted = await once(child, "spawn").catch(() => undefined);
  return isStarted && kept(child);
}

function kept(child) {
  children.add(child);
  return child.once("exit", () => children.delete(child));
}

function secondsSince(start) {
  return ((performance.now() - start) / 1000).toFixed(1);
}
