/** The chosen work: a tab for each iteration and each attempt, and in it everything that happened. */
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { outcomeReason, type WorkView } from "../../src/events/view.ts";
import type { IterationModel, SessionModel, TurnModel } from "../model/model.ts";
import { sendingOf, stateOf } from "../model/places.ts";
import { usageOf } from "../model/contents.ts";
import { rowOf, rowsOf, type Row } from "../model/rows.ts";
import { Icon } from "../parts/icon.tsx";
import { Collapsible } from "../parts/collapsible.tsx";
import { formatCount, formatDuration, plural } from "../parts/format.ts";
import { EmptyState } from "../parts/notes.tsx";
import { StatusBadge, StatusMark } from "../parts/status.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { useVirtualRows } from "../parts/virtual-list.tsx";
import { RowView, usageText } from "./block-rows.tsx";
import { Cut, type Opened } from "./row-parts.tsx";
import { ActionsUnderWay } from "./action-rows.tsx";
import { FlowPath } from "./flow-path.tsx";
import { useRunContext, workStatus } from "./context.ts";
import { revealHit, useMarkedText } from "./marked-text.ts";

export function WorkDetail() {
  const { model, target, open, over } = useRunContext();
  const { work, iteration } = target;
  if (work === undefined) return <EmptyState title="No step has started" />;
  const { view, workId, iterations } = work;
  const openIteration = (number: number | undefined) =>
    open({ kind: "work", workId, iteration: number });
  // The iteration that is shown has its own reason; the work has that of its last one.
  const outcome = iteration?.outcome;
  const usage = usageOf(iteration?.entries ?? []);
  const reason = outcome === undefined ? view.reason : outcomeReason(outcome);
  return (
    <div class="column">
      <header class="row wrap work-part">
        <h2>
          {work.taskId} <span class="muted number">#{workId}</span>
        </h2>
        <StatusBadge status={workStatus(view, over)} />
        {view.modelId ? <span class="tag">{view.modelId}</span> : null}
        {usage.modelCalls === 0 ? null : <span class="muted small">{usageText(usage)}</span>}
      </header>
      {reason === undefined ? null : <p class="work-part muted work-reason">{reason}</p>}
      {target.activity === undefined ? null : (
        <p class="row wrap work-part">
          <span>
            Only <code>{target.activity.activity}</code>
          </span>
          <button type="button" class="text-button" onClick={() => openIteration(undefined)}>
            Show all steps
          </button>
        </p>
      )}
      {view.flow === undefined || model.view.plan?.work.kind === "Flow" ? null : (
        <Collapsible summary="Flowchart" class="work-part">
          <FlowPath workId={workId} />
        </Collapsible>
      )}
      {view.items.size === 0 ? null : <Items view={view} />}
      {view.report === undefined ? null : (
        <Collapsible summary={reportTitle(view)} class="work-part">
          <Cut text={view.report} label={reportTitle(view)} />
        </Collapsible>
      )}
      {iteration === undefined ? null : <ActionsUnderWay iteration={iteration} />}
      {iteration === undefined ? (
        <EmptyState
          title={
            view.status === "skipped"
              ? (view.reason ?? "It was never started")
              : "It has not started yet"
          }
        />
      ) : iterations.size < 2 ? (
        <Iteration key={`${workId}/${iteration.iteration}`} iteration={iteration} />
      ) : (
        <Tabs
          label="Iterations"
          tabs={[...iterations.values()].map((one) => ({
            id: String(one.iteration),
            title: (
              <>
                <StatusMark status={stateOf(one, over)} /> Iteration {one.iteration}
              </>
            ),
          }))}
          selected={String(iteration.iteration)}
          onSelect={(id) => openIteration(Number(id))}
        >
          <Iteration key={`${workId}/${iteration.iteration}`} iteration={iteration} />
        </Tabs>
      )}
    </div>
  );
}

function reportTitle({ flow }: WorkView): string {
  return flow === undefined ? "Response" : "RESULT";
}

/** The results of the items of an `Each` in one step. */
function Items({ view: { items, itemCount } }: { view: WorkView }) {
  const { over } = useRunContext();
  return (
    <Collapsible summary={plural(itemCount, "item")} class="work-part">
      <ul class="item-list stack" aria-label="Items" tabIndex={0}>
        {[...items.values()].map(({ name, status, reason, elapsedMs: took }) => (
          <li key={name} class="row wrap">
            <StatusBadge status={status === "running" && over ? "incomplete" : status} quiet />
            <code>{name}</code>
            {took === undefined ? null : <span class="muted small">{formatDuration(took)}</span>}
            {reason === undefined ? null : <span class="muted small">{reason}</span>}
          </li>
        ))}
        {itemCount > items.size ? (
          <li class="muted">and {formatCount(itemCount - items.size)} more</li>
        ) : null}
      </ul>
    </Collapsible>
  );
}

const ALL = "all";

function Iteration({ iteration }: { iteration: IterationModel }) {
  const { target } = useRunContext();
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const wanted = target.place === undefined ? undefined : sendingOf(target.place);
  useLayoutEffect(() => {
    if (wanted !== undefined && chosen !== undefined && wanted !== chosen) setChosen(undefined);
  }, [target.place]);
  const rows = <Rows key={String(chosen)} iteration={iteration} sending={chosen} />;
  // The prompts of a workflow are not attempts at one task.
  if (iteration.sendings < 2 || iteration.work.view.flow !== undefined) return rows;
  const attempts = Array.from({ length: iteration.sendings }, (_, index) => index + 1);
  return (
    <Tabs
      label="Attempts"
      tabs={[
        { id: ALL, title: "All" },
        ...attempts.map((number) => ({
          id: String(number),
          title: attemptTitle(iteration, number),
        })),
      ]}
      selected={chosen === undefined ? ALL : String(chosen)}
      onSelect={(id) => setChosen(id === ALL ? undefined : Number(id))}
    >
      {rows}
    </Tabs>
  );
}

function attemptTitle({ entries }: IterationModel, sending: number) {
  const turn = entries.find(
    (entry): entry is TurnModel =>
      entry.kind === "turn" && entry.sending === sending && entry.start?.purpose === "prompt",
  );
  const { retry = 0, attempt = 1 } = turn?.start ?? {};
  const name = [
    ...(retry > 0 ? [`retry ${retry}`] : []),
    ...(attempt > 1 || retry === 0 ? [`attempt ${attempt}`] : []),
  ].join(", ");
  return (
    <>
      {turn?.outcome === "crashed" ? <StatusMark status="crashed" /> : null}
      {name.charAt(0).toUpperCase() + name.slice(1)}
    </>
  );
}

const AT_END_PIXELS = 32;

function Rows({ iteration, sending }: { iteration: IterationModel; sending: number | undefined }) {
  const { version, target, live, query } = useRunContext();
  const { activity } = target;
  const grows = live && iteration.endedAt === undefined;
  const scroller = useRef<HTMLDivElement>(null);
  const { opened, changes } = useOpened();
  const rows = useMemo(() => {
    const isClosed = (session: SessionModel) => !opened.isOpen(session, true);
    return rowsOf(iteration, { sending, activity, isClosed });
  }, [iteration, sending, version, changes, activity?.file, activity?.activity]);
  // While only the scroll position changes, a row stays what it is, and Preact skips it.
  const viewOf = useMemo(() => {
    const views = new WeakMap<Row, VNode>();
    return (row: Row): VNode => {
      const view = views.get(row) ?? <RowView row={row} opened={opened} />;
      views.set(row, view);
      return view;
    };
  }, [rows]);
  const place = target.place?.kind === "iteration" ? undefined : target.place;
  const marked = place === undefined ? -1 : rowOf(rows, place);
  const follows = useRef(grows && place === undefined);
  const [isAtEnd, setAtEnd] = useState(true);

  const { virtualizer, items, totalSize } = useVirtualRows({
    scroller,
    count: rows.length,
    estimate: (index) => estimateOf(rows[index]),
    keyOf: (index) => rows[index]?.key ?? index,
    overscan: 6,
  });

  // Opens what the place is closed in, so that there is a row to go to.
  useLayoutEffect(() => {
    if (place === undefined) return;
    follows.current = false;
    const turn = place.kind === "turn" ? place : "turn" in place ? place.turn : undefined;
    if (turn !== undefined) opened.toggle(turn.session, true);
    opened.toggle(place, true);
  }, [place]);

  const arrived = useRef<object | undefined>(undefined);
  useEffect(() => {
    if (place === undefined || marked < 0 || arrived.current === place) return;
    arrived.current = place;
    virtualizer.scrollToIndex(marked, { align: "start" });
    const arrival = requestAnimationFrame(() => {
      const row = scroller.current?.querySelector<HTMLElement>(`[data-index="${marked}"]`);
      if (row === null || row === undefined) return;
      revealHit(row, query);
      // A reader who goes from hit to hit stays in the search.
      if (document.activeElement?.closest("[role=search]") === null)
        row.focus({ preventScroll: true });
    });
    return () => cancelAnimationFrame(arrival);
  }, [place, marked]);

  useLayoutEffect(() => {
    const box = scroller.current;
    if (box !== null && grows && follows.current) box.scrollTop = box.scrollHeight;
  }, [totalSize, version, grows]);

  useMarkedText(scroller, query, [items, version]);

  const onScroll = ({ currentTarget }: { currentTarget: HTMLElement }) => {
    const { scrollTop, clientHeight, scrollHeight } = currentTarget;
    const end = scrollHeight - scrollTop - clientHeight < AT_END_PIXELS;
    follows.current = end;
    setAtEnd(end);
  };
  const toEnd = () => {
    follows.current = true;
    if (rows.length > 0) virtualizer.scrollToIndex(rows.length - 1, { align: "end" });
  };

  if (rows.length === 0)
    return <EmptyState title={grows ? "Waiting for the first session" : "Nothing was recorded"} />;
  return (
    <div class="rows-place">
      <div
        ref={scroller}
        class="virtual-list rows"
        style={{ flexBasis: `${totalSize}px` }}
        role="list"
        aria-label={`What happened in ${iteration.work.taskId}`}
        tabIndex={0}
        onScroll={onScroll}
      >
        <div class="virtual-rows" role="presentation" style={{ height: `${totalSize}px` }}>
          {items.map(({ index, key, start }) => {
            const row = rows[index];
            return row === undefined ? null : (
              <div
                key={key}
                ref={(element) => {
                  if (element !== null) virtualizer.measureElement(element);
                }}
                class={`virtual-row run-row ${index === marked ? "run-row-marked" : ""}`}
                role="listitem"
                aria-setsize={rows.length}
                aria-posinset={index + 1}
                aria-current={index === marked ? "location" : undefined}
                tabIndex={-1}
                data-index={index}
                style={{ transform: `translateY(${start}px)` }}
              >
                {viewOf(row)}
              </div>
            );
          })}
        </div>
      </div>
      {isAtEnd ? null : (
        <button type="button" class="button button-small to-end" onClick={toEnd}>
          <Icon name="down" size={14} /> {grows ? "Follow" : "End"}
        </button>
      )}
    </div>
  );
}

/** Pixels, before the row was measured. */
function estimateOf(row: Row | undefined): number {
  return row?.kind === "place" && row.place.kind === "turn" ? 110 : 40;
}

function useOpened(): { readonly opened: Opened; readonly changes: number } {
  const touched = useRef(new WeakMap<object, boolean>());
  const [changes, setChanges] = useState(0);
  const opened = useMemo<Opened>(
    () => ({
      isOpen: (thing, normally) => touched.current.get(thing) ?? normally,
      toggle: (thing, open) => {
        if (touched.current.get(thing) === open) return;
        touched.current.set(thing, open);
        setChanges((count) => count + 1);
      },
    }),
    [],
  );
  return { opened, changes };
}
