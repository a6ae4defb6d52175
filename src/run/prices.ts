import { schemaCheck } from "../document/schema-check.ts";
import type { PreparedEntry, Prices } from "../entry/model.ts";
import { pricesSchema } from "../entry/limits.ts";
import type { Environment } from "../platform/environment.ts";
import { parsedJson } from "../text/guards.ts";
import { UsageError } from "./options.ts";

const VARIABLE = "AGENT_JOBS_PRICES";
const check = schemaCheck<Prices>(pricesSchema, VARIABLE);

/** Adds the prices of the environment, which are those of its model server and override those of the entry. */
export function withPrices(entry: PreparedEntry, environment: Environment): PreparedEntry {
  const text = environment[VARIABLE] ?? "";
  if (text === "") return entry;
  const prices = parsedJson(text);
  if (!check.accepts(prices))
    throw new UsageError(
      `${VARIABLE} must be JSON like \`prices\` of an entry. ${check.fault(prices)}`,
    );
  return { ...entry, prices: { ...entry.prices, ...prices } };
}

/** Sets all prices to 0, because a script plays the model. */
export function withoutCost(entry: PreparedEntry): PreparedEntry {
  return { ...entry, prices: { default: { input: 0, output: 0 } } };
}
