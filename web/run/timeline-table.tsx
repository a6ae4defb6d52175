/** The timeline as a list: everything on it, by time. */
import { useMemo } from "preact/hooks";
import type { RunModel } from "../model/model.ts";
import { itemsOf, laneRows, placeOfItem, startOf, type Item } from "../model/timeline.ts";
import { EmptyState } from "../parts/notes.tsx";
import { ClockTime } from "../parts/time.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import { placeHref, useRunContext } from "./context.ts";
import { itemText } from "./item-text.ts";

export function TimelineTable({ model, version }: { model: RunModel; version: number }) {
  const { runId } = useRunContext();
  const items = useMemo(
    () =>
      laneRows(model, true)
        .flatMap(({ lane }) => itemsOf(lane))
        .filter((item) => placeOfItem(item) !== undefined)
        .sort((one, other) => startOf(one) - startOf(other)),
    [model, version],
  );
  if (items.length === 0) return <EmptyState title="Nothing has happened yet" />;
  return (
    <VirtualList
      label="Everything on the timeline, by time"
      class="timeline-table"
      items={items}
      keyOf={(_item, index) => index}
      estimate={28}
      render={(item: Item) => {
        const place = placeOfItem(item);
        return place === undefined ? null : (
          <a class="timeline-row" href={placeHref(runId, place)}>
            <ClockTime at={startOf(item)} />
            <span class="truncate">{itemText(item, model.lastAt ?? 0)}</span>
          </a>
        );
      }}
    />
  );
}
