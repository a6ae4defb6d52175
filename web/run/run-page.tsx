/** One run, live or from a journal: a fold over its events. */
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { elapsedMs } from "../../src/events/view.ts";
import type { RunSource } from "../data/run-source.ts";
import type { Place, RunModel } from "../model/model.ts";
import { targetOf, type Target } from "../model/places.ts";
import { formatCount, formatDuration } from "../parts/format.ts";
import { EmptyState, ErrorNote, Loading, PageHeading } from "../parts/notes.tsx";
import { looks, StatusMark } from "../parts/status.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { navigate } from "../router.ts";
import { runHref, type RunPart } from "../routes.ts";
import { RunContext, useRunContext, useRunTime, workStatus } from "./context.ts";
import { Decisions } from "./decisions.tsx";
import { Flowchart } from "./flowchart.tsx";
import { HandedIn } from "./handed-in.tsx";
import { Questions } from "./questions.tsx";
import { RunHead, type RunActions } from "./run-head.tsx";
import { SearchBar } from "./search-bar.tsx";
import { Timeline } from "./timeline.tsx";
import { useRun, type Run } from "./use-run.ts";
import { WorkDetail } from "./work-detail.tsx";

/** The same width is in run.css. */
const narrow = "(max-width: 640px)";

export type { RunActions } from "./run-head.tsx";

export function RunPage({
  source,
  route,
  actions,
}: {
  source: RunSource;
  route: RunPart;
  /** Only in the portal. */
  actions?: RunActions;
}) {
  const run = useRun(source);
  const { runId } = source;
  const { model, feed } = run;
  const live = feed.kind === "open" && model.view.endedAt === undefined;
  const over = feed.kind === "ended" || feed.kind === "failed";
  const [query, setQuery] = useState("");
  const context = useMemo(
    () => ({ runId, live, over, query, open: (part: RunPart) => navigate(runHref(runId, part)) }),
    [runId, live, over, query],
  );
  if (model.events === 0) return <WithoutEvents run={run} />;
  return (
    <RunContext.Provider value={context}>
      <RunHead model={model} feed={feed} actions={actions} />
      {live && actions !== undefined ? <Questions model={model} actions={actions} /> : null}
      <div class="run-search">
        <SearchBar model={model} version={run.version} onQuery={setQuery} />
      </div>
      <HandedIn model={model} version={run.version} />
      <RunParts run={run} route={route} />
    </RunContext.Provider>
  );
}

function WithoutEvents({ run: { feed } }: { run: Run }) {
  return (
    <>
      <PageHeading eyebrow="Run">Run</PageHeading>
      {feed.kind === "reading" || feed.kind === "open" ? <Loading what="the run" /> : null}
      {feed.kind === "ended" ? <EmptyState title="There are no events of this run" /> : null}
      {feed.kind === "failed" ? (
        <ErrorNote title="The run can't be shown.">{feed.reason}</ErrorNote>
      ) : null}
    </>
  );
}

function RunParts({ run: { model, version }, route }: { run: Run; route: RunPart }) {
  const target = targetOf(model, route);
  const selected = target.work?.workId;
  const detail = useRef<HTMLElement>(null);
  const isNarrow = useMedia(narrow);
  const flowchart = (
    <Flowchart model={model} version={version} selected={selected} activity={target.activity} />
  );
  useShown(detail, route, target);
  return (
    <>
      <div class="run-pictures">
        {isNarrow ? null : (
          <section class="card" aria-label="Flowchart">
            <h2 class="card-title">Flowchart</h2>
            {flowchart}
          </section>
        )}
        <section class="card" aria-label="Timeline and decisions">
          <Pictures
            model={model}
            version={version}
            selected={selected}
            flowchart={isNarrow ? flowchart : undefined}
          />
        </section>
      </div>
      <section ref={detail} class="card run-work" aria-label="Steps">
        <WorksList model={model} selected={selected} />
        <div class="column run-detail">
          {target.missing ? <Missing route={route} target={target} /> : null}
          <WithoutRow place={target.place} />
          {target.missing && target.work === undefined ? null : (
            <WorkDetail model={model} version={version} target={target} />
          )}
        </div>
      </section>
    </>
  );
}

function Pictures({
  model,
  version,
  selected,
  flowchart,
}: {
  model: Run["model"];
  version: number;
  selected: number | undefined;
  /** Where there is no room beside the timeline. */
  flowchart: VNode | undefined;
}) {
  const [chosen, setChosen] = useState<"flowchart" | "timeline" | "decisions">("timeline");
  const shown = chosen === "flowchart" && flowchart === undefined ? "timeline" : chosen;
  return (
    <Tabs
      label="Timeline and decisions"
      tabs={[
        ...(flowchart === undefined ? [] : [{ id: "flowchart" as const, title: "Flowchart" }]),
        { id: "timeline", title: "Timeline" },
        { id: "decisions", title: `Decisions (${model.decisions.length})` },
      ]}
      selected={shown}
      onSelect={setChosen}
    >
      {shown === "flowchart" ? flowchart : null}
      {shown === "timeline" ? (
        <Timeline model={model} version={version} selected={selected} />
      ) : null}
      {shown === "decisions" ? <Decisions model={model} version={version} /> : null}
    </Tabs>
  );
}

/** A decision about the whole job, or about a session, has no row in a work. */
function WithoutRow({ place }: { place: Place | undefined }) {
  if (place?.kind !== "decision" || place.iteration?.entries.includes(place)) return null;
  return (
    <p class="note reason" data-tone="skip">
      {place.category}: {place.text}
    </p>
  );
}

function Missing({ route, target }: { route: RunPart; target: Target }) {
  const what = {
    overview: "part",
    work: target.work === undefined ? "step" : "iteration",
    turn: "turn",
    call: "tool call",
    decision: "decision",
    step: "step",
    document: "document",
    action: "action",
    activity: "activity",
  };
  return (
    <p class="note reason" data-tone="warn" role="status">
      The run has no such {what[route.kind]}.
    </p>
  );
}

/** A link into the run brings the works into view. Its first address does only if it names a part. */
function useShown(
  detail: { readonly current: HTMLElement | null },
  route: RunPart,
  { work, missing }: Target,
): void {
  const isThere = work !== undefined || missing;
  useEffect(() => {
    if (route.kind === "overview" || !isThere) return;
    detail.current?.scrollIntoView({ block: "start" });
  }, [route, isThere]);
}

/** Whether a media query matches now. */
function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const change = () => setMatches(media.matches);
    change();
    media.addEventListener("change", change);
    return () => media.removeEventListener("change", change);
  }, [query]);
  return matches;
}

/** The works of a run with their statuses: what the flowchart shows, as text. */
function WorksList({ model, selected }: { model: RunModel; selected: number | undefined }) {
  const { runId, over } = useRunContext();
  const now = useRunTime(model);
  const list = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const box = list.current;
    const link = box?.querySelector<HTMLElement>("[aria-current]");
    if (box === null || link === null || link === undefined) return;
    const { top, bottom } = link.getBoundingClientRect();
    const frame = box.getBoundingClientRect();
    if (top < frame.top || bottom > frame.bottom)
      box.scrollTop += (top + bottom) / 2 - (frame.top + frame.bottom) / 2;
  }, [selected]);
  return (
    <nav ref={list} class="works" aria-label="Steps">
      <ul>
        {[...model.works.values()].map(({ workId, taskId, iterations }) => {
          const view = model.view.works.get(workId);
          const status = workStatus(view, over);
          const elapsed = view === undefined ? 0 : elapsedMs(view, now);
          const tokens = view === undefined ? 0 : view.inputTokens + view.outputTokens;
          const facts = [
            status === "retried" ? "Retried" : looks[status].word,
            ...(iterations.size > 1 ? [`${iterations.size} iterations`] : []),
            ...(elapsed > 0 ? [formatDuration(elapsed)] : []),
            ...(tokens > 0 ? [`${formatCount(tokens)} tokens`] : []),
          ];
          return (
            <li key={workId}>
              <a
                class="list-link"
                href={runHref(runId, { kind: "work", workId, iteration: undefined })}
                aria-current={workId === selected ? "true" : undefined}
              >
                <StatusMark status={status} />
                <span class="lines grow">
                  <span class="truncate">
                    {taskId} <span class="muted number">#{workId}</span>
                  </span>
                  <span class="muted small truncate">{facts.join(" · ")}</span>
                </span>
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
