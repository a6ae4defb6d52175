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
  code: megabyteOf(page("src/run/execute.ts")),
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

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The goal; undefined: there is none. */
  readonly most?: number;
}

export function measureRedaction(): readonly Figure[] {
  // The code is compiled before it is measured.
  for (const text of Object.values(texts)) redactor.text(text);
  return [
    ...Object.entries(texts).flatMap(([name, text]) => {
      const goal = { unit: "ms per MB", ...(beside.has(name) ? {} : { most: mostMs }) };
      return [
        { name, value: median(() => redactor.text(text)), ...goal },
        { name: `${name}, streamed`, value: median(() => stream(text)), ...goal },
      ];
    }),
    {
      name: "a delta event",
      value: (median(deltas) * 1e3) / DELTAS,
      unit: "µs",
      most: mostMicroseconds,
    },
  ];
}

/** Prints each figure, and whether it is above its goal. Returns whether none is. */
export function printFigures(figures: readonly Figure[]): boolean {
  for (const { name, value, unit, most = Infinity } of figures) {
    const above = value > most ? `, above ${Number(most.toFixed(2))}` : "";
    console.log(`${name.padEnd(44)} ${value.toFixed(2)} ${unit}${above}`);
  }
  return figures.every(({ value, most = Infinity }) => value <= most);
}

if (process.argv[1] === import.meta.filename) {
  const met = printFigures(measureRedaction());
  if (process.argv.includes("--check") && !met) process.exitCode = 1;
}
