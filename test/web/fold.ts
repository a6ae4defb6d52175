import type { RunEvent } from "../../src/events/event.ts";
import { applyToModel, createRunModel, type RunModel } from "../../web/model/run-model.ts";

/** The model that the page makes of events. */
export function fold(events: Iterable<RunEvent>, model = createRunModel()): RunModel {
  for (const event of events) applyToModel(model, event);
  return model;
}
