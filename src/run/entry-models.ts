/** What the options and the environment change in the models of an entry. */
import { schemaCheck } from "../document/schema-check.ts";
import type { LeafWork, Model, PreparedEntry, Prices } from "../entry/model.ts";
import { pricesSchema } from "../entry/limits.ts";
import type { Environment } from "../platform/environment.ts";
import { parsedJson } from "../text/guards.ts";
import { mapLeaves } from "../entry/work.ts";
import { ALL_MODELS, guessText, type Models, UsageError } from "./options.ts";

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

/** Throws a `UsageError` for a category that the entry doesn't have. */
export function overrideModels(entry: PreparedEntry, given: Models): PreparedEntry {
  const { [ALL_MODELS]: all, ...models } = given;
  if (all !== undefined) return overrideModels(withModel(entry, all), models);
  const known = Object.keys(entry.models);
  const unknown = Object.keys(models).find((category) => !known.includes(category));
  if (unknown !== undefined)
    throw new UsageError(
      `There is no model category ${JSON.stringify(unknown)} in the entry${guessText(unknown, known)}. It has: ${known.join(", ")}.`,
    );
  const { driving } = models;
  // The first of them stands for the driving model itself.
  const retries = entry.drivingSessionRetries?.map((retry, index) =>
    index === 0 && driving !== undefined ? { ...retry, modelId: driving } : retry,
  );
  return { ...entry, models: { ...entry.models, ...models }, drivingSessionRetries: retries };
}

function withModel(entry: PreparedEntry, id: string): PreparedEntry {
  const { models, tasks, jobs, drivingSessionRetries: retries } = entry;
  const replaced = (model: Model | undefined): Model | undefined =>
    model !== undefined && "id" in model ? { id } : model;
  const withId = (leaf: LeafWork<number>): LeafWork<number> =>
    leaf.kind === "Ref" ? { ...leaf, modelOverride: replaced(leaf.modelOverride) } : leaf;
  return {
    ...entry,
    models: { ...mapped(models, () => id), driving: id },
    tasks: mapped(tasks, (task) => ({ ...task, model: replaced(task.model) })),
    jobs: mapped(jobs, (job) => ({
      ...job,
      work: mapLeaves<number, number, LeafWork<number>>(job.work, withId),
    })),
    drivingSessionRetries: retries?.map((retry) => ({ ...retry, modelId: id })),
  };
}

function mapped<T, R>(
  values: Readonly<Record<string, T>>,
  change: (value: T) => R,
): Readonly<Record<string, R>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}
