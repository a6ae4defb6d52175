/** The jobs of the entry: as its grid places them, then those that are not in it. */
import { taskWorks } from "../../src/entry/work.ts";
import type { PreparedJob } from "../../src/entry/model.ts";
import type { Jobs, RunListItem } from "../data/api.ts";
import { formatCount, plural } from "../parts/format.ts";
import { Icon, Spinner } from "../parts/icon.tsx";
import { EmptyState } from "../parts/notes.tsx";

interface JobListProps {
  readonly jobs: Jobs;
  readonly runs: readonly RunListItem[];
  readonly onStart: (jobName: string) => void;
}

export function JobGrid({ jobs: { grid, jobs }, runs, onStart }: JobListProps) {
  const placed = new Set(grid.flatMap((row) => row.jobs.map((cell) => cell?.jobName)));
  const others = Object.keys(jobs).filter((name) => !placed.has(name));
  const running = runningByJob(runs);
  const button = (jobName: string, text: string) => {
    const job = jobs[jobName];
    return job === undefined ? null : (
      <JobButton
        name={text}
        jobName={jobName}
        job={job}
        running={running.get(jobName) ?? 0}
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
                    <td key={column}>{cell === null ? null : button(cell.jobName, cell.name)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {others.length === 0 ? null : (
        <div class="other-jobs">
          {grid.length === 0 ? null : <h2>Other jobs</h2>}
          <ul class="job-list">
            {others.map((name) => (
              <li key={name}>{button(name, name)}</li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}

function runningByJob(runs: readonly RunListItem[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { jobName, status } of runs)
    if (status === "Running") counts.set(jobName, (counts.get(jobName) ?? 0) + 1);
  return counts;
}

function JobButton({
  name,
  jobName,
  job,
  running,
  onStart,
}: {
  /** What the grid calls it. */
  name: string;
  jobName: string;
  job: PreparedJob;
  running: number;
  onStart: () => void;
}) {
  const tasks = plural(taskWorks(job.work).length, "task");
  const facts = job.requireUserInput ? `${tasks} · needs input` : tasks;
  return (
    <button type="button" class="job-button" onClick={onStart}>
      <span class="job-button-icon">
        <Icon name="play" size={14} />
      </span>
      <span class="job-button-text">
        <span class="hidden-text">Start </span>
        <span class="job-button-name">{name}</span>
        {name === jobName ? null : <span class="job-button-job">{jobName}</span>}
        <span class="job-button-facts">
          {running === 0 ? (
            facts
          ) : (
            <span class="job-button-running" data-tone="run">
              <Spinner size={13} /> {formatCount(running)} running
            </span>
          )}
        </span>
      </span>
    </button>
  );
}
