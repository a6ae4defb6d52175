import type { DrivingSessionRetry } from "../entry/model.ts";

export const MANAGED_ATTEMPTS = 5;

/** How often a prompt may be sent, and to which models: statements 4 and 5 of `docs/internals/engine.md`. */
export interface Attempts {
  readonly count: number;
  /** The model of the next attempt. After `count` of them, the first one again. */
  readonly nextModel: () => string;
}

export function sameModel(modelId: string, count: number): Attempts {
  return { count, nextModel: () => modelId };
}

export function roundRobin(first: string, budgets: readonly DrivingSessionRetry[]): Attempts {
  const models = inTurn(first, budgets);
  return {
    count: budgets.reduce((sum, { retries }) => sum + retries, 1),
    nextModel: () => models.next().value ?? first,
  };
}

/** Adds them one by one, because a budget may be any number. */
function* inTurn(first: string, budgets: readonly DrivingSessionRetry[]): Generator<string> {
  yield first;
  for (let round = 0, left = budgets; left.length > 0; round += 1) {
    left = left.filter(({ retries }) => retries > round);
    for (const { modelId } of left) yield modelId;
  }
}
