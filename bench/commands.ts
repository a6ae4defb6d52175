/** Commands beside the start of plain Node. Their goals were set where that takes 33 ms of CPU and 40 ms in all. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { createJournal } from "../src/journal/write.ts";
import { tell } from "../test/rig/tell.ts";
import { largeRun } from "../test/web/large-run.ts";
import { cli, command, entryOf, ref, temporary, type Figures, type Row, type Side } from "./rig.ts";

const ROUNDS = 5;

/** A tick of the CPU time is 10 ms, so short commands run several times. */
async function rounds(args: readonly string[], count: number): Promise<Figures> {
  const all: Figures[] = [];
  for (let round = 0; round < count; round += 1) all.push(await commandFigures(args));
  const mean = (figure: string): number =>
    all.reduce((sum, one) => sum + (one[figure] ?? Number.NaN), 0) / count;
  return Object.fromEntries(Object.keys(all[0] ?? {}).map((figure) => [figure, mean(figure)]));
}

async function commandFigures(args: readonly string[]): Promise<Figures> {
  const measured = await command(args);
  return {
    "CPU time, ms": measured["CPU time, s"] * 1000,
    "wall time, ms": measured["wall time, s"] * 1000,
    "memory, MB": measured["memory, MB"],
  };
}

const plain: Side = { name: "plain Node", run: () => rounds(["--eval", "0"], ROUNDS) };

function of(args: string, count = 1, prepare = async (): Promise<void> => {}): Side {
  return {
    name: args,
    run: async (dist) => {
      await prepare();
      return rounds([cli(dist), ...args.split(" ")], count);
    },
  };
}

const names = Array.from({ length: 10_000 }, (_, index) => `task${index}`);
const task = { prompt: "Read README.md and say what it is about.", model: { category: "driving" } };
const large = {
  ...entryOf("", ref),
  tasks: Object.fromEntries(names.map((name) => [name, task])),
  jobs: { job: { work: { kind: "Seq", works: names.map((taskId) => ({ kind: "Ref", taskId })) } } },
};

const inTemporary = (name: string): string => join(temporary, name);
const writeEntries = async (): Promise<void> => {
  await writeFile(inTemporary("large.json"), JSON.stringify(large, null, 2));
  await writeFile(inTemporary("large.yml"), stringify(large, { aliasDuplicateObjects: false }));
};
const writeJournal = async (): Promise<void> => {
  const journal = createJournal(inTemporary("large.jsonl"));
  tell(journal, ...largeRun({ events: 100_000 }));
  await journal.close?.();
};

export const rows: readonly Row[] = [
  {
    name: "print the version",
    sides: [of("--version", ROUNDS), plain],
    most: { "CPU time, ms": 3.6 },
  },
  {
    name: "validate 10,000 tasks in JSON",
    sides: [of("validate large.json", 1, writeEntries), plain],
    most: { "CPU time, ms": 36 },
  },
  {
    name: "validate 10,000 tasks in YAML",
    sides: [of("validate large.yml", 1, writeEntries), plain],
    most: { "CPU time, ms": 76 },
  },
  {
    name: "report of 100,000 events",
    sides: [of("report large.jsonl -o large.html", 1, writeJournal), plain],
    most: { "wall time, ms": 75 },
    atMost: { "memory, MB": 250 },
  },
];
