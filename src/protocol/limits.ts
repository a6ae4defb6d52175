/** The bounds of an executor. All have defaults. */
export interface ExecutorLimits {
  /** Calls at once. */
  readonly parallel: number;
  /** Of a call, where its tool has no limit of its own. */
  readonly toolSeconds: number;
  readonly delegateSeconds: number;
  /** How long a canceled call may take to stop before the executor goes on without it. */
  readonly graceSeconds: number;
  /** The longest `wait` of the task manager. */
  readonly waitSeconds: number;
  /** A `wait` without `timeoutSeconds`. */
  readonly defaultWaitSeconds: number;
  /** Of one result in a prompt. */
  readonly resultCharacters: number;
  /** Of all results in a prompt together. */
  readonly deliveryCharacters: number;
  /** Of the params of an action, after references were replaced. */
  readonly paramsCharacters: number;
  /** Of all variables, as JSON. */
  readonly variablesCharacters: number;
  /** Of params and results in events. */
  readonly eventCharacters: number;
  /** Standing actions. */
  readonly cards: number;
  readonly cardSeconds: number;
  readonly cardTokens: number;
  /** Of the excerpt of a relic that has no `maxTokens`. */
  readonly relicTokens: number;
}

const defaultLimits: ExecutorLimits = {
  parallel: 8,
  toolSeconds: 600,
  delegateSeconds: 1800,
  graceSeconds: 10,
  waitSeconds: 600,
  defaultWaitSeconds: 60,
  resultCharacters: 8_000,
  deliveryCharacters: 40_000,
  paramsCharacters: 1_000_000,
  variablesCharacters: 1_000_000,
  eventCharacters: 2_000,
  cards: 8,
  cardSeconds: 10,
  cardTokens: 500,
  relicTokens: 2_000,
};

/** Throws if one of them is no number, or negative: with it, something would never start, or never end. */
export function limitsOf(given: Partial<ExecutorLimits> = {}): ExecutorLimits {
  const limits = { ...defaultLimits, ...given };
  for (const [name, limit] of Object.entries(limits)) {
    const least = name === "parallel" ? 1 : 0;
    if (typeof limit !== "number" || !(limit >= least)) {
      throw new Error(`The limit "${name}" must be a number of at least ${least}.`);
    }
  }
  return limits;
}

/** A token has about four characters. */
export const charactersPerToken = 4;
