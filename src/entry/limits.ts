/** Bounds of a run. Minutes and cost may be fractions; infinity is none. */
import { positive, whole, map, object } from "./schema-parts.ts";
import type { SchemaType } from "../document/describe.ts";
import { CREDITS_PER_USD } from "../text/numbers.ts";

/* Prices of model calls whose cost the runtime doesn't report: those on your own server. */

const usd = (of: string) =>
  ({ type: "number", minimum: 0, description: `USD for a million ${of}.` }) as const;

const price = object(
  {
    input: usd("input tokens"),
    cached: usd("input tokens from a cache. Default: `input`"),
    output: usd("output tokens, with those of reasoning"),
  },
  ["input", "output"],
);
/** USD for a million tokens. */
export type ModelPrice = SchemaType<typeof price>;
/** Keyed by model id; `default` is for all others. */
export type Prices = Readonly<Record<string, ModelPrice>>;

export const pricesSchema = map(price, {
  title: "Prices",
  description:
    "Prices of the models of your own server, by model id; `default` is for all others. Copilot reports the cost of its models.",
  examples: [{ qwen3: { input: 0.4, cached: 0.1, output: 1.2 } }],
});

interface Tokens {
  readonly modelId: string;
  /** Includes those from a cache. */
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly outputTokens: number;
}

/** Undefined: the model has no price. */
export function creditsOf(prices: Prices | undefined, used: Tokens): number | undefined {
  const of = (id: string) =>
    prices !== undefined && Object.hasOwn(prices, id) ? prices[id] : undefined;
  const found = of(used.modelId) ?? of("default");
  if (found === undefined) return undefined;
  const { input, cached = input, output } = found;
  const fromCache = Math.min(used.cacheReadTokens, used.inputTokens);
  const millionths =
    (used.inputTokens - fromCache) * input + fromCache * cached + used.outputTokens * output;
  return (millionths / 1e6) * CREDITS_PER_USD;
}

const minutes = (of: string): ReturnType<typeof positive> =>
  positive(`Minutes (may be fractions) of ${of}.`);

/** The default and the description of each limit. */
const table = {
  jobMinutes: [60, minutes("the job. When exceeded, the job fails")],
  // Far more than a job needs. They bound the cost of a mistake or a flood of events.
  tokens: [20_000_000, whole("Input and output tokens of the job. When exceeded, the job fails.")],
  cost: [
    1000,
    positive(
      "Cost of the job in AI credits of GitHub Copilot (0.01 USD each, may be a fraction), or by `prices`. When exceeded, the job fails.",
    ),
  ],
  runsPerDay: [
    Infinity,
    whole(
      "Runs of the GitHub workflow in 24 hours. When exceeded, the run is skipped. Only in the action.",
    ),
  ],
  runsPerActorPerDay: [
    Infinity,
    whole(
      "Runs of the GitHub workflow in 24 hours that the same user triggered. When exceeded, the run is skipped. Only in the action.",
    ),
  ],
  taskMinutes: [30, minutes("one iteration of a task. When exceeded, the task fails")],
  rateLimitMinutes: [
    Infinity,
    minutes(
      "waiting for rate limits of the model server, per prompt. Default: `taskMinutes`. If a limit resets later, the job fails at once",
    ),
  ],
  modelCalls: [
    200,
    whole("Model calls of one iteration of a task. When exceeded, the task fails."),
  ],
  turnMinutes: [15, minutes("a turn. When exceeded, the turn crashes")],
  idleMinutes: [5, minutes("silence while no tool runs. When exceeded, the turn crashes")],
  loopIterations: [100, whole("Iterations of one Loop. When exceeded, the loop fails.")],
  parallel: [8, whole("Maximum number of concurrent steps and turns. Further ones wait.")],
  activityHits: [
    3,
    whole("Runs of one activity in one run of its workflow file. When exceeded, the file fails."),
  ],
  activities: [
    10_000,
    whole("Activities of one run of a workflow. When exceeded, the workflow fails."),
  ],
  callDepth: [
    10,
    whole("CALLs of workflow files within one another. When exceeded, the CALL fails."),
  ],
  promptCharacters: [
    1_000_000,
    whole("Characters of one prompt of a workflow. When exceeded, the PROMPT fails."),
  ],
  outputCharacters: [
    100_000,
    whole("Characters of the output of one EXECUTE. When exceeded, the EXECUTE fails."),
  ],
  commandMinutes: [30, minutes("one EXECUTE. When exceeded, the EXECUTE fails")],
  commandIdleMinutes: [10, minutes("silence of an EXECUTE. When exceeded, the EXECUTE fails")],
} as const;

/** All optional, all positive. Defaults: `defaultLimits`. */
export type Limits = { readonly [Name in keyof typeof table]?: number };

export const workflowLimits = [
  "activityHits",
  "activities",
  "callDepth",
  "promptCharacters",
  "outputCharacters",
  "commandMinutes",
  "commandIdleMinutes",
] as const satisfies readonly (keyof Limits)[];

type Table<Column extends 0 | 1> = {
  readonly [Name in keyof typeof table]: (typeof table)[Name][Column];
};

function column<Column extends 0 | 1>(index: Column): Table<Column>;
function column(index: number): object {
  return Object.fromEntries(Object.entries(table).map(([name, row]) => [name, row[index]]));
}

export const defaultLimits = column(0);
/** For limits that override those of an entry: without defaults, because the entry has the fallback. */
export const overridingLimits = column(1);

export const limitProperties: object = Object.fromEntries(
  Object.entries(table).map(([name, [fallback, { description, ...rules }]]) => {
    const bounded = Number.isFinite(fallback) ? { default: fallback } : {};
    return [name, { ...rules, ...bounded, description }];
  }),
);
