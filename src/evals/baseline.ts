/** The pass rates that an eval is compared with: a small JSON file, meant to be committed. */
import { readFile, writeFile } from "node:fs/promises";
import { parsedJson } from "../document/guards.ts";
import { schemaCheck } from "../document/schema-check.ts";
import { errorCode, errorMessage } from "../platform/system-error.ts";
import { UsageError } from "../run/options.ts";
import type { Baseline, Measured } from "./summary.ts";

interface BaselineFile {
  readonly version: 1;
  readonly cases: Baseline;
}

const count = { type: "integer", minimum: 0 } as const;
const schema = schemaCheck<BaselineFile>(
  {
    type: "object",
    required: ["version", "cases"],
    properties: {
      version: { const: 1 },
      cases: {
        type: "object",
        additionalProperties: {
          type: "object",
          required: ["passed", "runs"],
          properties: { passed: count, runs: count },
        },
      },
    },
  },
  "baseline",
);

/** Throws a `UsageError`. `mayLack`: the file may be missing; then it has no cases. */
export async function readBaseline(file: string, mayLack: boolean): Promise<Baseline> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    if (mayLack && errorCode(error) === "ENOENT") return undefined;
    const hint = errorCode(error) === "ENOENT" ? " Write it with --update-baseline." : "";
    throw new UsageError(`Can't read the baseline ${file}: ${errorMessage(error)}.${hint}`);
  });
  if (text === undefined) return {};
  const value = parsedJson(text);
  if (!schema.accepts(value)) {
    const [problem] = schema.problems(value);
    throw new UsageError(
      `${file} is not a baseline: ${problem?.codePath ?? ""} ${problem?.reason ?? ""}`,
    );
  }
  const wrong = Object.entries(value.cases).find(([, one]) => one.passed > one.runs);
  if (wrong !== undefined)
    throw new UsageError(`${file} is not a baseline: "${wrong[0]}" passed more often than it ran.`);
  return value.cases;
}

/** Cases that did not run keep what the baseline says of them. */
export async function writeBaseline(
  file: string,
  before: Baseline,
  measured: readonly Measured[],
): Promise<void> {
  const now = measured
    .filter(({ runs }) => runs > 0)
    .map(({ key, passed, runs }) => [key, { passed, runs }] as const);
  const cases = Object.fromEntries(
    Object.entries({ ...before, ...Object.fromEntries(now) }).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
  await writeFile(file, `${JSON.stringify({ version: 1, cases }, null, 2)}\n`).catch(
    (error: unknown) => {
      throw new UsageError(`Can't write the baseline ${file}: ${errorMessage(error)}`);
    },
  );
}
