import type { RunEvent, RunEventBody } from "../../src/events/event.ts";
import type { Reporter } from "../../src/events/sink.ts";
import { applyEvent, createRunView, type RunView } from "../../src/events/view.ts";

const views = new WeakMap<object, RunView>();

/** Reports events as a sink does: with the view of all events that the reporter was told. */
export function tell(reporter: Pick<Reporter, "report">, ...events: readonly RunEvent[]): void {
  const view = views.get(reporter) ?? createRunView();
  views.set(reporter, view);
  for (const event of events) {
    applyEvent(view, event);
    reporter.report(event, view);
  }
}

/** The view of a run. Events without a time are at 0. */
export function viewOf(events: readonly (RunEvent | RunEventBody)[]): RunView {
  const view = createRunView();
  for (const event of events) applyEvent(view, { at: 0, runId: "run", ...event });
  return view;
}
