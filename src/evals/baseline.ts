import { readFile } from "node:fs/promises";
import { parsedJson } from "../document/guards.ts";
import { count, dictionary, exactly, faultOf, fits, record, type TypeOf } from "../events/shape.ts";
import { errorCode, errorMessage } from "../platform/system-error.ts";
import { UsageError } from "../run/options.ts";
import { writeTextFile } from "../run/options-paths.ts";
import type { MeasuredCase } from "./summary.ts";

const baseline = record({
  version: exactly(1),
  cases: dictionary(record({ passed: count, runs: count })),
});
export type Baseline = TypeOf<typeof baseline>["cases"];

/** Throws a `UsageError`. `mayLack`: the file may be missing; then it has no cases. */
export async function readBaseline(file: string, mayLack: boolean): Promise<Baseline> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    if (mayLack && errorCode(error) === "ENOENT") return undefined;
    const hint = errorCode(error) === "ENOENT" ? " Write it with --update-baseline." : "";
    throw new UsageError(`Can't read the baseline ${file}: ${errorMessage(error)}.${hint}`);
  });
  if (text === undefined) return {};
  const value = parsedJson(text);
  if (!fits(baseline, value))
    throw new UsageError(`${file} is not a baseline: ${faultOf(baseline, value) ?? ""}`);
  return value.cases;
}

/** Cases that did not run keep what the baseline says of them. */
export async function writeBaseline(
  file: string,
  before: Baseline,
  measured: readonly MeasuredCase[],
): Promise<void> {
  const now = measured
    .filter(({ runs }) => runs > 0)
    .map(({ key, passed, runs }) => [key, { passed, runs }] as const);
  const cases = Object.fromEntries(
    Object.entries({ ...before, ...Object.fromEntries(now) }).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
  const text = `${JSON.stringify({ version: 1, cases }, null, 2)}\n`;
  await writeTextFile(file, text, "the baseline ");
}
