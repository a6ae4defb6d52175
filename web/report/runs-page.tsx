/** The table of runs of a report, or of the journals of a server. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { ReportJournal } from "../../src/reports/html/boot.ts";
import { differenceOf } from "../../src/reports/run-summary.ts";
import { Collapsible } from "../parts/collapsible.tsx";
import { formatMoment, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { EmptyState, PageHeading } from "../parts/notes.tsx";
import { looks, RehearsalMark, StatusBadge, type Status } from "../parts/status.tsx";
import { runHref } from "../routes.ts";
import {
  figures,
  filterRuns,
  noFilter,
  sortRuns,
  type ListedRun,
  type RunFilter,
  type SortKey,
  type Sorting,
} from "./run-list.ts";

/** Rows that are shown at first, and how many more each time. */
const STEP = 200;

export function RunsPage({
  heading,
  eyebrow,
  runs,
  journals,
  more,
}: {
  heading: string;
  eyebrow?: ComponentChildren;
  runs: readonly ListedRun[];
  journals: readonly ReportJournal[];
  /** The content below the runs. */
  more?: ComponentChildren;
}) {
  const [filter, setFilter] = useState<RunFilter>(noFilter);
  const found = useMemo(() => filterRuns(runs, filter), [runs, filter]);
  return (
    <>
      <PageHeading eyebrow={eyebrow}>{heading}</PageHeading>
      <Problems journals={journals} />
      {runs.length === 0 ? (
        <EmptyState title="There are no runs.">The journals contain no event of a run.</EmptyState>
      ) : (
        <>
          <Filters runs={runs} filter={filter} onFilter={setFilter} />
          <p class="muted small" role="status">
            {found.length < runs.length ? `${found.length} of ${plural(runs.length, "run")}` : ""}
          </p>
          {found.length === 0 ? (
            <EmptyState icon="search" title="No run fits.">
              <button type="button" class="button" onClick={() => setFilter(noFilter)}>
                Show all runs
              </button>
            </EmptyState>
          ) : (
            <RunsTable runs={found} showJournals={journals.length > 1} />
          )}
        </>
      )}
      {more}
    </>
  );
}

function Filters({
  runs,
  filter,
  onFilter,
}: {
  runs: readonly ListedRun[];
  filter: RunFilter;
  onFilter: (filter: RunFilter) => void;
}) {
  return (
    <form class="filters row wrap" role="search" onSubmit={(event) => event.preventDefault()}>
      <label class="icon-field">
        <span class="hidden-text">Search</span>
        <Icon name="search" />
        <input
          class="input"
          type="search"
          placeholder="Job, reason, id or journal"
          value={filter.text}
          onInput={({ currentTarget }) => onFilter({ ...filter, text: currentTarget.value })}
        />
      </label>
      <Choice
        label="Status"
        value={filter.status}
        options={runs.map(({ status }) => status)}
        textOf={(status) => looks[lookOf(status)].word}
        onChange={(status) => onFilter({ ...filter, status })}
      />
      <Choice
        label="Job"
        value={filter.job}
        options={runs.map(({ jobName }) => jobName)}
        textOf={(job) => job}
        onChange={(job) => onFilter({ ...filter, job })}
      />
    </form>
  );
}

/** Shown if there is something to choose. */
function Choice<T extends string>({
  label,
  value,
  options,
  textOf,
  onChange,
}: {
  label: string;
  value: string;
  options: readonly T[];
  textOf: (option: T) => string;
  onChange: (value: string) => void;
}) {
  const different = [...new Set(options)].toSorted();
  if (different.length < 2) return null;
  return (
    <label>
      <span class="hidden-text">{label}</span>
      <select
        class="input"
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      >
        <option value="">Any {label.toLowerCase()}</option>
        {different.map((option) => (
          <option key={option} value={option}>
            {textOf(option)}
          </option>
        ))}
      </select>
    </label>
  );
}

const columns: readonly { readonly key: SortKey; readonly text: string }[] = [
  { key: "status", text: "Status" },
  { key: "jobName", text: "Job" },
  { key: "startTime", text: "Start" },
  ...figures,
];

function RunsTable({ runs, showJournals }: { runs: readonly ListedRun[]; showJournals: boolean }) {
  const [sorting, setSorting] = useState<Sorting>({ key: "startTime", descending: true });
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [room, setRoom] = useState(STEP);
  const sorted = useMemo(() => sortRuns(runs, sorting), [runs, sorting]);
  /** A third choice replaces the first. */
  const toggle = (runId: string) =>
    setChosen((before) =>
      before.includes(runId) ? before.filter((one) => one !== runId) : [...before, runId].slice(-2),
    );
  return (
    <>
      <div class="runs-scroller card" role="region" aria-label="Runs" tabIndex={0}>
        <table class="runs-table">
          <thead>
            <tr>
              <th scope="col">
                <span class="hidden-text">Compare</span>
              </th>
              {columns.map(({ key, text }) => (
                <SortHeader key={key} of={key} sorting={sorting} onSort={setSorting}>
                  {text}
                </SortHeader>
              ))}
              {showJournals ? <th scope="col">Journal</th> : null}
            </tr>
          </thead>
          <tbody>
            {sorted.slice(0, room).map((run) => (
              <RunRow
                key={run.runId}
                run={run}
                isChosen={chosen.includes(run.runId)}
                onToggle={() => toggle(run.runId)}
                showJournals={showJournals}
              />
            ))}
          </tbody>
          <Sums
            runs={runs}
            chosen={sortRuns(
              runs.filter(({ runId }) => chosen.includes(runId)),
              { key: "startTime", descending: false },
            )}
            showJournals={showJournals}
          />
        </table>
      </div>
      {sorted.length > room ? (
        <button type="button" class="button show-more" onClick={() => setRoom(room + STEP)}>
          Show more ({sorted.length - room} more runs)
        </button>
      ) : null}
    </>
  );
}

function SortHeader({
  of: key,
  sorting,
  onSort,
  children,
}: {
  of: SortKey;
  sorting: Sorting;
  onSort: (sorting: Sorting) => void;
  children: string;
}) {
  const isCurrent = sorting.key === key;
  const order = sorting.descending ? "descending" : "ascending";
  const descending = isCurrent ? !sorting.descending : key !== "jobName" && key !== "status";
  return (
    <th scope="col" aria-sort={isCurrent ? order : "none"} data-column={key}>
      <button type="button" class="sort-button" onClick={() => onSort({ key, descending })}>
        {children}
        <span class="sort-mark" data-order={isCurrent ? order : undefined}>
          <Icon name="chevron" size={12} />
        </span>
      </button>
    </th>
  );
}

function RunRow({
  run,
  isChosen,
  onToggle,
  showJournals,
}: {
  run: ListedRun;
  isChosen: boolean;
  onToggle: () => void;
  showJournals: boolean;
}) {
  const { runId, reason, journals } = run;
  const start = Date.parse(run.startTime ?? "");
  const name = run.jobName === "" ? "Unknown job" : run.jobName;
  return (
    <tr data-chosen={isChosen}>
      <td>
        <input
          type="checkbox"
          checked={isChosen}
          aria-label={`Compare ${name}, ${formatMoment(start)}`}
          onChange={onToggle}
        />
      </td>
      <td>
        <StatusBadge status={lookOf(run.status)} />
        <RehearsalMark rehearsed={run.rehearsed} />
      </td>
      <td class="runs-job">
        <a href={runHref(runId)}>{name}</a>
        {reason === undefined ? null : <div class="muted small clamp">{reason}</div>}
      </td>
      <td class="number">
        <time dateTime={run.startTime}>{formatMoment(start)}</time>
      </td>
      {figures.map(({ key, of, format }) => (
        <td key={key} class="number" data-column={key} data-zero={of(run) === 0}>
          {format(of(run))}
        </td>
      ))}
      {showJournals ? (
        <td class="muted mono small" title={journals.join("\n")}>
          {journals[0] ?? ""}
          {journals.length > 1 ? ` +${journals.length - 1}` : ""}
        </td>
      ) : null}
    </tr>
  );
}

/** The sums of all runs, and how the later of two chosen runs differs from the earlier. */
function Sums({
  runs,
  chosen: [a, b],
  showJournals,
}: {
  runs: readonly ListedRun[];
  chosen: readonly ListedRun[];
  showJournals: boolean;
}) {
  const failed = runs.filter(({ status }) => status === "failed").length;
  return (
    <tfoot>
      <tr>
        <th scope="row" colSpan={4}>
          {plural(runs.length, "run")}
          {failed === 0 ? "" : `, ${failed} failed`}
          {b === undefined && runs.length > 1 ? (
            <span class="muted small">
              {a === undefined ? "Choose two runs to compare them." : "Choose another run."}
            </span>
          ) : null}
        </th>
        {figures.map(({ key, of, format }) => (
          <td key={key} class="number" data-column={key}>
            {format(runs.reduce((sum, run) => sum + of(run), 0))}
          </td>
        ))}
        {showJournals ? <td /> : null}
      </tr>
      {a === undefined || b === undefined ? null : (
        <tr class="runs-difference">
          <th scope="row" colSpan={4}>
            From {momentOf(a)} to {momentOf(b)}
          </th>
          {figures.map((figure) => (
            <td key={figure.key} class="number" data-column={figure.key}>
              {differenceOf(figure, a, b) ?? <span class="muted">same</span>}
            </td>
          ))}
          {showJournals ? <td /> : null}
        </tr>
      )}
    </tfoot>
  );
}

function momentOf({ jobName, startTime = "" }: ListedRun): string {
  return `${jobName}, ${formatMoment(Date.parse(startTime))}`;
}

/** A run without an end may have been killed. */
function lookOf(status: ListedRun["status"]): Status {
  return status === "running" ? "incomplete" : status;
}

/** The problems of the journals; nothing if they are intact. */
export function Problems({ journals }: { journals: readonly ReportJournal[] }) {
  const countOf = ({ problems, moreProblems }: ReportJournal) => problems.length + moreProblems;
  const damaged = journals.filter((journal) => countOf(journal) > 0);
  if (damaged.length === 0) return null;
  const count = damaged.reduce((sum, journal) => sum + countOf(journal), 0);
  return (
    <section class="note" data-tone="warn" aria-label="Problems of the journals">
      <Collapsible
        open={damaged.length === 1 && count <= 3}
        summary={`${plural(count, "problem")} in ${plural(damaged.length, "journal")}. What is readable is shown.`}
      >
        {damaged.map(({ name, problems, moreProblems }) => (
          <div key={name} class="small">
            <h2 class="mono small">{name}</h2>
            <ul>
              {problems.map(({ line, reason }, index) => (
                <li key={index}>
                  <span class="muted number">Line {line}:</span> {reason}
                </li>
              ))}
              {moreProblems > 0 ? (
                <li class="muted">
                  {plural(moreProblems, problems.length > 0 ? "more problem" : "problem")}
                </li>
              ) : null}
            </ul>
          </div>
        ))}
      </Collapsible>
    </section>
  );
}
