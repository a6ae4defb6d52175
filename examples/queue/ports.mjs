/**
 * Ports of a `JobHost`, in one Redis that all machines share. Each change is one atomic
 * script. If the connection is lost before the reply, the client sends the command again: an append is still made only once,
 * but spent tokens may be counted twice, which only ends a job earlier.
 */
import { setTimeout as sleep } from "node:timers/promises";

const PART = 1024 * 1024;
const APPEND = `
  local before, text = tonumber(ARGV[1]), ARGV[2]
  local length = redis.call("STRLEN", KEYS[1])
  if length == before then return redis.call("APPEND", KEYS[1], text) end
  local isThere = length == before + #text and redis.call("GETRANGE", KEYS[1], before, -1) == text
  return isThere and length or -1`;

/** A journal is a string of Redis. */
export class RedisJournals {
  #lengths = new Map();
  #redis;
  #onEnd;

  /** Calls `onEnd(name)` if the journal can't be continued. The run must then end, so that its later turns aren't paid twice. */
  constructor(redis, onEnd) {
    this.#redis = redis;
    this.#onEnd = onEnd;
    redis.defineCommand("journalAppend", { numberOfKeys: 1, lua: APPEND });
  }

  /** Rejects if somebody else has appended since this host last read or wrote the journal. */
  async append(name, text) {
    const before = this.#lengths.get(name) ?? 0;
    try {
      const length = await this.#redis.journalAppend(keyOf(name), before, text);
      if (length < 0) throw new Error(`another worker has continued the journal ${name}`);
      this.#lengths.set(name, length);
    } catch (error) {
      this.#onEnd(name);
      throw error;
    }
  }

  async *read(name) {
    let length = 0;
    for (;;) {
      const part = await this.#redis.getrangeBuffer(keyOf(name), length, length + PART - 1);
      if (part.length === 0) break;
      length += part.length;
      yield part;
    }
    this.#lengths.set(name, length);
  }

  async has(name) {
    return (await this.#redis.exists(keyOf(name))) === 1;
  }
}

const keyOf = (name) => `journal:${name}`;

const SPEND = `
  local tokens = redis.call("HINCRBY", KEYS[1], "tokens", ARGV[1])
  return { tokens, redis.call("HINCRBYFLOAT", KEYS[1], "cost", ARGV[2]) }`;

/** The budget that all runs of one job share. */
export function redisBudget(redis, job) {
  redis.defineCommand("spend", { numberOfKeys: 1, lua: SPEND });
  return {
    async add(used) {
      const [tokens, cost] = await redis.spend(`budget:${job}`, used.tokens, used.cost);
      return { tokens: Number(tokens), cost: Number(cost) };
    },
  };
}

const LIMITED_MS = 600_000;
const LOOK_MS = 1_000;
/** The pause grows from 5 seconds to 2 minutes while the limit holds, unless the server names a time. */
const PAUSE = `
  local time = redis.call("TIME")
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call("SET", KEYS[1], now, "NX", "PX", ${LIMITED_MS})
  local grown = math.min(math.max(now - redis.call("GET", KEYS[1]), 5000), 120000)
  local pause = ARGV[1] == "" and grown or tonumber(ARGV[1])
  if redis.call("PTTL", KEYS[2]) < pause then redis.call("SET", KEYS[2], 1, "PX", pause) end`;
const RATE_LIMIT = ["rate-limit:since", "rate-limit:pause"];

/** When one turn hits a rate limit, the turns of all machines wait. */
export class RedisRateLimit {
  #redis;
  #isKnown = false;

  constructor(redis) {
    this.#redis = redis;
    redis.defineCommand("pauseTurns", { numberOfKeys: 2, lua: PAUSE });
  }

  async enter(signal, onWait) {
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      const wait = await this.#redis.pttl(RATE_LIMIT[1]);
      if (wait <= 0) break;
      this.#isKnown = true;
      if (isFirst) onWait(wait);
      await sleep(Math.min(wait, LOOK_MS), undefined, { signal }).catch(() => {});
    }
    return () => {};
  }

  met() {
    this.pause("");
  }

  pause(milliseconds) {
    this.#isKnown = true;
    this.#redis.pauseTurns(...RATE_LIMIT, milliseconds).catch(() => {});
  }

  lifted() {
    if (this.#isKnown) this.#redis.del(...RATE_LIMIT).catch(() => {});
    this.#isKnown = false;
  }
}
