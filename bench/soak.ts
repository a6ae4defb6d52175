/**
 * Many jobs of mixed outcome with injected failures through one process, then 200 turns at once: memory
 * stays flat, nothing is left, no event is lost. Ends with exit code 1 if that is not so. Linux only.
 *
 *   npm run bench:soak [-- --jobs 1000] [--at-once 8] [--parallel 200]
 */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Host } from "../src/run/host.ts";
import { resolveLimits } from "../src/engine/limits.ts";
import type { Reporter } from "../src/events/sink.ts";
import { parseJournal } from "../src/journal/read.ts";
import { createJournal } from "../src/journal/write.ts";
import { effectivePermissions } from "../src/permissions/rules.ts";
import { createSessions, type Sessions } from "../src/sessions/sessions.ts";
import { startModelServer, type Reply } from "../test/rig/model-server.ts";
import { jobOf, kindOf, kinds, soakEntry, type Kind, type KindName } from "./soak-kinds.ts";
import { heading, median, processesWith, row, sample, type Sample } from "./soak-meter.ts";

const { values } = parseArgs({
  options: {
    jobs: { type: "string", default: "1000" },
    "at-once": { type: "string", default: "8" },
    parallel: { type: "string", default: "200" },
  },
});
const jobs = Number(values.jobs);
const atOnce = Number(values["at-once"]);
const parallel = Number(values.parallel);
const samplesEvery = Math.max(1, Math.round(jobs / 20));

const folder = mkdtempSync(join(tmpdir(), "soak-"));
const at = {
  temporary: join(folder, "tmp"),
  home: join(folder, "home"),
  work: join(folder, "work"),
  journals: join(folder, "journals"),
};
for (const path of Object.values(at)) mkdirSync(path);
process.env["TMPDIR"] = at.temporary;

const mark = randomUUID();
const marks = new Set([`AGENT_JOBS_RUN=${mark}`]);
const runtimesSeen = new Set<number>();
let restarts = 0;
let kills = 0;
/** By job number: what a cancel in mid-turn aborts. */
const aborts = new Map<number, AbortController>();
/** The turns of the last part wait for each other. */
let barrier:
  { waiting: number; most: number; release: () => void; open: Promise<void> } | undefined;

const server = await startModelServer(
  async (request): Promise<Reply> => {
    const { kind, number } = jobOf(request.prompt);
    const one: Kind = kinds[kind];
    const reply = one.reply(request);
    if (barrier !== undefined && request.toolResults.length === 0) {
      barrier.waiting += 1;
      barrier.most = Math.max(barrier.most, barrier.waiting);
      if (barrier.waiting === parallel) barrier.release();
      await barrier.open;
    }
    if (kind === "canceled") {
      setTimeout(() => aborts.get(number)?.abort("canceled by the soak"), 50);
    } else if (kind === "killed" && reply.hang !== undefined) {
      setTimeout(() => {
        kills += 1;
        for (const pid of runtimePids()) process.kill(pid, "SIGKILL");
      }, 50);
    }
    return reply;
  },
  { keep: false },
);
let sessions: Sessions | undefined;
const runtimePids = (): readonly number[] => sessions?.runtimePids ?? [];
const host = new Host({
  environment: { PATH: process.env["PATH"], HOME: at.home, TMPDIR: at.temporary },
  provider: { baseUrl: server.baseUrl },
  mark,
  createSessions(options) {
    sessions = createSessions({
      ...options,
      onRuntimeRestarted(reason) {
        restarts += 1;
        options.onRuntimeRestarted?.(reason);
      },
    });
    return sessions;
  },
});
const entry = soakEntry();
const limits = resolveLimits(undefined, { jobMinutes: 2, parallel });

const problems: string[] = [];
const ends = new Map<KindName, Map<string, number>>();
let emitted = 0;
let crashes = 0;

/** One job from its first event to the check of its journal. */
async function play(kind: KindName, number: number): Promise<void> {
  const journal = join(at.journals, `${number}.jsonl`);
  let count = 0;
  const counter: Reporter = {
    report(event) {
      // The journal leaves the parts of a text out: the whole follows.
      if (event.type !== "activity" || !event.activity.kind.endsWith(".delta")) count += 1;
      if (event.type === "session.started")
        marks.add(`COPILOT_AGENT_SESSION_ID=${event.sessionId}`);
    },
  };
  const abort = new AbortController();
  aborts.set(number, abort);
  const run = host.run(
    {
      entry,
      jobName: kind,
      userInput: String(number),
      workingDirectory: at.work,
      limits,
      version: "0.0.0",
      entryFingerprint: "",
      permissionsOf: (taskId) =>
        effectivePermissions(entry.permissions, entry.tasks[taskId]?.permissions, undefined),
    },
    {
      signal: abort.signal,
      reporters: [counter, createJournal(journal)],
    },
  );
  const { outcome, reporterFailures: failures } = await run.ended;
  aborts.delete(number);
  for (const pid of runtimePids()) runtimesSeen.add(pid);

  const bad = (what: string): void => void problems.push(`job ${number} (${kind}): ${what}`);
  const { outcome: wanted, seen }: Kind = kinds[kind];
  const reason = outcome.kind === "succeeded" ? "" : outcome.reason;
  if (outcome.kind !== wanted) bad(`${outcome.kind}, must be ${wanted}: ${reason}`);
  if (failures.length > 0) bad(JSON.stringify(failures));
  const read = parseJournal(readFileSync(journal, "utf8"));
  if (read.problems.length > 0) bad(JSON.stringify(read.problems));
  if (read.events.length !== count) bad(`${count} events, ${read.events.length} in the journal`);
  if (!read.events.some(seen)) bad("what makes its kind was not seen");
  emitted += count;
  crashes += read.events.filter(
    (event) => event.type === "decision" && event.decision.kind === "session-crashed",
  ).length;
  const of = ends.get(kind) ?? new Map<string, number>();
  ends.set(kind, of.set(outcome.kind, (of.get(outcome.kind) ?? 0) + 1));
}

const start = performance.now();
const samples: Sample[] = [];
let next = 0;
let done = 0;
console.log(
  `${jobs} jobs, ${atOnce} at once; Node ${process.version}, ${availableParallelism()} cores\n`,
);
console.log(heading);
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    while (next < jobs) {
      next += 1;
      const number = next;
      await play(kindOf(number), number);
      done += 1;
      if (done % samplesEvery > 0) continue;
      const taken = sample(done, start, runtimePids());
      samples.push(taken);
      console.log(row(taken));
    }
  }),
);
const seconds = (performance.now() - start) / 1000;

console.log(`\n| kind | ended | \n| --- | --- |`);
for (const [kind, of] of ends) {
  console.log(`| ${kind} | ${[...of].map(([end, count]) => `${count} ${end}`).join(", ")} |`);
}

function check(what: string, holds: boolean, detail: string): void {
  console.log(`${holds ? "ok    " : "FAULT "} ${what}: ${detail}`);
  if (!holds) problems.push(`${what}: ${detail}`);
}
console.log();
check("jobs", done === jobs, `${done} in ${seconds.toFixed(0)} s, ${crashes} sessions crashed`);
check(
  "outcomes and journals",
  problems.length === 0,
  `${emitted} events, ${problems.length} problems`,
);
const quarter = (index: number): Sample[] =>
  samples.filter(({ done }) => done > (jobs * index) / 4 && done <= (jobs * (index + 1)) / 4);
const [early, late] = [quarter(1), quarter(3)];
const heaps = [early, late].map((part) => median(part.map(({ heap }) => heap)));
const growth = (heaps[1] ?? 0) / (heaps[0] ?? 0);
const figures = heaps.map((heap) => heap.toFixed(1)).join(" → ");
check("node heap flat", growth < 1.25, `median ${figures} MB (× ${growth.toFixed(2)})`);
// Of one runtime: for a moment there are two, while the last sessions of the old one end.
const tops = [early, late].map((part) =>
  Math.max(...part.map(({ runtimes, runtimeCount }) => runtimes / Math.max(1, runtimeCount))),
);
const topRatio = (tops[1] ?? 0) / (tops[0] ?? 0);
const topFigures = tops.map((top) => top.toFixed(0)).join(" → ");
check("runtimes flat", topRatio < 1.4, `at most ${topFigures} MB each (× ${topRatio.toFixed(2)})`);
check(
  "a new runtime after each death, and after each share of sessions",
  restarts <= kills && (jobs < 1000 || runtimesSeen.size > restarts + 1),
  `${runtimesSeen.size} started, ${kills} kills, ${restarts} deaths seen`,
);

// All turns have begun before the first is answered.
const before = performance.now();
let release = (): void => {};
const open = new Promise<void>((resolve) => {
  release = resolve;
});
barrier = { waiting: 0, most: 0, release, open };
const giveUp = setTimeout(release, 60_000);
let peak = sample(0, before, runtimePids());
const watch = setInterval(() => {
  const now = sample(0, before, runtimePids());
  if (now.runtimes + now.rss > peak.runtimes + peak.rss) peak = now;
}, 500);
const problemsBefore = problems.length;
await Promise.all(
  Array.from({ length: parallel }, (_, index) => play("success", jobs + index + 1)),
);
clearTimeout(giveUp);
clearInterval(watch);
check(
  `${parallel} turns at once`,
  problems.length === problemsBefore && barrier.most === parallel,
  `${barrier.most} at the model server at the same time, ${((performance.now() - before) / 1000).toFixed(1)} s; ` +
    `node RSS ${peak.rss.toFixed(0)} MB, runtimes ${peak.runtimes.toFixed(0)} MB at the peak`,
);

await host.close();
await server.close();
const processes = processesWith(marks);
check("processes left", processes.length === 0, String(processes.length));
for (const name of ["temporary", "home", "work"] as const) {
  const left = existsSync(at[name]) ? readdirSync(at[name], { recursive: true }) : ["(gone)"];
  check(`files left in ${name}`, left.length === 0, left.slice(0, 5).join(", ") || "none");
}
rmSync(folder, { recursive: true, force: true });
for (const problem of problems.slice(0, 40)) console.log(`! ${problem}`);
process.exitCode = problems.length === 0 ? 0 : 1;
