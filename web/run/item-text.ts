/** What is said of an item of the timeline. */
import type { Place, Span } from "../model/model.ts";
import { iterationOfPlace, timeOf, titleOf } from "../model/places.ts";
import { placeOfItem, type Item } from "../model/timeline.ts";
import { formatDuration } from "../parts/format.ts";

/** `live`: what has not ended still runs. */
export function itemText(item: Item, now: number, live: boolean): string {
  const place = placeOfItem(item);
  const iteration = place === undefined ? undefined : iterationOfPlace(place);
  const of = iteration === undefined || iteration === place ? "" : ` of ${titleOf(iteration)}`;
  return `${itemTitle(item)}${of}, ${itemDetail(item, now, live)}`;
}

export function itemTitle(item: Item): string {
  const place = placeOfItem(item);
  if (item.kind === "mark") {
    if (place?.kind === "decision") return place.text;
    if (place?.kind === "denial") return `Denied ${place.denial.operation} ${place.denial.target}`;
    return place === undefined ? "" : titleOf(place);
  }
  switch (item.span.kind) {
    case "job":
      return "Job";
    case "queue":
      return "Waiting for a free slot or a new session";
    case "wait":
      return place?.kind === "decision" ? place.text : "Waiting";
    case "model":
      return place === undefined || place.kind === "turn" ? "Model call" : titleOf(place);
    default:
      return place === undefined ? "" : titleOf(place);
  }
}

export function itemDetail(item: Item, now: number, live: boolean): string {
  if (item.kind === "mark") {
    const place = placeOfItem(item);
    return place === undefined ? "" : new Date(timeOf(place)).toLocaleTimeString("en-GB");
  }
  const { kind, end } = item.span;
  const status = end === undefined && !live ? "incomplete" : item.span.status;
  const words = [formatDuration(lengthOf(item.span, now)), ...actionFacts(placeOfItem(item))];
  if (status !== "neutral" && !(kind === "model" && status === "succeeded"))
    words.push(status.replace("-", " "));
  return words.join(", ");
}

/** What it calls, what it is for, and its progress while it runs. */
function actionFacts(place: Place | undefined): readonly string[] {
  if (place?.kind !== "action") return [];
  const { name, id, label, percent, endedAt, isBackground } = place;
  return [
    ...(name === "" || name === id ? [] : [name]),
    ...(label === undefined ? [] : [label]),
    ...(isBackground ? ["background"] : []),
    ...(percent === undefined || endedAt !== undefined ? [] : [`${Math.floor(percent)} %`]),
  ];
}

function lengthOf({ start, end }: Span, now: number): number {
  return Math.max(0, (end ?? now) - start);
}
