/** Appends 60 MB to a feed that nobody reads, in a thread with little memory. `workerData`: its file. */
import { workerData } from "node:worker_threads";
import { Feed, FeedFile } from "../../src/host/feed.ts";
import { systemClock } from "../../src/platform/system-clock.ts";

const feed = new Feed({ clock: systemClock, file: new FeedFile(String(workerData)) });
const text = "x".repeat(4_000);
const count = 15_000;
for (let n = 1; n <= count; n += 1) feed.append({ n, text });
for (const n of [1, 12_345, count]) {
  const [item] = feed.read(n - 1, 1);
  if (item?.json !== JSON.stringify({ n, text })) throw new Error(`Item ${n} is not there.`);
}
feed.dispose();
