/**
 * The lanes of the timeline, as rows of bars. Only rows in view are rendered, and of bars that look alike and share a
 * pixel only the first. Screen readers get the focused bar as text.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { iterationOfPlace, partOf, titleOf } from "../model/places.ts";
import {
  barAt,
  barDetail,
  barState,
  barText,
  barTitle,
  focusable,
  isMark,
  ticks,
  type Bar,
  type Lane,
  type Range,
} from "../model/timeline.ts";
import { looks, type Tone } from "../parts/status.tsx";
import { useVirtualRows } from "../parts/virtual-list.tsx";
import { useRunContext } from "./context.ts";

/** Factor of one step of zooming by key or button. */
export const ZOOM = 1.5;
const SLACK_PIXELS = 6;
const CLICK_PIXELS = 4;
const PER_WHEEL_PIXEL = 1.0025;
const LEAST_WIDTH = 1.5;
const LANE = 26;
const INNER_LANE = 22;

export function Lanes({
  lanes,
  now,
  shown,
  onZoom,
  onPan,
  onWhole,
}: {
  lanes: readonly Lane[];
  /** The end of what has not ended. */
  now: number;
  shown: Range;
  onZoom: (factor: number, at?: number) => void;
  /** In milliseconds. */
  onPan: (ms: number) => void;
  onWhole: () => void;
}) {
  const { model, live, over, open, target } = useRunContext();
  const [hovered, setHovered] = useState<{ bar: Bar; lane: Lane; x: number; y: number }>();
  const [focused, setFocused] = useState<{ bar: Bar; key: string }>();
  const scroller = useRef<HTMLDivElement>(null);
  const dragged = useRef<{ x: number; y: number }>();
  const moved = useRef(0);
  const { virtualizer, items, totalSize } = useVirtualRows({
    scroller,
    count: lanes.length,
    estimate: (index) => (lanes[index]?.isInner === true ? INNER_LANE : LANE),
    keyOf: (index) => lanes[index]?.key ?? index,
  });
  const { width, labels } = useWidth(scroller);
  const perPixel = (shown.to - shown.from) / width;
  const x = (at: number): number => (at - shown.from) / perPixel;
  const lines = ticks(shown, model.view.firstAt, width / 90);

  /** Where the pointer is. */
  const pointed = ({ clientX, clientY, target }: MouseEvent) => {
    const box = scroller.current?.getBoundingClientRect() ?? new DOMRect();
    const row = target instanceof Element ? target.closest<HTMLElement>("[data-index]") : null;
    const lane = row === null ? undefined : lanes[Number(row.dataset["index"])];
    const left = clientX - box.left - labels;
    const at = shown.from + left * perPixel;
    const frame = row?.getBoundingClientRect() ?? box;
    const part = (clientY - frame.top) / frame.height;
    const bar =
      left < 0 ? undefined : lane && barAt(lane.bars(), at, SLACK_PIXELS * perPixel, part, now);
    return { lane, bar, at, isLabel: left < 0, x: clientX - box.left, y: clientY - box.top };
  };
  const openBar = (bar: Bar | undefined) => {
    if (bar?.place !== undefined) open(partOf(bar.place));
  };
  const onPointerMove = (event: PointerEvent) => {
    const drag = dragged.current;
    if (drag === undefined) {
      const { bar, lane, x, y } = pointed(event);
      setHovered(bar && lane && { bar, lane, x, y });
      return;
    }
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    dragged.current = { x: event.clientX, y: event.clientY };
    moved.current += Math.abs(dx) + Math.abs(dy);
    if (moved.current <= CLICK_PIXELS) return;
    setHovered(undefined);
    onPan(-dx * perPixel);
    scroller.current?.scrollBy(0, -dy);
  };
  const onClick = (event: MouseEvent) => {
    if (moved.current > CLICK_PIXELS) return;
    const { bar, lane, isLabel } = pointed(event);
    if (bar !== undefined && lane !== undefined) {
      setFocused({ bar, key: lane.key });
      openBar(bar);
    } else if (isLabel && lane?.work !== undefined)
      open({ kind: "work", workId: lane.work.workId, iteration: undefined });
  };
  const onWheel = useRef((_event: WheelEvent) => {});
  onWheel.current = (event) => {
    const { ctrlKey, metaKey, deltaX, deltaY } = event;
    const isSideways = Math.abs(deltaX) > Math.abs(deltaY);
    if (!isSideways && !ctrlKey && !metaKey && document.activeElement !== scroller.current) return;
    event.preventDefault();
    if (isSideways) return onPan(deltaX * perPixel);
    // A pinch on a touchpad comes as small steps with Ctrl.
    const strength = ctrlKey && Math.abs(deltaY) < 40 ? 4 : 1;
    const way = Math.max(-400, Math.min(400, deltaY)) * strength;
    onZoom(PER_WHEEL_PIXEL ** way, pointed(event).at);
  };
  useEffect(() => {
    const listen = (event: WheelEvent) => onWheel.current(event);
    scroller.current?.addEventListener("wheel", listen, { passive: false });
    return () => scroller.current?.removeEventListener("wheel", listen);
  }, []);

  const focus = ({ bar, index }: { bar: Bar; index: number }) => {
    setFocused({ bar, key: lanes[index]?.key ?? "" });
    if (bar.start < shown.from || bar.start > shown.to)
      onPan(bar.start - (shown.from + shown.to) / 2);
    virtualizer.scrollToIndex(index);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { key, shiftKey } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (key === "+" || key === "=") onZoom(1 / ZOOM);
    else if (key === "-") onZoom(ZOOM);
    else if (key === "0") onWhole();
    else if (key === "Enter" || key === " ") openBar(focused?.bar);
    else if (shiftKey && (key === "ArrowLeft" || key === "ArrowRight"))
      onPan((key === "ArrowLeft" ? -80 : 80) * perPixel);
    else if (key.startsWith("Arrow") || key === "Home" || key === "End") {
      const next = nextBar(lanes, focused?.bar, key);
      if (next !== undefined) focus(next);
    } else return;
    event.preventDefault();
  };
  return (
    <div class="lanes-place column">
      <div
        ref={scroller}
        class="lanes fill"
        tabIndex={0}
        role="application"
        aria-label="Timeline. Arrow keys move between turns, calls, actions and lanes, Enter opens, plus and minus zoom, 0 shows the whole run."
        onKeyDown={onKeyDown}
        onBlur={() => setFocused(undefined)}
        onPointerDown={(event) => {
          moved.current = 0;
          if (event.button === 0 && event.pointerType !== "touch")
            dragged.current = { x: event.clientX, y: event.clientY };
        }}
        onPointerMove={onPointerMove}
        onPointerUp={() => (dragged.current = undefined)}
        onPointerLeave={() => {
          dragged.current = undefined;
          setHovered(undefined);
        }}
        onClick={onClick}
      >
        <div class="lanes-axis" style={{ paddingLeft: `${labels}px` }}>
          {lines.map(({ at, text }) => (
            <span key={at} style={{ left: `${labels + x(at)}px` }}>
              {text}
            </span>
          ))}
        </div>
        <div class="virtual-rows" style={{ height: `${totalSize}px` }}>
          {items.map(({ index, key, start: top, size }) => {
            const lane = lanes[index];
            return lane === undefined ? null : (
              <div
                key={key}
                class={`virtual-row lane small ${lane.isInner ? "lane-inner" : ""}`}
                data-selected={lane.work !== undefined && lane.work === target.work}
                data-index={index}
                style={{ transform: `translateY(${top}px)`, height: `${size}px` }}
              >
                <span class="lane-label truncate" style={{ width: `${labels}px` }}>
                  {lane.label} <span class="muted">{lane.note}</span>
                </span>
                <svg width={width} height={size} aria-hidden="true">
                  <path
                    class="lane-grid"
                    d={lines.map(({ at }) => `M${x(at)} 0v${size}`).join("")}
                  />
                  <Bars
                    bars={lane.bars()}
                    {...{ shown, width, height: size, now, over }}
                    focused={focused?.key === lane.key ? focused.bar : undefined}
                    hovered={hovered?.lane === lane ? hovered.bar : undefined}
                  />
                  {live ? <path class="lane-now" d={`M${x(now)} 0v${size}`} /> : null}
                </svg>
              </div>
            );
          })}
        </div>
      </div>
      {hovered === undefined ? null : <Tip {...hovered} width={width + labels} now={now} />}
      <p class="hidden-text" role="status">
        {focused === undefined ? "" : barText(focused.bar, now, over)}
      </p>
    </div>
  );
}

/** The width of the bars, and that of the labels before them. */
function useWidth(box: { readonly current: HTMLElement | null }) {
  const [all, setAll] = useState(600);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = () => setAll(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const labels = all < 520 ? 92 : 168;
  return { width: Math.max(1, all - labels), labels };
}

/** The settings that the shape of a bar depends on. */
interface Scale {
  readonly shown: Range;
  readonly width: number;
  readonly height: number;
  readonly now: number;
  readonly over: boolean;
}

/** The shape of a bar; undefined where it is out of view. */
function shapeOf(bar: Bar, { shown: { from, to }, width, height, now, over }: Scale) {
  const x = (at: number): number => ((at - from) / (to - from)) * width;
  const [left, right] = [Math.max(-4, x(bar.start)), x(bar.end ?? now)];
  if (right < 0 || left > width) return undefined;
  const { tone } = looks[barState(bar, over)];
  const end = Math.max(left + LEAST_WIDTH, Math.min(width + 4, right));
  return { kind: bar.kind, tone, from: left, to: end, height };
}

function Bars({
  bars,
  focused,
  hovered,
  ...scale
}: Scale & { bars: readonly Bar[]; focused: Bar | undefined; hovered: Bar | undefined }) {
  const { shown, width, height, now, over } = scale;
  // The same nodes, as long as only the pointer moves: Preact skips them.
  const drawn = useMemo(() => {
    /** Where the last bar of each look ends: bars that add less than a pixel to it are not drawn. */
    const ends = new Map<string, number>();
    return bars.flatMap((bar, index) => {
      const shape = shapeOf(bar, scale);
      if (shape === undefined) return [];
      const { from, to, kind, tone } = shape;
      const look = `${kind} ${tone}`;
      const end = ends.get(look) ?? -Infinity;
      if (from < end && to < end + 1) return [];
      ends.set(look, Math.max(to, end));
      return [<BarShape key={index} {...shape} />];
    });
  }, [bars, shown.from, shown.to, width, height, now, over]);
  const strong = (bar: Bar | undefined, state: "focused" | "hovered") => {
    const shape = bar && shapeOf(bar, scale);
    return shape && <BarShape {...shape} state={state} />;
  };
  return (
    <>
      {drawn}
      {strong(hovered, "hovered")}
      {strong(focused, "focused")}
    </>
  );
}

/** In a lane of that height. */
export function BarShape({
  kind,
  tone,
  from,
  to,
  height,
  state,
}: {
  kind: Bar["kind"];
  tone: Tone;
  from: number;
  to: number;
  height: number;
  state?: "focused" | "hovered" | undefined;
}) {
  const shared = { class: `bar bar-${kind}`, "data-tone": tone, "data-state": state };
  const middle = height / 2;
  if (isMark({ kind }))
    return (
      <path {...shared} d={shapes[kind] ?? circle} transform={`translate(${from} ${middle})`} />
    );
  if (kind === "queue" || kind === "wait")
    return <path {...shared} d={`M${from} ${middle}H${to}`} />;
  const [top, bottom] = edges[kind]?.(height) ?? [5, height - 5];
  const size = { x: from, y: top, width: to - from, height: bottom - top };
  return <rect {...shared} {...size} rx={to - from < 4 ? 0 : 2} />;
}

const diamond = "M0 -5L5 0L0 5L-5 0Z";
const circle = "M0 -4.5A4.5 4.5 0 0 1 0 4.5A4.5 4.5 0 0 1 0 -4.5Z";
const shapes: { readonly [kind in Bar["kind"]]?: string } = {
  crash: diamond,
  failure: diamond,
  limit: diamond,
  denial: "M-5 -4H5L0 5Z",
};

/** The upper and lower edge of a bar in a lane of that height. */
const edges: { readonly [kind in Bar["kind"]]?: (height: number) => readonly [number, number] } = {
  job: () => [9, 12],
  turn: (height) => [2, height - 2],
  step: (height) => [height - 9, height - 6],
  model: (height) => [5, height / 2 - 1],
  tool: (height) => [height / 2 + 1, height - 5],
};

/** Bars are made anew when events have come. */
function isSame(one: Bar, other: Bar | undefined): boolean {
  return one.kind === other?.kind && one.place === other.place && one.start === other.start;
}

function Tip({
  bar,
  x,
  y,
  width,
  now,
}: {
  bar: Bar;
  x: number;
  y: number;
  width: number;
  now: number;
}) {
  const { over } = useRunContext();
  const iteration = bar.place === undefined ? undefined : iterationOfPlace(bar.place);
  const side = x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` };
  return (
    <div
      class="timeline-tip lines small"
      style={{ ...side, top: `${y + 14}px` }}
      aria-hidden="true"
    >
      <strong>{barTitle(bar)}</strong>
      <span>{barDetail(bar, now, over)}</span>
      {iteration === undefined || bar.place === iteration ? null : (
        <span class="muted">{titleOf(iteration)}</span>
      )}
    </div>
  );
}

/** Left and right are on a lane, up and down lead to the nearest bar of another one. */
function nextBar(
  lanes: readonly Lane[],
  focused: Bar | undefined,
  key: string,
): { readonly bar: Bar; readonly index: number } | undefined {
  const rows = lanes
    .map(({ bars }, index) => ({ index, bars: focusable(bars()) }))
    .filter(({ bars }) => bars.length > 0);
  const row = rows.findIndex(({ bars }) => bars.some((bar) => isSame(bar, focused)));
  const { bars = [], index = 0 } = rows[Math.max(0, row)] ?? {};
  const at = bars.findIndex((bar) => isSame(bar, focused));
  const within = (bar: Bar | undefined) => bar && { bar, index };
  if (focused === undefined || at < 0) return within(bars[0]);
  switch (key) {
    case "ArrowRight":
      return within(bars[at + 1]);
    case "ArrowLeft":
      return within(bars[at - 1]);
    case "Home":
      return within(bars[0]);
    case "End":
      return within(bars.at(-1));
    default: {
      const other = rows[row + (key === "ArrowDown" ? 1 : -1)];
      const distance = (bar: Bar) => Math.abs(bar.start - focused.start);
      const nearest = other?.bars.toSorted((a, b) => distance(a) - distance(b))[0];
      return other && nearest && { bar: nearest, index: other.index };
    }
  }
}
