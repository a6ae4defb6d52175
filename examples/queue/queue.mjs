/** What producer and workers share: the queue, the names of journals, and a host whose ports are in Redis. */
import { fileURLToPath } from "node:url";
import { JobHost } from "agent-jobs";
import { Redis } from "ioredis";
import { RedisJournals, RedisRateLimit, redisBudget } from "./ports.mjs";

export const QUEUE = "agent-jobs";
export const JOB = "survey";
export const ENTRY = fileURLToPath(new URL("survey.yml", import.meta.url));

/** Commands wait until Redis is back, as BullMQ requires it of its workers. */
export function connect(onError = ({ message }) => console.error(`Redis: ${message}`)) {
  const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
  return new Redis(url, { maxRetriesPerRequest: null }).on("error", onError);
}

export const journals = {
  plan: (id) => `${id}/plan`,
  shard: (id, shard) => `${id}/shard-${shard.replace("/", "-of-")}`,
  merged: (id) => `${id}/merged`,
};

/** A host for the runs of the job `id`, which spend from one budget. */
export async function openHost(redis, id, onEnd) {
  const { MODEL_SERVER: baseUrl, MODEL_KEY: apiKey, MAX_TOKENS: tokens } = process.env;
  const journalStore = new RedisJournals(redis, onEnd);
  const host = new JobHost({
    ...(baseUrl && { provider: { baseUrl, ...(apiKey && { apiKey }) } }),
    ...(tokens && { limits: { tokens: Number(tokens) } }),
    journalStore,
    budget: redisBudget(redis, id),
    rateLimit: new RedisRateLimit(redis),
  });
  await host.installEntryFile(ENTRY);
  return { host, journalStore };
}
