/** The events that report the transitions of an action. */
import { defined } from "../document/guards.ts";
import type { ActionEvent } from "../events/action.ts";
import { beginningOf } from "../events/cut.ts";
import { displayOf } from "./display.ts";
import type { ExecutorLimits } from "./limits.ts";
import { type Ended, reasonOf, type Task } from "./task.ts";

type Lengths = Pick<ExecutorLimits, "eventCharacters">;

export function waitingEvent({ id, iteration, planned, group }: Task): ActionEvent {
  const { spec, target, execution, inThought, requires } = planned;
  const display = displayOf(spec);
  return {
    type: "action.waiting",
    id,
    iteration,
    action: spec.action,
    kind: target.kind,
    execution,
    ...(group === undefined ? {} : { group: group.id }),
    ...(inThought ? { inThought } : {}),
    ...(requires.length === 0 ? {} : { requires }),
    ...defined({ display }),
  };
}

export function startedEvent(
  { id, iteration, isGroup, state }: Task,
  { eventCharacters }: Lengths,
): ActionEvent {
  const started = { type: "action.started", id, iteration } as const;
  if (isGroup || state.status !== "running") return started;
  return { ...started, params: beginningOf(JSON.stringify(state.params), eventCharacters) };
}

export function endedEvent(
  { id, iteration, startedAt, endedAt = 0, replayed }: Task,
  ended: Ended,
  { eventCharacters }: Lengths,
): ActionEvent {
  const reason = reasonOf(ended);
  const content = "output" in ended ? ended.output?.text : undefined;
  return {
    type: "action.ended",
    id,
    iteration,
    status: ended.status,
    milliseconds: startedAt === undefined ? 0 : endedAt - startedAt,
    ...(reason === undefined ? {} : { reason: beginningOf(reason, eventCharacters) }),
    ...(ended.status === "skipped" ? { cause: ended.cause } : {}),
    ...(content === undefined
      ? {}
      : {
          output: beginningOf(content, eventCharacters),
          outputCharacters: content.length,
        }),
    ...(replayed ? { replayed } : {}),
  };
}
