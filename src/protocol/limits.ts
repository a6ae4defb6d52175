import { graceSeconds, toolSeconds } from "../tools/call.ts";

export const defaultLimits = {
  /** Calls at once, at least 1. Default: 8. */
  parallel: 8,
  /** Of a call, where its tool has no limit of its own. Default: 600. */
  toolSeconds,
  /** Of another task, where the delegation has no limit of its own. Default: 1,800. */
  delegateSeconds: 1800,
  /** How long a canceled call may take to stop before the executor goes on without it. Default: 10. */
  graceSeconds,
  /** The longest `wait` of the task manager. Default: 600. */
  waitSeconds: 600,
  /** A `wait` without `timeoutSeconds`. Default: 60. */
  defaultWaitSeconds: 60,
  /** Of one result in a prompt. Default: 8,000. */
  resultCharacters: 8_000,
  /** Of all results in a prompt together; each has at least 200. Default: 40,000. */
  deliveryCharacters: 40_000,
  /** Of the params of an action, after references were replaced. Default: 1,000,000. */
  paramsCharacters: 1_000_000,
  /** Of all variables, as JSON. Default: 1,000,000. */
  variablesCharacters: 1_000_000,
  /** Of params, results and reasons in events. Default: 2,000. */
  eventCharacters: 2_000,
  /** Standing actions. Default: 8. */
  cards: 8,
  /** Of a standing action, and of the excerpt of a relic. Default: 10. */
  cardSeconds: 10,
  /** Of the output of a standing action. Default: 500. */
  cardTokens: 500,
  /** Of the excerpt of a relic that has no `maxTokens`. Default: 2,000. */
  relicTokens: 2_000,
};

/** Of a document: its actions, those in groups included, and how deep groups may be nested. */
export const documentLimits = { actions: 32, depth: 3 } as const;

/** The bounds of an executor. All have defaults. */
export type ExecutorLimits = { readonly [Name in keyof typeof defaultLimits]: number };
