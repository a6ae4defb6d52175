/** Prices of model calls whose cost the runtime doesn't report: those on your own server. */
import type { SchemaType } from "../document/describe.ts";
import { CREDITS_PER_USD } from "../text/numbers.ts";
import { map, object } from "./schema-parts.ts";

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
