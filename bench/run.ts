/**
 * The benchmarks of docs/internals/performance.md. Each row runs its two sides in turns, and prints the medians of their
 * figures with the least and the greatest, and the ratios. Fails if a goal is not met. Linux only.
 *
 *   npm run bench -- [PART...] [--pairs 5] [--only WORD] [--dist FOLDER]    (the `dist` of another build, to compare)
 */
import { execFile } from "node:child_process";
import { cp } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs, promisify } from "node:util";
import { median, removeTemporary, temporary, type Figures, type Row } from "./rig.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    pairs: { type: "string", default: "5" },
    only: { type: "string", default: "" },
    dist: { type: "string" },
  },
});

const parts: Readonly<Record<string, () => Promise<{ readonly rows: readonly Row[] }>>> = {
  sessions: () => import("./sessions.ts"),
  commands: () => import("./commands.ts"),
  engine: () => import("./engine.ts"),
  page: () => import("./page.ts"),
  items: () => import("./items.ts"),
  merge: () => import("./merge.ts"),
  journals: () => import("./journals.ts"),
};

/** What users start: the bundles, not the many files of the build. */
async function bundle(): Promise<string> {
  const root = join(import.meta.dirname, "..", "..");
  const args = [join(root, "scripts", "bundle.mjs"), "--out", temporary];
  await promisify(execFile)(process.execPath, args, { cwd: root });
  await cp(join(root, "package.json"), join(temporary, "package.json"));
  return join(temporary, "dist");
}

const number = (value: number): string => String(Number(value.toFixed(value < 10 ? 2 : 0)));

function spread(list: readonly number[]): string {
  const [least, greatest] = [Math.min(...list), Math.max(...list)];
  return least === greatest
    ? number(least)
    : `${number(median(list))} (${number(least)}–${number(greatest)})`;
}

/** Compares with a goal, if there is one. */
function judge(value: number, goal: number | undefined): string {
  if (goal === undefined) return "";
  if (value <= goal) return `, goal ${goal}`;
  process.exitCode = 1;
  return `, ABOVE ${goal}`;
}

async function measure({ name, sides, most = {}, atMost = {} }: Row, dist: string): Promise<void> {
  const pairs: (readonly [Figures, Figures])[] = [];
  const [first, second] = sides;
  for (let pair = 0; pair < Number(values.pairs); pair += 1) {
    // The sides take turns in being the first.
    if (pair % 2 === 0) pairs.push([await first.run(dist), await second.run(dist)]);
    else {
      const theirs = await second.run(dist);
      pairs.push([await first.run(dist), theirs]);
    }
  }
  console.log(`${name}: ${first.name} | ${second.name}`);
  for (const figure of Object.keys(pairs[0]?.[0] ?? {})) {
    const [ours = [], theirs = []] = [0, 1].map((side) =>
      pairs.map((pair) => pair[side]?.[figure] ?? Number.NaN),
    );
    const ratios = ours.map((value, index) => value / (theirs[index] ?? Number.NaN));
    const isRatio = ratios.every(Number.isFinite);
    console.log(
      [
        `  ${figure.padEnd(28)} ${spread(ours)}${judge(median(ours), atMost[figure])} | ${spread(theirs)}`,
        isRatio ? `: ${spread(ratios)} ×${judge(median(ratios), most[figure])}` : "",
      ].join(""),
    );
  }
}

try {
  const dist = values.dist === undefined ? await bundle() : resolve(values.dist);
  for (const part of positionals.length > 0 ? positionals : Object.keys(parts)) {
    const { rows = [] } = (await parts[part]?.()) ?? {};
    if (rows.length === 0) throw new Error(`There is no part ${part}.`);
    for (const row of rows) if (row.name.includes(values.only)) await measure(row, dist);
  }
} finally {
  await removeTemporary();
}
