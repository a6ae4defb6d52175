/** The action protocol for applications: with the real clock, unless they bring their own. */
import type { Clock } from "../platform/clock.ts";
import { systemClock } from "../platform/system-clock.ts";
import {
  type ActionExecutor,
  createActionExecutor as createWithClock,
  type ExecutorOptions,
} from "../protocol/executor.ts";
import { messageSchema } from "../protocol/read-message.ts";

/** The tools of an executor, its limits and its listener. */
export interface ActionExecutorOptions extends Omit<ExecutorOptions, "clock"> {
  /** Where time comes from, for tests. Default: the system's clock. */
  readonly clock?: Clock;
}

/**
 * The JSON Schema of a document (draft 2020-12), as in `schema/action-protocol.schema.json`: what a model server can be
 * asked to answer in. What it can't express, such as known names and unique ids, is checked by `execute`.
 */
export const actionDocumentSchema: Readonly<Record<string, unknown>> = messageSchema;

/**
 * Executes documents of the action protocol without a job: document in, results out. Everything in `tools`, `relics`
 * and `delegation` may be called: rights are up to the caller. See `docs/library.md`.
 *
 * Throws if names are used twice or reserved (`task_manager`, `trap_card`, `delegate`), or if the `parameters` of a
 * tool are not a valid JSON Schema.
 */
export function createActionExecutor(options: ActionExecutorOptions): ActionExecutor {
  const { clock = systemClock, ...rest } = options;
  return createWithClock({ ...rest, clock });
}
