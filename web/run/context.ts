/** The context that the parts of the run page share. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { wasRetried, type RunView, type WorkView } from "../../src/events/view.ts";
import { looks, type Status } from "../parts/status.tsx";
import type { Run } from "./use-run.ts";
import type { Place } from "../model/model.ts";
import { partOf, type Target } from "../model/places.ts";
import { useNow } from "../parts/time.tsx";
import { runHref, type RunPart } from "../routes.ts";

/** The actions of a reader on a run. A rejection is shown. */
export interface RunActions {
  stop(): Promise<void>;
  startAgain(): Promise<void>;
  /** Answers a question. Undefined: done, else why not. */
  answer(question: string, text: string): Promise<string | undefined>;
}

export interface RunContext extends Run {
  readonly runId: string;
  /** The part of the run that the address shows. */
  readonly target: Target;
  /** Only in the portal. */
  readonly actions: RunActions | undefined;
  /** Whether it runs now, and events come as they happen. */
  readonly live: boolean;
  /** Whether no more events can come: what has not ended never will. */
  readonly over: boolean;
  readonly open: (part: RunPart) => void;
  /** The text that the reader searches for. */
  readonly query: string;
}

export const RunContext = createContext<RunContext | undefined>(undefined);

export function useRunContext(): RunContext {
  const context = useContext(RunContext);
  if (context === undefined) throw new Error("This component is used outside of a run.");
  return context;
}

/** The time up to which what has not ended is shown: now, or the last that is known of a run that does not run. */
export function useRunTime(): number {
  const { model, live } = useRunContext();
  const { endedAt, lastAt } = model.view;
  const now = useNow(live ? 1_000 : 0);
  return endedAt ?? (live ? Math.max(now, lastAt) : lastAt);
}

export function placeHref(runId: string, place: Place): string {
  return runHref(runId, partOf(place));
}

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
export function runState(view: RunView, feed: Run["feed"]): RunState {
  const { status } = view;
  if (view.endedAt === undefined) {
    if (feed.kind === "reading") return { status: "pending", word: "Loading" };
    if (feed.kind !== "open") return { status: "incomplete", word: looks.incomplete.word };
  }
  return { status, word: status === "pending" ? "Starting" : looks[status].word };
}
