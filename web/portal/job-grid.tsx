/** The jobs of the entry: as its grid places them, then those that are not in it. */
import { taskWorks } from "../../src/entry/work.ts";
import type { PreparedJob } from "../../src/entry/model.ts";
import type { Jobs, RunListItem } from "../data/api.ts";
import { formatCount, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { EmptyState } from "../parts/notes.tsx";
import { StatusBadge } from "../parts/status.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { runsByJob, statusOf, type JobRuns } from "./runs.ts";

interface JobListProps {
  readonly jobs: Jobs;
  readonly runs: readonly RunListItem[];
  readonly onStart: (jobName: string) => void;
}

export function JobGrid({ jobs: { grid, jobs, workflows = {} }, runs, onStart }: JobListProps) {
  const placed = new Set(grid.flatMap((row) => row.jobs.map((cell) => cell?.jobName)));
  const others = Object.keys(jobs).filter((name) => !placed.has(name));
  const byJob = runsByJob(runs);
  const button = (jobName: string, text: string, withTasks: boolean) => {
    const job = jobs[jobName];
    return job === undefined ? null : (
      <JobButton
        name={text}
        jobName={jobName}
        job={job}
        parameters={workflows[jobName]?.parameters.length}
        runs={byJob.get(jobName)}
        withTasks={withTasks}
        onStart={() => onStart(jobName)}
      />
    );
  };
  if (Object.keys(jobs).length === 0)
    return (
      <EmptyState title="There are no jobs.">
        Start the server with <code>--entry FILE</code>.
      </EmptyState>
    );
  return (
    <>
      {grid.length === 0 ? null : (
        <div class="job-grid card">
          <table aria-label="Jobs by keyword">
            <tbody>
              {grid.map(({ keyword, jobs: cells }, row) => (
                // A grid never changes.
                <tr key={row}>
                  <th scope="row">{keyword}</th>
                  {cells.map((cell, column) => (
                    <td key={column}>
                      {cell === null || cell === undefined
                        ? null
                        : button(cell.jobName, cell.name, false)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {others.length === 0 ? null : (
        <div class="other-jobs stack">
          {grid.length === 0 ? null : <h2>Other jobs</h2>}
          <ul class="job-list">
            {others.map((name) => (
              <li key={name}>{button(name, workflows[name]?.title ?? name, true)}</li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}

function JobButton({
  name,
  jobName,
  job,
  parameters,
  runs,
  withTasks,
  onStart,
}: {
  name: string;
  jobName: string;
  job: PreparedJob;
  /** How many; undefined: it is no workflow. */
  parameters: number | undefined;
  runs: JobRuns | undefined;
  withTasks: boolean;
  onStart: () => void;
}) {
  const works = taskWorks(job.work);
  const tasks = plural(works.length, "task");
  const facts = job.requireUserInput ? `${tasks} · needs input` : tasks;
  return (
    <button type="button" class="job-button" onClick={onStart}>
      <span class="job-button-icon">
        <Icon name="play" size={14} />
      </span>
      <span class="lines grow">
        <span class="hidden-text">Start </span>
        <span class="strong">{name}</span>
        {name === jobName ? null : <span class="muted small mono">{jobName}</span>}
        <span class="muted small">
          {parameters === undefined ? facts : `workflow · ${plural(parameters, "parameter")}`}
        </span>
        {withTasks && works.length > 0 ? (
          <TaskTags names={works.map(({ taskId }) => taskId)} />
        ) : null}
        <JobState runs={runs} />
      </span>
    </button>
  );
}

const MAX_TAGS = 8;

function TaskTags({ names }: { names: readonly string[] }) {
  const unique = [...new Set(names)];
  return (
    <span class="row wrap tight">
      {unique.slice(0, MAX_TAGS).map((name) => (
        <span key={name} class="tag" title={name}>
          {name}
        </span>
      ))}
      {unique.length > MAX_TAGS ? <span>and {unique.length - MAX_TAGS} more</span> : null}
    </span>
  );
}

function JobState({ runs }: { runs: JobRuns | undefined }) {
  if (runs === undefined) return <span class="muted small">Not run yet</span>;
  const { running, last } = runs;
  if (running > 0)
    return (
      <span class="row wrap muted small">
        <StatusBadge status="running" word={`${formatCount(running)} running`} quiet />
      </span>
    );
  return last === undefined ? null : (
    <span class="row wrap muted small">
      <StatusBadge status={statusOf(last.status)} quiet />
      <RelativeTime at={Date.parse(last.endTime ?? last.startTime)} />
    </span>
  );
}
