/** The runs and the sessions that the server knows, the newest first. */
import type { ComponentChildren } from "preact";
import { useContext, useState } from "preact/hooks";
import type { RunSummary } from "../../src/reports/run-summary.ts";
import { api, type RunListItem, type SessionListItem } from "../data/api.ts";
import { useApi } from "../data/use-api.ts";
import { useAnnounce } from "../parts/announcer.tsx";
import { plural } from "../parts/format.ts";
import { IconButton, type IconName } from "../parts/icon.tsx";
import { EmptyState } from "../parts/notes.tsx";
import { RehearsalMark, StatusBadge } from "../parts/status.tsx";
import { Duration, RelativeTime, RunningDuration } from "../parts/time.tsx";
import { hrefOf, runHref } from "../routes.ts";
import { Rehearsal } from "./rehearsal.tsx";
import { newestFirst, statusOf } from "./runs.ts";
import { StopRun, StopSession } from "./stop-dialog.tsx";

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
          <RunItem
            key={run.jobId}
            run={run}
            onStop={() => setStopping(run)}
            onStartAgain={() => onStartAgain(run)}
          />
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

/** A row of a list whose link covers all of it but its button. */
function RecentItem({
  href,
  name,
  facts,
  time,
  action,
  progress,
}: {
  href: string;
  name: string;
  facts: ComponentChildren;
  time: ComponentChildren;
  action?: { readonly icon: IconName; readonly label: string; readonly onClick: () => void };
  /** 0 to 1. */
  progress?: number | undefined;
}) {
  return (
    <li class="recent-item row">
      <a class="recent-link lines grow" href={href}>
        <span class="strong truncate">{name}</span>
        <span class="row muted small">{facts}</span>
      </a>
      <span class="muted small">{time}</span>
      {action === undefined ? null : <IconButton {...action} small class="recent-action" />}
      {progress === undefined ? null : (
        <span class="recent-progress" aria-hidden="true" style={{ width: `${100 * progress}%` }} />
      )}
    </li>
  );
}

function RunItem({
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
  const { jobId, jobName, status, startTime, endTime, questions = [], tasks } = run;
  const from = Date.parse(startTime);
  const isRunning = status === "Running";
  const done = tasks.filter((task) => !["Waiting", "Running"].includes(task.status)).length;
  return (
    <RecentItem
      href={runHref(jobId)}
      name={jobName}
      facts={
        <>
          <StatusBadge
            status={isRunning && questions.length > 0 ? "asking" : statusOf(status)}
            quiet
          />
          <RehearsalMark rehearsed={rehearsed} />
          {isRunning ? (
            <span class="number">
              {done} of {plural(tasks.length, "task")}
            </span>
          ) : (
            <RelativeTime at={Date.parse(endTime ?? startTime)} />
          )}
        </>
      }
      time={
        endTime === undefined ? (
          <RunningDuration from={from} />
        ) : (
          <Duration ms={Date.parse(endTime) - from} />
        )
      }
      action={
        isRunning
          ? { icon: "stop", label: `Stop ${jobName}`, onClick: onStop }
          : { icon: "retry", label: `Start ${jobName} again`, onClick: onStartAgain }
      }
      progress={isRunning ? done / Math.max(1, tasks.length) : undefined}
    />
  );
}

const EARLIER_SHOWN = 8;

/** Runs that have left the list above, and are kept in journals. */
export function EarlierRuns({ runs }: { runs: readonly RunSummary[] }) {
  if (runs.length === 0) return null;
  return (
    <section class="earlier" aria-labelledby="earlier-runs">
      <div class="section-heading row between">
        <h2 id="earlier-runs">Earlier runs</h2>
        <a class="small" href="#/journals">
          All journals
        </a>
      </div>
      <ul class="list card">
        {runs.slice(0, EARLIER_SHOWN).map((run) => (
          <RecentItem
            key={run.runId}
            href={runHref(run.runId)}
            name={run.jobName}
            facts={
              <>
                <StatusBadge status={run.status === "running" ? "incomplete" : run.status} quiet />
                <RehearsalMark rehearsed={run.rehearsed} />
                <RelativeTime at={Date.parse(run.startTime ?? "")} />
              </>
            }
            time={<Duration ms={run.durationMs} />}
          />
        ))}
      </ul>
    </section>
  );
}

const SESSIONS_MS = 5_000;

/** The ways back to the sessions that are open. */
export function OpenSessions() {
  const [sessions, reload] = useApi(api.sessions, SESSIONS_MS);
  const [stopping, setStopping] = useState<SessionListItem>();
  const announce = useAnnounce();
  const open =
    sessions.kind === "loaded"
      ? sessions.value.filter(({ endTime }) => endTime === undefined).toReversed()
      : [];
  return (
    <>
      {open.length === 0 ? null : (
        <section class="earlier" aria-labelledby="open-sessions">
          <div class="section-heading row between">
            <h2 id="open-sessions">Open sessions</h2>
          </div>
          <ul class="list card">
            {open.map((session) => (
              <RecentItem
                key={session.sessionId}
                href={hrefOf({ page: "session", sessionId: session.sessionId })}
                name={(session.prompts[0]?.text ?? session.modelId).slice(0, LONGEST_TITLE)}
                facts={
                  <>
                    {session.prompts.length === 0 ? null : <span>{session.modelId}</span>}
                    <span class="mono truncate">{session.workingDirectory}</span>
                  </>
                }
                time={<RelativeTime at={Date.parse(session.startTime)} />}
                action={{
                  icon: "stop",
                  label: `Stop the session with ${session.modelId}`,
                  onClick: () => setStopping(session),
                }}
              />
            ))}
          </ul>
        </section>
      )}
      {stopping === undefined ? null : (
        <StopSession
          sessionId={stopping.sessionId}
          onStopped={() => {
            announce("Stopped the session.");
            reload();
          }}
          onClose={() => setStopping(undefined)}
        />
      )}
    </>
  );
}

/** The row shows less; the rest would only make the page larger. */
const LONGEST_TITLE = 200;
