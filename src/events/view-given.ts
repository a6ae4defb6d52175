/** The outputs that tasks hand in with tools: those of the last run of each, by task and items. */
import type { EventOf } from "./event.ts";
import type { Finding, RefusedOutput } from "./output-shapes.ts";
import { comparePlaces, itemsIn, placeIn, type WorkRef } from "./plan.ts";
import { KEPT_ITEMS, type GivenView, type RunView } from "./view-model.ts";

type HandedIn = EventOf<
  | "result.given"
  | "verdict.given"
  | "finding.reported"
  | "finding.resolved"
  | "reply.given"
  | "output.refused"
  | "proposal.made"
>;

export function applyHandedIn(view: RunView, event: HandedIn): void {
  switch (event.type) {
    case "result.given":
      return give(view, event.work, { result: { value: event.result } });
    case "verdict.given":
      give(view, event.work, { verdict: event.verdict });
      return keepRefused(view, event.work, ({ kind }) => kind !== "verdict");
    case "finding.reported": {
      const { finding, first } = event;
      add(givenOf(view, event.work)?.findings, finding, first);
      return keepRefused(
        view,
        event.work,
        (one) => one.kind === "verdict" || (!first && !isReportedAs(one, finding)),
      );
    }
    case "output.refused": {
      const { refused, first } = event;
      if (first) givenOf(view, event.work)?.findings.splice(0);
      return keepRefused(view, event.work, ({ kind }) => !first || kind === "verdict", refused);
    }
    case "finding.resolved": {
      const { finding: key, reason, first } = event;
      return add(givenOf(view, event.work)?.resolved, { key, reason }, first);
    }
    case "reply.given": {
      const { finding: key, message, first } = event;
      return add(givenOf(view, event.work)?.replies, { key, message }, first);
    }
    case "proposal.made":
      return add(givenOf(view, event.work)?.proposals, event.proposal, event.first);
  }
}

/** The key in `RunView.given`. */
export function keyOfGiven(ref: WorkRef): string {
  return JSON.stringify([ref.taskId, itemsIn(ref)]);
}

export function give(
  view: RunView,
  ref: WorkRef,
  given: Partial<Pick<GivenView, "report" | "result" | "verdict">>,
): void {
  Object.assign(givenOf(view, ref) ?? {}, given);
}

function keepRefused(
  view: RunView,
  ref: WorkRef,
  isKept: (one: RefusedOutput) => boolean,
  ...added: readonly RefusedOutput[]
): void {
  const given = givenOf(view, ref);
  if (given !== undefined) given.refused = [...given.refused.filter(isKept), ...added];
}

/** True if the words are the same or, if the severity was refused, the file. */
function isReportedAs({ severity, path, message }: RefusedOutput, finding: Finding): boolean {
  return message === finding.message || (severity === undefined && path === finding.path);
}

function add<T>(list: T[] | undefined, item: T, isFirst = false): void {
  if (isFirst) list?.splice(0);
  list?.push(item);
}

/** In the order in which tasks handed them in, but those of one task in the order of its items. */
export function givenInOrder({ given }: RunView): readonly (readonly [string, GivenView])[] {
  const all = [...given];
  const byTask = new Map<string, (readonly [string, GivenView])[]>();
  for (const one of all.toSorted(([, a], [, b]) => comparePlaces(a.place, b.place))) {
    const { taskId } = one[1];
    const list = byTask.get(taskId) ?? [];
    byTask.set(taskId, list);
    list.push(one);
  }
  const next = new Map([...byTask].map(([taskId, list]) => [taskId, list.values()]));
  return all.flatMap(([, { taskId }]) => {
    const one = next.get(taskId)?.next().value;
    return one === undefined ? [] : [one];
  });
}

export function isOfRun(
  given: GivenView | undefined,
  { workId, iteration }: WorkRef,
): given is GivenView {
  return given?.workId === workId && given.iteration === iteration;
}

/** Undefined for outputs after the first `KEPT_ITEMS`. */
function givenOf(view: RunView, ref: WorkRef): GivenView | undefined {
  const { workId, taskId, iteration } = ref;
  const key = keyOfGiven(ref);
  const known = view.given.get(key);
  if (known === undefined && view.given.size >= KEPT_ITEMS) return undefined;
  const given = isOfRun(known, ref)
    ? known
    : {
        workId,
        taskId,
        iteration,
        items: itemsIn(ref),
        place: placeIn(ref),
        report: undefined,
        result: undefined,
        findings: [],
        verdict: undefined,
        refused: [],
        proposals: [],
        resolved: [],
        replies: [],
      };
  // Sorted by the time of the last output.
  view.given.delete(key);
  view.given.set(key, given);
  return given;
}
