import { wasRetried, type RunView, type WorkView } from "../../src/events/view.ts";
import { looks, type Status } from "../parts/status.tsx";
import type { Feed } from "./use-run.ts";

/** `over`: what has not ended by now never will. */
export function workStatus(work: WorkView | undefined, over: boolean): Status {
  if (work === undefined) return "pending";
  if (over && work.status === "running") return "incomplete";
  return wasRetried(work) ? "retried" : work.status;
}

export interface RunState {
  readonly status: Status;
  readonly word: string;
}

/** A journal that ends before its run has not seen how that ended. */
export function runState(view: RunView, feed: Feed): RunState {
  const { status } = view;
  if (view.endedAt === undefined) {
    if (feed.kind === "reading") return { status: "pending", word: "Loading" };
    if (feed.kind !== "open") return { status: "incomplete", word: looks.incomplete.word };
  }
  return { status, word: status === "pending" ? "Starting" : looks[status].word };
}
