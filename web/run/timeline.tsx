/** The timeline of a run: lanes that can be zoomed, or a table of everything on them. */
import { useMemo, useState } from "preact/hooks";
import {
  barText,
  focusable,
  isMark,
  lanesOf,
  panned,
  wholeRange,
  zoomed,
  type Bar,
  type Lane,
  type Range,
} from "../model/timeline.ts";
import { IconButton } from "../parts/icon.tsx";
import { EmptyState } from "../parts/notes.tsx";
import { ClockTime, useNow } from "../parts/time.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import { placeHref, useRunContext } from "./context.ts";
import { BarShape, Lanes, ZOOM } from "./lanes.tsx";

export function Timeline() {
  const { model, version, live } = useRunContext();
  const [isTable, setTable] = useState(false);
  const [withSessions, setSessions] = useState(true);
  /** Undefined: the whole run, however long it gets. */
  const [range, setRange] = useState<Range | undefined>(undefined);
  const lanes = useMemo(() => lanesOf(model, withSessions), [model, version, withSessions]);
  const clock = useNow(live ? 250 : 0);
  const { lastAt } = model.view;
  const now = live ? Math.max(lastAt, clock) : lastAt;
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
    <div class="column">
      <div class="pane-bar row wrap between">
        <Legend />
        <div class="row tight">
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
          {zoomButtons.map(([icon, label, onClick]) =>
            isTable ? null : (
              <IconButton key={icon} icon={icon} small label={label} onClick={onClick} />
            ),
          )}
        </div>
      </div>
      {isTable ? (
        <TimelineTable lanes={lanes} now={now} />
      ) : (
        <Lanes
          lanes={lanes}
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

const legend: readonly (readonly [kind: Bar["kind"], text: string])[] = [
  ["iteration", "step"],
  ["step", "activity"],
  ["action", "action"],
  ["model", "model call"],
  ["tool", "tool call"],
  ["wait", "wait"],
  ["crash", "crash"],
  ["retry", "retry"],
  ["denial", "denial"],
];

function Legend() {
  const { steps, actions } = useRunContext().model;
  const shown = legend.filter(
    ([kind]) => (kind !== "step" || steps.length > 0) && (kind !== "action" || actions.length > 0),
  );
  return (
    <ul class="legend row wrap muted small" aria-label="What the colors mean">
      {shown.map(([kind, text]) => (
        <li key={kind}>
          <svg width={14} height={22} aria-hidden="true">
            <BarShape kind={kind} tone="ok" from={isMark({ kind }) ? 7 : 1} to={13} height={22} />
          </svg>
          {text}
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
        <a class="list-link" href={placeHref(runId, place)}>
          <ClockTime at={bar.start} />
          <span class="truncate">{barText(bar, now, over)}</span>
        </a>
      )}
    />
  );
}
