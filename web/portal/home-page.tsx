/** The start: the jobs of the entry, and the runs of the last hour. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  api,
  type Jobs,
  type JournalSummary,
  type RunListItem,
  type RunStatus,
} from "../data/api.ts";
import { useApi } from "../data/use-api.ts";
import { ErrorNote, Loading, PageHeading } from "../parts/notes.tsx";
import { JobGrid } from "./job-grid.tsx";
import { RehearsalNote } from "./rehearsal.tsx";
import { EarlierRuns, OpenSessions, RecentRuns } from "./recent-runs.tsx";
import { earlierRuns } from "./runs.ts";
import { StartDialog, type StartRequest } from "./start-dialog.tsx";
import { useAnnounce } from "../parts/announcer.tsx";
import type { ChartGraph } from "../../src/entry/chart.ts";
import { drawFlowchart, MANY_NODES } from "../parts/flowchart.ts";

const RUNS_MS = 1_500;
/** With `--test`, clients install other entries. */
const JOBS_MS = 15_000;

export function HomePage({ journals }: { journals: readonly JournalSummary[] }) {
  const [jobs] = useApi(api.jobs, JOBS_MS);
  const [runs, reloadRuns] = useApi(api.runs, RUNS_MS);
  const [request, setRequest] = useState<StartRequest>();
  const listed = runs.kind === "loaded" ? runs.value : [];
  useRunAnnouncements(runs.kind === "loaded" ? runs.value : undefined);
  return (
    <>
      {runs.kind === "loaded" && runs.stale !== undefined ? (
        <ErrorNote>{runs.stale.reason} What is shown may be out of date.</ErrorNote>
      ) : null}
      <div class="home">
        <section class="home-jobs" aria-label="Jobs of the entry">
          <PageHeading>Jobs</PageHeading>
          <RehearsalNote />
          {jobs.kind === "loading" ? <Loading what="the jobs" /> : null}
          {jobs.kind === "failed" ? <ErrorNote>{jobs.error.reason}</ErrorNote> : null}
          {jobs.kind === "loaded" ? (
            <JobGrid
              jobs={jobs.value}
              runs={listed}
              onStart={(jobName) => setRequest({ jobName, again: undefined })}
            />
          ) : null}
        </section>
        <section class="home-runs" aria-labelledby="recent-runs">
          <div class="section-heading row between">
            <h2 id="recent-runs">Recent runs</h2>
            <span class="muted small">of the last hour</span>
          </div>
          {runs.kind === "loading" ? <Loading what="the runs" /> : null}
          {runs.kind === "failed" ? <ErrorNote>{runs.error.reason}</ErrorNote> : null}
          {runs.kind === "loaded" ? (
            <RecentRuns
              runs={runs.value}
              onChanged={reloadRuns}
              onStartAgain={(run) => setRequest({ jobName: run.jobName, again: run })}
            />
          ) : null}
          <OpenSessions />
          <EarlierRuns runs={earlierRuns(journals, listed)} />
        </section>
        {jobs.kind === "loaded" ? <JobCharts jobs={jobs.value} /> : null}
      </div>
      {request === undefined ? null : (
        <StartDialog request={request} onClose={() => setRequest(undefined)} />
      )}
    </>
  );
}

/** Announces the end of every run that was seen running, and every question. */
function useRunAnnouncements(runs: readonly RunListItem[] | undefined): void {
  const announce = useAnnounce();
  const before = useRef(new Map<string, RunStatus>());
  const asked = useRef(new Set<string>());
  useEffect(() => {
    if (runs === undefined) return;
    const open = runs.flatMap(({ jobId, jobName, questions = [] }) =>
      questions.map(({ id }) => ({ key: `${jobId} ${id}`, jobName })),
    );
    for (const { key, jobName } of open)
      if (!asked.current.has(key)) announce(`${jobName} waits for an answer.`);
    asked.current = new Set(open.map(({ key }) => key));
    for (const { jobId, jobName, status } of runs)
      if (before.current.get(jobId) === "Running" && status !== "Running")
        announce(`${jobName} ${status.toLowerCase()}.`);
    before.current = new Map(runs.map(({ jobId, status }) => [jobId, status]));
  }, [runs]);
}

/** The flowchart of a job; the reader chooses which. */
function JobCharts({ jobs: { grid, jobs, chart } }: { jobs: Jobs }) {
  const names = useMemo(() => {
    const placed = grid.flatMap((row) => row.jobs.map((cell) => cell?.jobName ?? ""));
    return [...new Set([...placed, ...Object.keys(jobs)])].filter((name) =>
      Object.hasOwn(jobs, name),
    );
  }, [grid, jobs]);
  const [chosen, setChosen] = useState(() => {
    const asked = new URLSearchParams(location.search).get("jobName");
    return asked !== null && names.includes(asked) ? asked : names[0];
  });
  const graph = chosen === undefined ? undefined : chart[chosen];
  if (chosen === undefined || graph === undefined) return null;
  return (
    <section class="card job-chart" aria-labelledby="job-chart">
      <header class="pane-bar row wrap between">
        <h2 id="job-chart">Flowchart</h2>
        {names.length === 1 ? (
          <span class="muted">{chosen}</span>
        ) : (
          <select
            class="input input-small"
            aria-label="Job"
            value={chosen}
            onChange={({ currentTarget }) => setChosen(currentTarget.value)}
          >
            {names.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </header>
      {graph.nodes.length > MANY_NODES ? (
        <p class="muted job-chart-drawing">
          With {graph.nodes.length} nodes, this flowchart is too large to be shown here.
        </p>
      ) : (
        <Chart key={chosen} graph={graph} label={`Flowchart of ${chosen}`} />
      )}
    </section>
  );
}

/** Mermaid draws for a text of 16 pixels. */
const SCALE = 0.85;

function Chart({ graph, label }: { graph: ChartGraph; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  // It is asked for again and again, and is mostly the same.
  const drawn = JSON.stringify(graph);
  useEffect(() => {
    let current = true;
    drawFlowchart(graph).then(
      (svg) => {
        if (!current) return;
        svg.style.width = `${svg.viewBox.baseVal.width * SCALE}px`;
        place.current?.replaceChildren(svg);
      },
      () => {
        if (current) setFailed(true);
      },
    );
    return () => {
      current = false;
    };
  }, [drawn]);
  return (
    <>
      {failed ? <p class="muted job-chart-drawing">The flowchart can't be drawn.</p> : null}
      <div ref={place} class="flowchart-drawing job-chart-drawing" role="img" aria-label={label} />
    </>
  );
}
