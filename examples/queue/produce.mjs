/**
 * Plans the job and puts its shards and their merge into the queue: `node produce.mjs ID SHARDS < LINES`. After a failure,
 * call it again: it resumes the plan, and adds only what isn't in the queue yet.
 */
import { text } from "node:stream/consumers";
import { FlowProducer } from "bullmq";
import { connect, JOB, journals, openHost, QUEUE } from "./queue.mjs";

const [id, shards] = process.argv.slice(2);
const redis = connect();
const ending = new AbortController();
const { host, journalStore } = await openHost(redis, id, () =>
  ending.abort("its journal has ended"),
);
const journal = journals.plan(id);
const plan = await host.runJob(JOB, {
  plan: { shards: Number(shards) },
  userInput: await text(process.stdin),
  journal,
  signal: ending.signal,
  ...((await journalStore.has(journal)) && { resume: journal }),
});
await host.close();
if (plan.outcome.kind !== "succeeded") throw new Error(`No plan: ${plan.outcome.reason}`);

const flows = new FlowProducer({ connection: redis });
const opts = { attempts: 5, backoff: { type: "exponential", delay: 1000 } };
await flows.add({
  name: "merge",
  queueName: QUEUE,
  data: { id, shards: plan.shards },
  opts: { ...opts, jobId: `${id}.merge` },
  children: plan.shards.map((shard) => ({
    name: "shard",
    queueName: QUEUE,
    data: { id, shards: [shard] },
    // The merge says which shards are missing.
    opts: {
      ...opts,
      jobId: `${id}.${shard.replace("/", "-of-")}`,
      ignoreDependencyOnFailure: true,
    },
  })),
});
console.log(`${id}: ${plan.shards.length} shards are in the queue.`);
await flows.close();
await redis.quit();
