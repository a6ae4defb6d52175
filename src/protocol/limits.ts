import { graceSeconds, toolSeconds } from "../tools/call.ts";

/** The bounds of an executor. All have defaults. */
export interface ExecutorLimits {
  /** Calls at once, at least 1. Default: 8. */
  readonly parallel: number;
  /** Of a call, where its tool has no limit of its own. Default: 600. */
  readonly toolSeconds: number;
  /** Of another task, where the delegation has no limit of its own. Default: 1,800. */
  readonly delegateSeconds: number;
  /** How long a canceled call may take to stop before the executor goes on without it. Default: 10. */
  readonly graceSeconds: number;
  /** The longest `wait` of the task manager. Default: 600. */
  readonly waitSeconds: number;
  /** A `wait` without `timeoutSeconds`. Default: 60. */
  readonly defaultWaitSeconds: number;
  /** Of one result in a prompt. Default: 8,000. */
  readonly resultCharacters: number;
  /** Of all results in a prompt together; each has at least 200. Default: 40,000. */
  readonly deliveryCharacters: number;
  /** Of the params of an action, after references were replaced. Default: 1,000,000. */
  readonly paramsCharacters: number;
  /** Of all variables, as JSON. Default: 1,000,000. */
  readonly variablesCharacters: number;
  /** Of params, results and reasons in events. Default: 2,000. */
  readonly eventCharacters: number;
  /** Standing actions. Default: 8. */
  readonly cards: number;
  /** Of a standing action, and of the excerpt of a relic. Default: 10. */
  readonly cardSeconds: number;
  /** Of the output of a standing action. Default: 500. */
  readonly cardTokens: number;
  /** Of the excerpt of a relic that has no `maxTokens`. Default: 2,000. */
  readonly relicTokens: number;
}

export const defaultLimits: ExecutorLimits = {
  parallel: 8,
  toolSeconds,
  delegateSeconds: 1800,
  graceSeconds,
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
