/** The runs that the server knows, the newest first. */
import { useContext, useState } from "preact/hooks";
import type { RunSummary } from "../../src/reports/run-summary.ts";
import type { RunListItem } from "../data/api.ts";
import { useAnnounce } from "../parts/announcer.tsx";
import { plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { EmptyState } from "../parts/notes.tsx";
import { RehearsalMark, StatusBadge } from "../parts/status.tsx";
import { Duration, RelativeTime, RunningDuration } from "../parts/time.tsx";
import { runHref } from "../routes.ts";
import { Rehearsal } from "./rehearsal.tsx";
import { newestFirst, statusOf } from "./runs.ts";
import { StopRun } from "./stop-dialog.tsx";

const SHOWN_AT_FIRST = 20;

export function RecentRuns({
  runs,
  onChanged,
  onStartAgain,
}: {
  runs: readonly RunListItem[];
  onChanged: () => void;
  onStartAgain: (run: RunListItem) => void;
}) {
  const [all, setAll] = useState(false);
  const [stopping, setStopping] = useState<RunListItem>();
  const announce = useAnnounce();
  if (runs.length === 0)
    return (
      <EmptyState icon="play" title="Nothing has run yet.">
        Start a job. Its run appears here, and stays for an hour after it ends.
      </EmptyState>
    );
  const sorted = newestFirst(runs);
  const shown = all ? sorted : sorted.slice(0, SHOWN_AT_FIRST);
  const hidden = sorted.length - shown.length;
  return (
    <>
      <ul class="list card">
        {shown.map((run) => (
          <li key={run.jobId} class="recent-item row">
            <RunRow
              run={run}
              onStop={() => setStopping(run)}
              onStartAgain={() => onStartAgain(run)}
            />
          </li>
        ))}
      </ul>
      {hidden === 0 ? null : (
        <button type="button" class="button show-more" onClick={() => setAll(true)}>
          Show {hidden} more
        </button>
      )}
      {stopping === undefined ? null : (
        <StopRun
          runId={stopping.jobId}
          jobName={stopping.jobName}
          onClose={() => setStopping(undefined)}
          onStopped={() => {
            announce(`Stopped ${stopping.jobName}.`);
            onChanged();
          }}
        />
      )}
    </>
  );
}

function RunRow({
  run,
  onStop,
  onStartAgain,
}: {
  run: RunListItem;
  onStop: () => void;
  onStartAgain: () => void;
}) {
  // A server that rehearses does so in each of its runs.
  const rehearsed = useContext(Rehearsal) !== undefined;
  const from = Date.parse(run.startTime);
  const isRunning = run.status === "Running";
  const asks = isRunning && (run.questions ?? []).length > 0;
  const done = run.tasks.filter(({ status }) => !["Waiting", "Running"].includes(status)).length;
  return (
    <>
      <a class="recent-link lines grow" href={runHref(run.jobId)}>
        <span class="strong truncate">{run.jobName}</span>
        <span class="row muted small">
          <StatusBadge status={asks ? "asking" : statusOf(run.status)} quiet />
          <RehearsalMark rehearsed={rehearsed} />
          {isRunning ? (
            <span class="number">
              {done} of {plural(run.tasks.length, "task")}
            </span>
          ) : (
            <RelativeTime at={Date.parse(run.endTime ?? run.startTime)} />
          )}
        </span>
      </a>
      <span class="muted small">
        {run.endTime === undefined ? (
          <RunningDuration from={from} />
        ) : (
          <Duration ms={Date.parse(run.endTime) - from} />
        )}
      </span>
      <button
        type="button"
        class="button button-icon button-small recent-action"
        aria-label={isRunning ? `Stop ${run.jobName}` : `Start ${run.jobName} again`}
        title={isRunning ? "Stop" : "Start again"}
        onClick={isRunning ? onStop : onStartAgain}
      >
        <Icon name={isRunning ? "stop" : "retry"} />
      </button>
      {isRunning ? (
        <span
          class="recent-progress"
          aria-hidden="true"
          style={{ width: `${(100 * done) / Math.max(1, run.tasks.length)}%` }}
        />
      ) : null}
    </>
  );
}

const EARLIER_SHOWN = 8;

/** Runs that have left the list above, and are kept in journals. */
export function EarlierRuns({ runs }: { runs: readonly RunSummary[] }) {
  if (runs.length === 0) return null;
  return (
    <section class="earlier" aria-labelledby="earlier-runs">
      <div class="section-heading row">
        <h2 id="earlier-runs">Earlier runs</h2>
        <a class="small" href="#/journals">
          All journals
        </a>
      </div>
      <ul class="list card">
        {runs.slice(0, EARLIER_SHOWN).map((run) => (
          <li key={run.runId} class="recent-item row">
            <a class="recent-link lines grow" href={runHref(run.runId)}>
              <span class="strong truncate">{run.jobName}</span>
              <span class="row muted small">
                <StatusBadge status={run.status === "running" ? "incomplete" : run.status} quiet />
                <RehearsalMark rehearsed={run.rehearsed} />
                <RelativeTime at={Date.parse(run.startTime ?? "")} />
              </span>
            </a>
            <span class="muted small">
              <Duration ms={run.durationMs} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
