/** The runs that the server knows, the newest first. */
import { useState } from "preact/hooks";
import { api, type RunListItem, type RunStatus } from "../data/api.ts";
import { useAnnounce } from "../parts/announcer.tsx";
import { Icon } from "../parts/icon.tsx";
import { EmptyState } from "../parts/notes.tsx";
import { StatusBadge, type Status } from "../parts/status.tsx";
import { RelativeTime, RunningDuration } from "../parts/time.tsx";
import { runHref } from "../routes.ts";
import { StopDialog } from "./stop-dialog.tsx";

const SHOWN_AT_FIRST = 20;

const statuses: Readonly<Record<RunStatus, Status>> = {
  Running: "running",
  Succeeded: "succeeded",
  Failed: "failed",
  Canceled: "canceled",
};

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
  const sorted = runs.toSorted((a, b) => Date.parse(b.startTime) - Date.parse(a.startTime));
  const shown = all ? sorted : sorted.slice(0, SHOWN_AT_FIRST);
  const hidden = sorted.length - shown.length;
  return (
    <>
      <ul class="run-list card">
        {shown.map((run) => (
          <li key={run.jobId} class="run-item">
            <RunRow
              run={run}
              onStop={() => setStopping(run)}
              onStartAgain={() => onStartAgain(run)}
            />
          </li>
        ))}
      </ul>
      {hidden === 0 ? null : (
        <button type="button" class="button run-list-more" onClick={() => setAll(true)}>
          Show {hidden} more
        </button>
      )}
      {stopping === undefined ? null : (
        <StopDialog
          jobName={stopping.jobName}
          onClose={() => setStopping(undefined)}
          onStop={async () => {
            const answer = await api.stopJob(stopping.jobId);
            if (answer.ok) {
              announce(`Stopped ${stopping.jobName}.`);
              onChanged();
            }
            return answer;
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
  const at = Date.parse(run.startTime);
  const isRunning = run.status === "Running";
  return (
    <>
      <a class="run-link" href={runHref(run.jobId)}>
        <span class="run-name">{run.jobName}</span>
        <StatusBadge status={statuses[run.status]} quiet />
      </a>
      <span class="run-facts">
        {isRunning ? <RunningDuration from={at} /> : <RelativeTime at={at} />}
      </span>
      {isRunning ? (
        <button
          type="button"
          class="button button-icon button-small run-action"
          aria-label={`Stop ${run.jobName}`}
          title="Stop"
          onClick={onStop}
        >
          <Icon name="stop" />
        </button>
      ) : (
        <button
          type="button"
          class="button button-icon button-small run-action"
          aria-label={`Start ${run.jobName} again`}
          title="Start again"
          onClick={onStartAgain}
        >
          <Icon name="retry" />
        </button>
      )}
    </>
  );
}
