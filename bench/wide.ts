/**
 * Wide jobs. Each row runs two commands in turns and prints the medians of their figures, with the least and the
 * greatest, and the ratio. Linux only.
 *
 *   npm run bench:wide [-- --pairs 3] [--only WORD] [--dist FOLDER]    (another build's `dist`, for figures of before)
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundleCommandLine, close, commandLine } from "./sessions/sides.ts";
import { median } from "./sessions/workload.ts";
import { rows as items } from "./wide/items.ts";
import { rows as journals } from "./wide/journals.ts";
import { rows as legs } from "./wide/legs.ts";
import type { Figures, Row } from "./wide/row.ts";

const rows: readonly Row[] = [...items, ...legs, ...journals];

const { values } = parseArgs({
  options: {
    pairs: { type: "string", default: "3" },
    only: { type: "string", default: "" },
    dist: { type: "string" },
  },
});
const bundle = values.dist === undefined ? commandLine : join(values.dist, "cli", "index.js");

const number = (value: number): string => String(Number(value.toFixed(value < 10 ? 2 : 0)));

function spread(list: readonly number[]): string {
  const [least, greatest] = [Math.min(...list), Math.max(...list)];
  return `${number(median(list))} (${number(least)}–${number(greatest)})`;
}

async function measure({ name, sides, most = {} }: Row): Promise<void> {
  const pairs: (readonly [Figures, Figures])[] = [];
  for (let pair = 0; pair < Number(values.pairs); pair += 1)
    pairs.push([await sides[0].run(bundle), await sides[1].run(bundle)]);
  console.log(`${name}: ${sides[0].name} | ${sides[1].name}`);
  for (const figure of Object.keys(pairs[0]?.[0] ?? {})) {
    const [ours = [], theirs = []] = [0, 1].map((side) =>
      pairs.map((pair) => pair[side]?.[figure] ?? Number.NaN),
    );
    const ratios = ours.map((value, index) => value / (theirs[index] ?? Number.NaN));
    const goal = most[figure];
    const isAbove = goal !== undefined && median(ratios) > goal;
    if (isAbove) process.exitCode = 1;
    const ratio =
      goal === undefined ? "" : `: ${spread(ratios)} ×, ${isAbove ? "above" : "goal"} ${goal}`;
    console.log(`  ${figure.padEnd(28)} ${spread(ours)} | ${spread(theirs)}${ratio}`);
  }
}

try {
  if (values.dist === undefined) await bundleCommandLine();
  for (const row of rows) if (row.name.includes(values.only)) await measure(row);
} finally {
  await close();
}
