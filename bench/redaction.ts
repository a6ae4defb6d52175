/**
 * The CPU time of redaction: for a megabyte of each kind of text, whole and as a stream of 32 KB, and for a delta
 * event with three ids. Medians.
 *
 *   npm run bench:redaction              (takes a few seconds)
 *   npm run bench:redaction -- --check   (fails above 15 ms per megabyte, or 5 µs per delta)
 */
import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { RunEvent } from "../src/events/event.ts";
import { createRedactor } from "../src/redaction/redactor.ts";

const MEGABYTE = 1_000_000;
const PIECE = 32 * 1024;
const ROUNDS = 15;
const DELTAS = 50_000;
const mostMs = 15;
const mostMicroseconds = 5;

const base64 = (bytes: number): string => randomBytes(bytes).toString("base64");
const inLines = (text: string): string => text.replaceAll(/.{76}/g, "$&\n");
const megabyteOf = (text: string): string =>
  text.repeat(Math.ceil(MEGABYTE / text.length)).slice(0, MEGABYTE);
const page = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

const rows = Array.from({ length: 5_000 }, (_, index) => ({
  id: randomUUID(),
  name: `item ${index}`,
  done: index % 2 === 0,
}));
const texts = {
  prose: megabyteOf(page("docs/permissions.md")),
  code: megabyteOf(page("src/run/run.ts")),
  base64: base64((MEGABYTE * 3) / 4),
  "base64 in lines": megabyteOf(inLines(base64((MEGABYTE * 3) / 4))),
  JSON: megabyteOf(JSON.stringify(rows)),
  "colored log": megabyteOf("\u001b[90m12:00:01\u001b[39m \u001b[32mINFO\u001b[39m all is well\n"),
};
/** Not of the goal. */
const beside = new Set(["base64 in lines", "colored log"]);

/** Twenty keys and a private key of several lines. */
const secrets = [
  ...Array.from({ length: 20 }, () => base64(30)),
  `-----BEGIN PRIVATE KEY-----\n${inLines(base64(1_200))}\n-----END PRIVATE KEY-----`,
];
const redactor = createRedactor(secrets);

function cpuTime(run: () => unknown): number {
  const begin = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1e3;
}

function median(run: () => unknown): number {
  run();
  const times = Array.from({ length: ROUNDS }, () => cpuTime(run));
  return times.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN;
}

function stream(text: string): void {
  const { push, end } = redactor.stream();
  for (let from = 0; from < text.length; from += PIECE) push(text.slice(from, from + PIECE));
  end();
}

const [runId, sessionId, messageId] = [randomUUID(), randomUUID(), randomUUID()];
function deltas(): void {
  for (let at = 0; at < DELTAS; at += 1) {
    const delta: RunEvent = {
      at,
      runId,
      type: "activity",
      work: { workId: 0, taskId: "task", iteration: 1 },
      sessionId,
      turnId: "turn-1",
      activity: { kind: "message.delta", messageId, text: "some words " },
    };
    redactor.events(delta);
  }
}

let tooSlow = false;
const print = (name: string, value: number, unit: string, most: number): void => {
  const above = value > most;
  tooSlow ||= above;
  console.log(`${name.padEnd(28)} ${value.toFixed(1)} ${unit}${above ? `, above ${most}` : ""}`);
};
// The code is compiled before it is measured.
for (const text of Object.values(texts)) redactor.text(text);
for (const [name, text] of Object.entries(texts)) {
  const most = beside.has(name) ? Infinity : mostMs;
  print(
    name,
    median(() => redactor.text(text)),
    "ms per MB",
    most,
  );
  print(
    `${name}, streamed`,
    median(() => stream(text)),
    "ms per MB",
    most,
  );
}
print("a delta event", (median(deltas) * 1e3) / DELTAS, "µs", mostMicroseconds);
if (process.argv.includes("--check") && tooSlow) process.exitCode = 1;
