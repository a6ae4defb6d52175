/** The timeline of a run: lanes that can be zoomed, or a table of everything on them. */
import { useMemo, useState } from "preact/hooks";
import type { RunModel } from "../model/model.ts";
import {
  barText,
  focusable,
  lanesOf,
  panned,
  wholeRange,
  zoomed,
  type Lane,
  type Range,
} from "../model/timeline.ts";
import { Icon } from "../parts/icon.tsx";
import { EmptyState } from "../parts/notes.tsx";
import { ClockTime, useNow } from "../parts/time.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import { placeHref, useRunContext } from "./context.ts";
import { Lanes, ZOOM } from "./lanes.tsx";

export function Timeline({
  model,
  version,
  selected,
}: {
  model: RunModel;
  version: number;
  selected: number | undefined;
}) {
  const [isTable, setTable] = useState(false);
  const [withSessions, setSessions] = useState(true);
  /** Undefined: the whole run, however long it gets. */
  const [range, setRange] = useState<Range | undefined>(undefined);
  const lanes = useMemo(() => lanesOf(model, withSessions), [model, version, withSessions]);
  const { live } = useRunContext();
  const clock = useNow(live ? 250 : 0);
  const last = model.lastAt ?? 0;
  const now = live ? Math.max(last, clock) : last;
  const whole = wholeRange(model, now);
  const shown = range ?? whole;
  const zoom = (factor: number, at = (shown.from + shown.to) / 2) => {
    const next = zoomed(shown, factor, at, whole);
    setRange(next.from <= whole.from && next.to >= whole.to ? undefined : next);
  };
  const pan = (ms: number) => setRange(panned(shown, ms, whole));
  const zoomButtons = [
    ["plus", "Zoom in", () => zoom(1 / ZOOM)],
    ["minus", "Zoom out", () => zoom(ZOOM)],
    ["fit", "Show the whole run", () => setRange(undefined)],
  ] as const;
  return (
    <div class="timeline column">
      <div class="pane-bar">
        <Legend model={model} />
        <div class="toolbar">
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
          {zoomButtons.map(([name, label, onClick]) =>
            isTable ? null : (
              <button
                key={name}
                type="button"
                class="button button-icon button-small"
                aria-label={label}
                title={label}
                onClick={onClick}
              >
                <Icon name={name} size={14} />
              </button>
            ),
          )}
        </div>
      </div>
      {isTable ? (
        <TimelineTable lanes={lanes} now={now} />
      ) : (
        <Lanes
          lanes={lanes}
          selected={selected}
          start={model.firstAt ?? 0}
          now={now}
          shown={shown}
          onZoom={zoom}
          onPan={pan}
          onWhole={() => setRange(undefined)}
        />
      )}
    </div>
  );
}

const keys = [
  "work",
  "step",
  "action",
  "model call",
  "tool call",
  "wait",
  "crash",
  "retry",
  "denial",
];

function Legend({ model: { steps, actions } }: { model: RunModel }) {
  const shown = keys.filter(
    (key) => (key !== "step" || steps.length > 0) && (key !== "action" || actions.length > 0),
  );
  return (
    <ul class="legend" aria-label="What the colors mean">
      {shown.map((key) => (
        <li key={key}>
          <span class={`key key-${key.replace(" call", "")}`} aria-hidden="true" /> {key}
        </li>
      ))}
    </ul>
  );
}

function TimelineTable({ lanes, now }: { lanes: readonly Lane[]; now: number }) {
  const { runId, over } = useRunContext();
  const items = useMemo(
    () =>
      focusable(lanes.flatMap(({ bars }) => bars())).flatMap((bar) =>
        bar.place === undefined ? [] : [{ bar, place: bar.place }],
      ),
    [lanes],
  );
  if (items.length === 0) return <EmptyState title="Nothing has happened yet" />;
  return (
    <VirtualList
      label="Everything on the timeline, by time"
      class="fill"
      items={items}
      keyOf={(_item, index) => index}
      estimate={28}
      render={({ bar, place }) => (
        <a class="list-link timeline-item" href={placeHref(runId, place)}>
          <ClockTime at={bar.start} />
          <span class="truncate">{barText(bar, now, over)}</span>
        </a>
      )}
    />
  );
}
