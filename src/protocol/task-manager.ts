import { isList } from "../text/guards.ts";
import type { Clock } from "../platform/clock.ts";
import { within } from "../platform/waiting.ts";
import { failed, type CallContext, type ToolOutcome } from "../tools/tool.ts";
import type { Params } from "./catalogue.ts";
import type { ExecutorLimits } from "./catalogue.ts";
import { contentOf, isEnded, type Task, viewOf } from "./task.ts";
import { truncateUnredacted } from "../text/truncate.ts";

export interface TaskManagerPorts {
  readonly clock: Clock;
  readonly limits: ExecutorLimits;
  readonly table: ReadonlyMap<string, Task>;
  cancel(tasks: readonly Task[], reason: string): void;
  /** A result that is returned in full isn't delivered again. */
  readonly undelivered: Set<Task>;
}

export const canceledByModel = "The model canceled it.";
const listed = 100;

export async function manageTasks(
  caller: string,
  params: Params,
  { signal }: CallContext,
  ports: TaskManagerPorts,
): Promise<ToolOutcome> {
  const { clock, limits, table } = ports;
  const ids = idsOfOperation(params);
  const tasks: Task[] = [];
  for (const id of ids) {
    const task = table.get(id);
    if (task === undefined)
      return failed(`There is no action "${truncateUnredacted(id, 100, "…")}".`);
    tasks.push(task);
  }
  const views = (list: readonly Task[]): object =>
    Object.fromEntries(list.map((task) => [task.id, viewOf(task, clock.now())]));

  switch (params["operation"]) {
    case "get_status":
      return succeeded(views(tasks));
    case "list": {
      const all = [...table.values()].filter(({ id }) => id !== caller);
      const shown = all.slice(-listed).map((task) => viewOf(task, clock.now()));
      return succeeded({ total: all.length, tasks: shown });
    }
    case "get_result": {
      const offset = typeof params["offset"] === "number" ? params["offset"] : 0;
      const share = Math.max(1, Math.floor(limits.resultCharacters / tasks.length));
      return succeeded(
        Object.fromEntries(tasks.map((task) => [task.id, resultOf(task, offset, share, ports)])),
      );
    }
    case "wait": {
      const background = [...table.values()].filter((task) => task.inBackground);
      const others = (ids.length > 0 ? tasks : background).filter(({ id }) => id !== caller);
      const open = others.filter((task) => !isEnded(task.state));
      const some = params["mode"] === "any";
      const wanted = params["timeoutSeconds"];
      const seconds = typeof wanted === "number" ? wanted : limits.defaultWaitSeconds;
      // A wait that names no ids is about what still runs: an action that ended long ago must not end it.
      const hasEnded = some && ids.length > 0 && open.length < others.length;
      const isDone = open.length === 0 || hasEnded;
      const timedOut = !isDone && !(await ended(open, some, seconds, signal, ports));
      return succeeded({ timedOut, tasks: views(ids.length > 0 ? tasks : open) });
    }
    case "cancel": {
      ports.cancel(tasks, canceledByModel);
      // Canceling ends within the grace period; the caller itself may be one of them.
      const others = tasks.filter(({ id }) => id !== caller);
      await ended(others, false, limits.graceSeconds + 1, signal, ports);
      return succeeded(views(tasks));
    }
    default:
      return failed("Unknown operation.");
  }
}

async function ended(
  tasks: readonly Task[],
  some: boolean,
  seconds: number,
  signal: AbortSignal,
  { clock, limits }: TaskManagerPorts,
): Promise<boolean> {
  if (tasks.length === 0) return true;
  const promises = tasks.map((task) => task.ended);
  const all: Promise<unknown> = some ? Promise.race(promises) : Promise.all(promises);
  const bound = Math.min(seconds, limits.waitSeconds) * 1000;
  return (await within(all, bound, clock, signal)) !== undefined;
}

function resultOf(task: Task, offset: number, share: number, ports: TaskManagerPorts): object {
  const { state } = task;
  const { status } = state;
  if (!isEnded(state)) return { status };
  const content = contentOf(state);
  if (offset === 0 && content.length <= share) {
    ports.undelivered.delete(task);
    return status === "succeeded"
      ? { status, result: state.output.value }
      : { status, reason: content };
  }
  const part = content.slice(offset, offset + share);
  const end = offset + part.length;
  return {
    status,
    characters: content.length,
    offset,
    part,
    ...(end < content.length ? { nextOffset: end } : {}),
  };
}

function succeeded(value: unknown): ToolOutcome {
  return { kind: "succeeded", value };
}

function idsOfOperation(params: Params): string[] {
  const { ids, task_id: single } = params;
  const list = [isList(ids) ? ids : [], single ?? []].flat();
  return [...new Set(list.filter((id) => typeof id === "string"))];
}
