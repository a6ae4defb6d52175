/**
 * The timeline: a lane for each work and its sessions, drawn on a canvas. Only what is visible is drawn, and only when
 * something has changed. Screen readers get the focused item as text; the table has everything.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { RunModel } from "../model/model.ts";
import { partOf } from "../model/places.ts";
import {
  itemAt,
  itemsOf,
  laneRows,
  panned,
  placeOfItem,
  startOf,
  wholeRange,
  zoomed,
  type Item,
  type LaneRow,
  type Range,
} from "../model/timeline.ts";
import { useRunContext } from "./context.ts";
import { itemText } from "./item-text.ts";
import { AXIS_HEIGHT, drawTimeline, type View } from "./timeline-canvas.ts";
import { Key, Tip, ToolButton } from "./timeline-parts.tsx";
import { usePalette, useSize } from "./timeline-parts.tsx";
import { TimelineTable } from "./timeline-parts.tsx";
import { usePointer } from "./timeline-pointer.ts";

const STEP = 1.5;
const SLACK_PIXELS = 6;

export function Timeline({
  model,
  version,
  selected,
}: {
  model: RunModel;
  version: number;
  selected: number | undefined;
}) {
  const { live, open } = useRunContext();
  const [isTable, setTable] = useState(false);
  const [withSessions, setSessions] = useState(true);
  /** Undefined: the whole run, however long it gets. */
  const [range, setRange] = useState<Range | undefined>(undefined);
  const [hovered, setHovered] = useState<{ item: Item; x: number; y: number } | undefined>(
    undefined,
  );
  const [focused, setFocused] = useState<Item | undefined>(undefined);
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const palette = usePalette(canvas, isTable);
  const size = useSize(scroller, isTable);

  const rows = useMemo(() => laneRows(model, withSessions), [model, version, withSessions]);
  const last = rows.at(-1);
  const contentHeight = AXIS_HEIGHT + (last === undefined ? 0 : last.top + last.height);
  const height = Math.min(size.height, contentHeight);
  const start = model.firstAt ?? 0;

  const now = (): number =>
    live ? Math.max(model.lastAt ?? start, Date.now()) : (model.lastAt ?? start);
  const whole = (): Range => wholeRange(model, live ? now() : undefined);
  const shown = (): Range => range ?? whole();
  const labelWidth = size.width < 520 ? 92 : 168;

  const draw = useRef(() => {});
  draw.current = () => {
    const context = canvas.current?.getContext("2d");
    if (context === null || context === undefined || palette === undefined) return;
    const ratio = devicePixelRatio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const view: View = {
      rows,
      range: shown(),
      width: size.width,
      height,
      scrollTop: scroller.current?.scrollTop ?? 0,
      labelWidth,
      start,
      now: now(),
      isLive: live,
      focused,
      hovered: hovered?.item,
      selectedWork: selected,
    };
    drawTimeline(context, view, palette);
  };
  const frame = useRef(0);
  const redraw = () => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => draw.current());
  };
  useLayoutEffect(redraw);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  useEffect(() => {
    if (!live) return undefined;
    const timer = setInterval(redraw, 250);
    return () => clearInterval(timer);
  }, [live]);

  const timeAt = (x: number): number => {
    const { from, to } = shown();
    return from + ((x - labelWidth) / Math.max(1, size.width - labelWidth)) * (to - from);
  };
  const zoom = (factor: number, at = (shown().from + shown().to) / 2) => {
    const all = whole();
    const next = zoomed(shown(), factor, at, all);
    setRange(next.from <= all.from && next.to >= all.to ? undefined : next);
  };
  const pan = (pixels: number) => {
    const { from, to } = shown();
    setRange(panned({ from, to }, (pixels / (size.width - labelWidth)) * (to - from), whole()));
  };
  const rowAt = (y: number): LaneRow | undefined => {
    const at = y - AXIS_HEIGHT + (scroller.current?.scrollTop ?? 0);
    return y < AXIS_HEIGHT
      ? undefined
      : rows.find(({ top, height }) => at >= top && at < top + height);
  };
  const itemUnder = (x: number, y: number): Item | undefined => {
    const row = rowAt(y);
    if (row === undefined || x < labelWidth) return undefined;
    const { from, to } = shown();
    const slack = (SLACK_PIXELS / (size.width - labelWidth)) * (to - from);
    const part = (y - AXIS_HEIGHT + (scroller.current?.scrollTop ?? 0) - row.top) / row.height;
    return itemAt(row, timeAt(x), slack, part, now());
  };
  const openItem = (item: Item | undefined) => {
    const place = item === undefined ? undefined : placeOfItem(item);
    if (place !== undefined) open(partOf(place));
  };

  const pointer = usePointer(canvas, isTable, {
    pan: (dx, dy) => {
      pan(-dx);
      if (scroller.current !== null) scroller.current.scrollTop -= dy;
    },
    zoom: (factor, x) => zoom(factor, timeAt(x)),
    hover: (x, y) => {
      const item = x === undefined ? undefined : itemUnder(x, y);
      setHovered(item === undefined || x === undefined ? undefined : { item, x, y });
    },
    click: (x, y) => {
      const item = itemUnder(x, y);
      const work = rowAt(y)?.work;
      if (item !== undefined) {
        setFocused(item);
        openItem(item);
      } else if (x < labelWidth && work !== undefined)
        open({ kind: "work", workId: work.workId, iteration: undefined });
    },
  });

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    if (key === "+" || key === "=") zoom(1 / STEP);
    else if (key === "-") zoom(STEP);
    else if (key === "0") setRange(undefined);
    else if (key === "Enter" || key === " ") openItem(focused);
    else if (event.shiftKey && (key === "ArrowLeft" || key === "ArrowRight"))
      pan(key === "ArrowLeft" ? -80 : 80);
    else if (key.startsWith("Arrow") || key === "Home" || key === "End") {
      const next = nextItem(rows, focused, key);
      if (next !== undefined) focus(next);
    } else return;
    event.preventDefault();
  };
  const focus = ({ item, row }: { item: Item; row: LaneRow }) => {
    setFocused(item);
    const at = startOf(item);
    const { from, to } = shown();
    if (at < from || at > to) setRange(panned({ from, to }, at - (from + to) / 2, whole()));
    const box = scroller.current;
    if (box === null) return;
    const visible = size.height - AXIS_HEIGHT;
    if (row.top < box.scrollTop) box.scrollTop = row.top;
    else if (row.top + row.height > box.scrollTop + visible)
      box.scrollTop = row.top + row.height - visible;
  };

  return (
    <div class="timeline">
      <div class="timeline-bar">
        <Key withSteps={model.steps.length > 0} withActions={model.actions.length > 0} />
        <div class="timeline-buttons">
          <button
            type="button"
            class="button button-small"
            aria-pressed={withSessions}
            disabled={isTable}
            onClick={() => setSessions(!withSessions)}
          >
            Sessions
          </button>
          <button
            type="button"
            class="button button-small"
            aria-pressed={isTable}
            onClick={() => setTable(!isTable)}
          >
            Table
          </button>
          {isTable ? null : (
            <span class="timeline-zoom" role="group" aria-label="Zoom">
              <ToolButton name="plus" label="Zoom in" onClick={() => zoom(1 / STEP)} />
              <ToolButton name="minus" label="Zoom out" onClick={() => zoom(STEP)} />
              <ToolButton
                name="fit"
                label="Show the whole run"
                onClick={() => setRange(undefined)}
              />
            </span>
          )}
        </div>
      </div>
      {isTable ? (
        <TimelineTable model={model} version={version} />
      ) : (
        <div ref={scroller} class="timeline-scroller" onScroll={redraw}>
          <div style={{ height: `${contentHeight}px` }}>
            <div class="timeline-view">
              <canvas
                ref={canvas}
                class="timeline-canvas"
                width={Math.round(size.width * size.ratio)}
                height={Math.round(height * size.ratio)}
                style={{ width: `${size.width}px`, height: `${height}px` }}
                tabIndex={0}
                role="application"
                aria-label="Timeline. Arrow keys move between turns, calls, actions and lanes, Enter opens, plus and minus zoom, 0 shows the whole run."
                onKeyDown={onKeyDown}
                onBlur={() => setFocused(undefined)}
                {...pointer}
              />
              {hovered === undefined ? null : (
                <Tip
                  item={hovered.item}
                  x={hovered.x}
                  y={hovered.y}
                  width={size.width}
                  now={now()}
                />
              )}
            </div>
          </div>
        </div>
      )}
      <p class="hidden-text" role="status">
        {focused === undefined ? "" : itemText(focused, now(), live)}
      </p>
    </div>
  );
}

function nextItem(
  rows: readonly LaneRow[],
  focused: Item | undefined,
  key: string,
): { item: Item; row: LaneRow } | undefined {
  const lanes = rows
    .map((row) => ({ row, items: itemsOf(row.lane) }))
    .filter(({ items }) => items.length > 0);
  const place =
    focused && lanes.findIndex(({ items }) => items.some((item) => isSame(item, focused)));
  const at = place === undefined || place < 0 ? undefined : lanes[place];
  const [first] = lanes;
  if (at === undefined || focused === undefined || place === undefined)
    return first?.items[0] && { item: first.items[0], row: first.row };
  const index = at.items.findIndex((item) => isSame(item, focused));
  const within = (item: Item | undefined) => item && { item, row: at.row };
  switch (key) {
    case "ArrowRight":
      return within(at.items[index + 1]);
    case "ArrowLeft":
      return within(at.items[index - 1]);
    case "Home":
      return within(at.items[0]);
    case "End":
      return within(at.items.at(-1));
    default: {
      const other = lanes[place + (key === "ArrowDown" ? 1 : -1)];
      if (other === undefined) return undefined;
      const time = startOf(focused);
      const nearest = other.items.reduce((best, item) =>
        Math.abs(startOf(item) - time) < Math.abs(startOf(best) - time) ? item : best,
      );
      return { item: nearest, row: other.row };
    }
  }
}

function isSame(one: Item, other: Item): boolean {
  if (one.kind === "span") return other.kind === "span" && one.span === other.span;
  return other.kind === "mark" && one.mark === other.mark;
}
