import { useEffect, useState } from "preact/hooks";
import { applyEvent, createRunView, type RunView } from "../../src/events/view.ts";
import type { RunSource } from "../data/run-source.ts";

/** A run that is being read: the view so far, and how far that is. */
export interface ReadRun {
  /** The same object while it grows. */
  readonly view: RunView;
  /** The time of the last event. */
  readonly last: number;
  readonly state:
    | { readonly kind: "reading" }
    | { readonly kind: "read" }
    | { readonly kind: "failed"; readonly reason: string };
}

/** Folds the events of a run, and renders again after each batch. */
export function useView(runId: string, sourceOf: (runId: string) => RunSource): ReadRun {
  const [run, setRun] = useState<ReadRun>(unread);
  useEffect(() => {
    const view = createRunView();
    let last = 0;
    const show = (state: ReadRun["state"]) => setRun({ view, last, state });
    show({ kind: "reading" });
    return sourceOf(runId).subscribe({
      events(batch) {
        for (const event of batch) applyEvent(view, event);
        last = batch.at(-1)?.at ?? last;
        show({ kind: "reading" });
      },
      ended: () => show({ kind: "read" }),
      failed: (reason) => show({ kind: "failed", reason }),
    });
  }, [runId, sourceOf]);
  return run;
}

function unread(): ReadRun {
  return { view: createRunView(), last: 0, state: { kind: "reading" } };
}
