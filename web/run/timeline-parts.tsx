/** What is around the canvas of the timeline and over it, its size and colors, and the timeline as a list. */
import { iterationOfPlace, titleOf } from "../model/places.ts";
import { itemsOf, laneRows, placeOfItem, startOf, type Item } from "../model/timeline.ts";
import { Icon } from "../parts/icon.tsx";
import { placeHref, useRunContext } from "./context.ts";
import { itemDetail, itemText, itemTitle } from "./item-text.ts";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { RunModel } from "../model/model.ts";
import { EmptyState } from "../parts/notes.tsx";
import { ClockTime } from "../parts/time.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import { readPalette, type Palette } from "./timeline-palette.ts";

export function ToolButton({
  name,
  label,
  onClick,
}: {
  name: "plus" | "minus" | "fit";
  label: string;
  onClick: () => void;
}) {
  return (
    <button
      type="button"
      class="button button-icon button-small"
      aria-label={label}
      title={label}
      onClick={onClick}
    >
      <Icon name={name} size={14} />
    </button>
  );
}

export function Key({ withSteps, withActions }: { withSteps: boolean; withActions: boolean }) {
  return (
    <ul class="legend" aria-label="What the colors mean">
      <li>
        <span class="key key-work" aria-hidden="true" /> work
      </li>
      {withSteps ? (
        <li>
          <span class="key key-step" aria-hidden="true" /> step
        </li>
      ) : null}
      {withActions ? (
        <li>
          <span class="key key-action" aria-hidden="true" /> action
        </li>
      ) : null}
      <li>
        <span class="key key-model" aria-hidden="true" /> model call
      </li>
      <li>
        <span class="key key-tool" aria-hidden="true" /> tool call
      </li>
      <li>
        <span class="key key-wait" aria-hidden="true" /> wait
      </li>
      <li>
        <span class="key key-crash" aria-hidden="true" /> crash
      </li>
      <li>
        <span class="key key-retry" aria-hidden="true" /> retry
      </li>
      <li>
        <span class="key key-denial" aria-hidden="true" /> denial
      </li>
    </ul>
  );
}

export function Tip({
  item,
  x,
  y,
  width,
  now,
}: {
  item: Item;
  x: number;
  y: number;
  width: number;
  now: number;
}) {
  const { live } = useRunContext();
  const place = placeOfItem(item);
  const iteration = place === undefined ? undefined : iterationOfPlace(place);
  const side = x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` };
  return (
    <div class="timeline-tip" style={{ ...side, top: `${y + 14}px` }} aria-hidden="true">
      <strong>{itemTitle(item)}</strong>
      <span>{itemDetail(item, now, live)}</span>
      {iteration === undefined || place === iteration ? null : (
        <span class="muted">{titleOf(iteration)}</span>
      )}
    </div>
  );
}

export function TimelineTable({ model, version }: { model: RunModel; version: number }) {
  const { runId, live } = useRunContext();
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
            <span class="truncate">{itemText(item, model.lastAt ?? 0, live)}</span>
          </a>
        );
      }}
    />
  );
}

/** Read again when the theme changes. */
export function usePalette(
  canvas: { readonly current: HTMLCanvasElement | null },
  isTable: boolean,
): Palette | undefined {
  const [palette, setPalette] = useState<Palette | undefined>(undefined);
  useLayoutEffect(() => {
    const read = () => {
      const parent = canvas.current?.parentElement;
      if (parent !== null && parent !== undefined) setPalette(readPalette(parent));
    };
    read();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", read);
    const observer = new MutationObserver(read);
    observer.observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-theme"],
    });
    return () => {
      dark.removeEventListener("change", read);
      observer.disconnect();
    };
  }, [isTable]);
  return palette;
}

export function useSize(
  element: { readonly current: HTMLElement | null },
  isTable: boolean,
): { readonly width: number; readonly height: number; readonly ratio: number } {
  const [size, setSize] = useState({ width: 600, height: 300, ratio: 1 });
  useLayoutEffect(() => {
    const box = element.current;
    if (box === null) return undefined;
    const measure = () =>
      setSize({ width: box.clientWidth, height: box.clientHeight, ratio: devicePixelRatio });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, [isTable]);
  return size;
}
