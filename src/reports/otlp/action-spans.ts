/** The actions of the protocol in one work, its standing actions left out. */
import type { ActionEvent, ActionWaiting } from "../../events/action.ts";
import type { OpenSpan, RunSpans } from "./span.ts";
import { toolAttributes } from "./task-spans.ts";

interface UnderWay {
  readonly head: ActionWaiting;
  /** Undefined while it waits. */
  span: OpenSpan | undefined;
}

export class ActionSpans {
  readonly #run: RunSpans;
  readonly #underWay = new Map<string, UnderWay>();

  constructor(run: RunSpans) {
    this.#run = run;
  }

  /** `attempt`: of the task, whose answer the actions are in. */
  apply(event: ActionEvent, task: OpenSpan, attempt: OpenSpan | undefined, at: number): void {
    const { type } = event;
    if (type !== "action.waiting" && type !== "action.started" && type !== "action.ended") return;
    const placeOf = (id: string): string => `${task.place}/action/${event.iteration}/${id}`;
    const place = placeOf(event.id);
    if (type === "action.waiting") {
      this.#underWay.set(place, { head: event, span: undefined });
      return;
    }
    const action = this.#underWay.get(place);
    if (action === undefined) return;
    const { group } = action.head;
    const above = group === undefined ? undefined : this.#underWay.get(placeOf(group))?.span;
    action.span ??= (above ?? attempt ?? task).open(headOf(action.head, place, at));
    if (type === "action.started") {
      action.span.set(this.#run.content({ "gen_ai.tool.call.arguments": event.params }));
      return;
    }
    this.#underWay.delete(place);
    const { status, output, reason } = event;
    action.span.end(at, {
      attributes: {
        "agent_jobs.outcome": status,
        ...this.#run.content({ "gen_ai.tool.call.result": output }),
      },
      ...((status === "failed" || status === "timed_out") && { error: status, reason }),
    });
  }

  /** Of those that run a task, the one that was started last. */
  get delegating(): OpenSpan | undefined {
    const running = [...this.#underWay.values()];
    return running.findLast(({ head, span }) => head.kind === "delegate" && span !== undefined)
      ?.span;
  }
}

function headOf(
  { id, iteration, action, kind, execution }: ActionWaiting,
  place: string,
  startedAt: number,
): Parameters<OpenSpan["open"]>[0] {
  const isTool = kind === "tool";
  return {
    place,
    name: `${isTool ? "execute_tool" : `action ${kind}`} ${action}`,
    startedAt,
    attributes: {
      ...(isTool && toolAttributes(action)),
      "agent_jobs.action.id": id,
      "agent_jobs.action.kind": kind,
      "agent_jobs.action.execution": execution,
      "agent_jobs.action.iteration": iteration,
    },
  };
}
