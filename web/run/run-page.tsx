/** One run, live or from a journal: a fold over its events. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { elapsedMs } from "../../src/events/view.ts";
import type { RunSource } from "../data/run-source.ts";
import type { Place } from "../model/model.ts";
import { targetOf, type Target } from "../model/places.ts";
import { formatCount, formatDuration } from "../parts/format.ts";
import { EmptyState, ErrorNote, Loading, PageHeading } from "../parts/notes.tsx";
import { looks, StatusMark } from "../parts/status.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { navigate } from "../router.ts";
import { runHref, type RunPart } from "../routes.ts";
import { RunContext, useRunContext, useRunTime, workStatus, type RunActions } from "./context.ts";
import { Decisions } from "./decisions.tsx";
import { Flowchart } from "./flowchart.tsx";
import { HandedIn } from "./handed-in.tsx";
import { Questions } from "./questions.tsx";
import { RunHead } from "./run-head.tsx";
import { SearchBar } from "./search-bar.tsx";
import { Timeline } from "./timeline.tsx";
import { useRun, type Run } from "./use-run.ts";
import { WorkDetail } from "./work-detail.tsx";

/** The same width is in run.css. */
const narrow = "(max-width: 640px)";

export function RunPage({
  source,
  route,
  actions,
}: {
  source: RunSource;
  route: RunPart;
  actions?: RunActions;
}) {
  const run = useRun(source);
  const { runId } = source;
  const { model, feed } = run;
  const [query, setQuery] = useState("");
  if (model.view.events === 0) return <WithoutEvents feed={feed} />;
  const live = feed.kind === "open" && model.view.endedAt === undefined;
  const context = {
    ...run,
    runId,
    target: targetOf(model, route),
    actions,
    live,
    over: feed.kind === "ended" || feed.kind === "failed",
    query,
    open: (part: RunPart) => navigate(runHref(runId, part)),
  };
  return (
    <RunContext.Provider value={context}>
      <RunHead />
      {live && actions !== undefined ? <Questions /> : null}
      <div class="run-search">
        <SearchBar onQuery={setQuery} />
      </div>
      <HandedIn />
      <RunParts route={route} />
    </RunContext.Provider>
  );
}

function WithoutEvents({ feed }: Pick<Run, "feed">) {
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

function RunParts({ route }: { route: RunPart }) {
  const { target } = useRunContext();
  const detail = useRef<HTMLElement>(null);
  const isNarrow = useMedia(narrow);
  useShown(detail, route, target);
  return (
    <>
      <div class="run-pictures">
        {isNarrow ? null : (
          <section class="card column" aria-label="Flowchart">
            <h2 class="card-title">Flowchart</h2>
            <Flowchart />
          </section>
        )}
        <section class="card column" aria-label="Timeline and decisions">
          <Pictures withFlowchart={isNarrow} />
        </section>
      </div>
      <section ref={detail} class="card run-work" aria-label="Steps">
        <WorksList />
        <div class="column run-detail">
          {target.missing ? <Missing route={route} target={target} /> : null}
          <WithoutRow place={target.place} />
          {target.missing && target.work === undefined ? null : <WorkDetail />}
        </div>
      </section>
    </>
  );
}

/** `withFlowchart`: there is no room for it beside the timeline. */
function Pictures({ withFlowchart }: { withFlowchart: boolean }) {
  const { model } = useRunContext();
  const [chosen, setChosen] = useState<"flowchart" | "timeline" | "decisions">("timeline");
  const shown = chosen === "flowchart" && !withFlowchart ? "timeline" : chosen;
  return (
    <Tabs
      label="Timeline and decisions"
      tabs={[
        ...(withFlowchart ? [{ id: "flowchart" as const, title: "Flowchart" }] : []),
        { id: "timeline", title: "Timeline" },
        { id: "decisions", title: `Decisions (${model.decisions.length})` },
      ]}
      selected={shown}
      onSelect={setChosen}
    >
      {shown === "flowchart" ? <Flowchart /> : null}
      {shown === "timeline" ? <Timeline /> : null}
      {shown === "decisions" ? <Decisions /> : null}
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
function WorksList() {
  const { model, runId, over, target } = useRunContext();
  const selected = target.work?.workId;
  const now = useRunTime();
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
        {[...model.works.values()].map(({ workId, taskId, iterations, view }) => {
          const status = workStatus(view, over);
          const elapsed = elapsedMs(view, now);
          const tokens = view.inputTokens + view.outputTokens;
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
