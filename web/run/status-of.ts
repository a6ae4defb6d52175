import type { RunView, WorkView } from "../../src/events/view.ts";
import type { Status } from "../parts/status.tsx";
import type { Feed } from "./use-run.ts";

export function workStatus(work: WorkView | undefined): Status {
  if (work === undefined) return "pending";
  return work.status === "succeeded" && work.attempts > work.runs ? "retried" : work.status;
}

export interface RunState {
  readonly status: Status;
  readonly word: string;
}

/** A journal that ends before its run has not seen how that ended. */
export function runState(view: RunView, feed: Feed): RunState {
  const { status } = view;
  if (view.endedAt === undefined && feed.kind !== "open")
    return { status: "canceled", word: "Incomplete" };
  switch (status) {
    case "pending":
      return { status, word: "Starting" };
    case "running":
      return { status, word: "Running" };
    case "succeeded":
      return { status, word: "Succeeded" };
    case "failed":
      return { status, word: "Failed" };
    case "canceled":
      return { status, word: "Canceled" };
  }
}
