/** Runs of random trees whose journals other runs go on from. */
import type { FanOut } from "../../src/engine/fan-out.ts";
import { defined } from "../../src/text/guards.ts";
import type { PastEvent, PastRun } from "../../src/engine/past.ts";
import type { Limits, Task, Work } from "../../src/entry/model.ts";
import { commandName } from "../../src/entry/work.ts";
import type { RunEventBody } from "../../src/events/event.ts";
import { legName } from "../../src/events/plan.ts";
import { JOURNAL_FORMAT, journalLine } from "../../src/journal/read.ts";
import { commands, names } from "./commands.ts";
import { play, type Played } from "./engine.ts";
import { modelUsed } from "./fake-sessions.ts";
import { acts, dice, itemsIn, keyOf, ofCommand } from "./random-works.ts";

export const tasks: Readonly<Record<string, Task>> = Object.fromEntries(
  names.map((name) => [
    name,
    {
      model: { category: "work" },
      prompt: `${name} of $item. Before: $previous-result. $report-of-a $report-of-b Call job_report.`,
      criteria: { toolExecuted: ["job_boolean_true"], failureAction: { retryTimes: 0 } },
    },
  ]),
);

export interface Run extends Played {
  /** By work and items, and then by the number of the run of these. */
  readonly prompts: ReadonlyMap<string, string>;
  readonly journal: string;
}

export interface Options {
  readonly limits?: Limits;
  readonly past?: PastRun | undefined;
  readonly fanOut?: FanOut | undefined;
  readonly sides?: number;
  readonly id?: string;
}

/** The n-th run of a work for its items ends as the dice say, whoever has done those before it. */
export async function run(
  work: Work,
  seed: number,
  { past: given, fanOut, sides = 50, id = "r", limits }: Options = {},
): Promise<Run> {
  const runs = new Map<string, number[]>();
  const past = given && (await inMemory(given));
  // What has to be done again is as if it had not begun.
  for (const { workId, items } of past?.works ?? []) {
    const key = keyOf(workId, items);
    runs.set(key, [...(runs.get(key) ?? []), 0]);
  }
  const part = fanOut?.part;
  const leg = part?.kind === "shard" ? { leg: legName(part) } : {};
  const header = journalLine(0, { type: "journal", at: 0, format: JOURNAL_FORMAT });
  const lines = [header];
  const prompts = new Map<string, string>();
  const played = await play({
    tasks,
    work,
    ...defined({ past, fanOut }),
    limits: { loopIterations: 3, ...limits },
    play: ({ label, prompt }) => {
      const key = keyOf(label.workId, itemsIn(label));
      const count = (runs.get(key)?.indexOf(label.iteration) ?? -1) + 1;
      const name = `${key} ${count}`;
      prompts.set(name, prompt);
      const outcome = dice(seed, key, count, sides);
      return {
        takes: 1_000 - 10 * label.workId,
        text: `answer of ${name}`,
        calls: [["job_report", { markdown: `report of ${name}` }]],
        acts: [modelUsed(10, false, 1)],
        ...acts[outcome],
      };
    },
    workspace: commands(({ command, variables }) =>
      ofCommand(seed, commandName(command), variables["AGENT_JOBS_ITEM"]),
    ),
    onEvent(event, clock) {
      const stamp = { at: clock.now(), runId: id, ...(event.past === true ? {} : leg) };
      lines.push(journalLine(lines.length, { ...stamp, ...event }));
      if (event.type !== "work.started" || event.past === true) return;
      const key = keyOf(event.work.workId, itemsIn(event.work));
      runs.set(key, [...(runs.get(key) ?? []), event.work.iteration]);
    },
  });
  return { ...played, prompts, journal: lines.join("") };
}

/** A fake clock doesn't wait for files. */
async function inMemory(past: PastRun): Promise<PastRun> {
  if (past.events === undefined) return past;
  const all: PastEvent[] = [];
  for await (const one of past.events.read()) all.push(one);
  async function* read(): AsyncIterable<PastEvent> {
    yield* all;
  }
  return { ...past, events: { ...past.events, read } };
}

/** Works that are done for good, each with its items and its number. */
export function done(events: readonly RunEventBody[]): readonly string[] {
  return events.flatMap((event) =>
    event.type === "work.ended" && event.outcome.kind === "succeeded"
      ? [keyOf(event.work.workId, itemsIn(event.work))]
      : [],
  );
}
