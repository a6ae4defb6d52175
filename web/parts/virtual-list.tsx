/** Lists of any length: only the rows near the visible part are in the document. */
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualItem,
} from "@tanstack/virtual-core";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";

export interface VirtualRows {
  readonly virtualizer: Virtualizer<HTMLElement, HTMLElement>;
  readonly items: readonly VirtualItem[];
  /** The height of all rows, in pixels. */
  readonly totalSize: number;
}

/** For lists with a layout of their own; `VirtualList` is the usual one. */
export function useVirtualRows({
  scroller,
  count,
  estimate,
  keyOf,
  overscan = 8,
}: {
  scroller: RefObject<HTMLElement>;
  count: number;
  /** Height of a row before it was measured, in pixels. */
  estimate: (index: number) => number;
  keyOf: (index: number) => string | number;
  overscan?: number;
}): VirtualRows {
  const [, update] = useReducer((renders: number) => renders + 1, 0);
  const options = {
    count,
    estimateSize: estimate,
    getItemKey: keyOf,
    overscan,
    getScrollElement: () => scroller.current,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => update(undefined),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  return {
    virtualizer,
    items: virtualizer.getVirtualItems(),
    totalSize: virtualizer.getTotalSize(),
  };
}

/** A list that scrolls by itself. `follow`: stays at the end while items are added, unless scrolled away from it. */
export function VirtualList<T>({
  label,
  items,
  keyOf,
  render,
  estimate,
  follow = false,
  class: name = "",
}: {
  label: string;
  items: readonly T[];
  keyOf: (item: T, index: number) => string | number;
  render: (item: T) => ComponentChildren;
  /** Height of a row before it was measured, in pixels. */
  estimate: number;
  follow?: boolean;
  class?: string;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const rows = useVirtualRows({
    scroller,
    count: items.length,
    estimate: () => estimate,
    keyOf: (index) => {
      const item = items[index];
      return item === undefined ? index : keyOf(item, index);
    },
  });
  useEffect(() => {
    if (follow && atEnd.current && items.length > 0)
      rows.virtualizer.scrollToIndex(items.length - 1, { align: "end" });
  }, [follow, items.length]);
  const onScroll = ({ currentTarget }: { currentTarget: HTMLElement }) => {
    const { scrollTop, clientHeight, scrollHeight } = currentTarget;
    atEnd.current = scrollHeight - scrollTop - clientHeight < 24;
  };
  return (
    <div
      ref={scroller}
      class={`virtual-list ${name}`}
      role="list"
      aria-label={label}
      tabIndex={0}
      onScroll={onScroll}
    >
      <div class="virtual-rows" role="presentation" style={{ height: `${rows.totalSize}px` }}>
        {rows.items.map(({ index, key, start }) => {
          const item = items[index];
          return item === undefined ? null : (
            <div
              key={key}
              ref={(element) => {
                if (element !== null) rows.virtualizer.measureElement(element);
              }}
              class="virtual-row"
              role="listitem"
              aria-setsize={items.length}
              aria-posinset={index + 1}
              data-index={index}
              style={{ transform: `translateY(${start}px)` }}
            >
              {render(item)}
            </div>
          );
        })}
      </div>
    </div>
  );
}
