/** What is said of an item of the timeline. */
import type { Span } from "../model/model.ts";
import { iterationOfPlace, timeOf, titleOf } from "../model/places.ts";
import { placeOfItem, type Item } from "../model/timeline.ts";
import { formatDuration } from "../parts/format.ts";

export function itemText(item: Item, now: number): string {
  const place = placeOfItem(item);
  const iteration = place === undefined ? undefined : iterationOfPlace(place);
  const of = iteration === undefined || iteration === place ? "" : ` of ${titleOf(iteration)}`;
  return `${itemTitle(item)}${of}, ${itemDetail(item, now)}`;
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
    default:
      return place === undefined ? "" : titleOf(place);
  }
}

export function itemDetail(item: Item, now: number): string {
  if (item.kind === "mark") {
    const place = placeOfItem(item);
    return place === undefined ? "" : new Date(timeOf(place)).toLocaleTimeString("en-GB");
  }
  const { status, kind } = item.span;
  const words = [formatDuration(lengthOf(item.span, now))];
  if (status !== "neutral" && !(kind === "model" && status === "succeeded")) words.push(status);
  return words.join(", ");
}

function lengthOf({ start, end }: Span, now: number): number {
  return Math.max(0, (end ?? now) - start);
}
