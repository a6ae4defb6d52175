/**
 * Runs shards and merges, one at a time: `node worker.mjs`, on as many machines as you like. If a worker dies, the lock of its
 * job expires, and another worker gets the job and resumes its journal. A job that is delivered twice is already done.
 */
import { once } from "node:events";
import { Worker } from "bullmq";
import { connect, JOB, journals, openHost, QUEUE } from "./queue.mjs";

const lockDuration = Number(process.env.LOCK_MS ?? 30_000);
const redis = connect();
let opened;
let ending = new AbortController();

async function hostOf(id) {
  if (opened?.id !== id) {
    await opened?.host.close();
    opened = { id, ...(await openHost(redis, id, () => ending.abort("its journal has ended"))) };
  }
  return opened;
}

/** The journals of the shards, and of an earlier attempt to merge them. */
async function begun(id, shards, journalStore) {
  const found = [];
  for (const name of [...shards.map((shard) => journals.shard(id, shard)), journals.merged(id)])
    if (await journalStore.has(name)) found.push(name);
  return found;
}

async function run({ name, data: { id, shards } }) {
  const { host, journalStore } = await hostOf(id);
  const plan = journals.plan(id);
  const [shard] = shards;
  const part =
    name === "merge"
      ? { merge: [plan, ...(await begun(id, shards, journalStore))], journal: journals.merged(id) }
      : { shard, resume: plan, journal: journals.shard(id, shard) };
  ending = new AbortController();
  const { outcome, incomplete } = await host.runJob(JOB, { ...part, signal: ending.signal });
  // BullMQ retries the job. Any other outcome is a result, which the merge shows.
  if (outcome.kind === "canceled") throw new Error(outcome.reason);
  if (incomplete.length > 0) throw new Error(incomplete.join(" "));
  return outcome;
}

const worker = new Worker(QUEUE, run, {
  connection: redis,
  lockDuration,
  stalledInterval: lockDuration,
  // Gives up a shard that keeps killing its workers.
  maxStalledCount: 10,
});
worker.on("error", ({ message }) => console.error(message));
worker.on("failed", (job, { message }) => console.error(`${job?.id}: ${message}`));
worker.on("completed", ({ id }, { kind, reason = "" }) => console.log(`${id}: ${kind} ${reason}`));

// Finishes the current shard first. Kill the worker if you don't want to wait.
await once(process, "SIGTERM");
await worker.close();
await opened?.host.close();
await redis.quit();
