/** The start: the jobs of the entry, and the runs of the last hour. */
import { useState } from "preact/hooks";
import { api, type JournalSummary } from "../data/api.ts";
import { useApi } from "../data/use-api.ts";
import { ErrorNote, Loading, PageHeading } from "../parts/notes.tsx";
import { JobCharts } from "./job-chart.tsx";
import { JobGrid } from "./job-grid.tsx";
import { EarlierRuns, RecentRuns } from "./recent-runs.tsx";
import { earlierRuns } from "./runs.ts";
import { StartDialog, type StartRequest } from "./start-dialog.tsx";
import { useRunAnnouncements } from "./use-run-announcements.ts";

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
          <div class="section-heading">
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
