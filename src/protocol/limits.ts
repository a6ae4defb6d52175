import { graceSeconds, toolSeconds } from "../tools/call.ts";

export const defaultLimits = {
  /** Calls at once, at least 1. Default: 8. */
  parallel: 8,
  /** Time limit of a call, unless its tool sets one. Default: 600. */
  toolSeconds,
  /** Time limit of another task, unless the delegation sets one. Default: 1,800. */
  delegateSeconds: 1800,
  /** How long a canceled call may take to stop before the executor goes on without it. Default: 10. */
  graceSeconds,
  /** The longest `wait` of the task manager. Default: 600. */
  waitSeconds: 600,
  /** A `wait` without `timeoutSeconds`. Default: 60. */
  defaultWaitSeconds: 60,
  /** Length of one result in a prompt. Default: 8,000. */
  resultCharacters: 8_000,
  /** Length of all results in a prompt together; each has at least 200. Default: 40,000. */
  deliveryCharacters: 40_000,
  /** Length of the params of an action, after references were replaced. Default: 1,000,000. */
  paramsCharacters: 1_000_000,
  /** Length of all variables, as JSON. Default: 1,000,000. */
  variablesCharacters: 1_000_000,
  /** Length of params, results and reasons in events. Default: 2,000. */
  eventCharacters: 2_000,
  /** Standing actions. Default: 8. */
  cards: 8,
  /** Time limit of a standing action, and of the excerpt of a relic. Default: 10. */
  cardSeconds: 10,
  /** Length of the output of a standing action. Default: 500. */
  cardTokens: 500,
  /** Length of the excerpt of a relic that has no `maxTokens`. Default: 2,000. */
  relicTokens: 2_000,
};

/** Limits of a document: its actions, those in groups included, and how deep groups may be nested. */
export const documentLimits = { actions: 32, depth: 3 } as const;

/** The bounds of an executor. All have defaults. */
export type ExecutorLimits = { readonly [Name in keyof typeof defaultLimits]: number };
