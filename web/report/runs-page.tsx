/** A list of runs: of a report, or of the journals of a server. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { ReportJournal } from "../../src/reports/html/boot.ts";
import { Collapsible } from "../parts/collapsible.tsx";
import { formatCost, formatCount, formatDuration, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { EmptyState, PageHeading } from "../parts/notes.tsx";
import { looks } from "../parts/status.tsx";
import { hrefOf } from "../routes.ts";
import {
  choicesOf,
  filterRuns,
  noFilter,
  rowsOf,
  sortRuns,
  totalsOf,
  type Grouping,
  type ListedRun,
  type RunFilter,
  type SortKey,
  type Sorting,
  type Totals,
} from "./run-list.ts";
import { RunsTable, type Selection } from "./runs-table.tsx";
import { Trend } from "./trend.tsx";

export function RunsPage({
  heading,
  eyebrow,
  runs,
  journals,
}: {
  heading: string;
  eyebrow?: ComponentChildren;
  runs: readonly ListedRun[];
  /** With what is wrong with each. */
  journals: readonly ReportJournal[];
}) {
  const [filter, setFilter] = useState<RunFilter>(noFilter);
  const [sorting, setSorting] = useState<Sorting>({ key: "startTime", descending: true });
  const [grouping, setGrouping] = useState<Grouping>("none");
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const found = useMemo(() => sortRuns(filterRuns(runs, filter), sorting), [runs, filter, sorting]);
  const rows = useMemo(() => rowsOf(found, grouping), [found, grouping]);
  const selection: Selection = {
    chosen,
    // The latest two: a third choice replaces the first.
    toggle: (runId) =>
      setChosen((before) =>
        before.includes(runId)
          ? before.filter((one) => one !== runId)
          : [...before, runId].slice(-2),
      ),
  };
  const sortBy = (key: SortKey) =>
    setSorting((before) => ({
      key,
      descending: before.key === key ? !before.descending : key !== "jobName" && key !== "status",
    }));
  const isFiltered = found.length < runs.length;
  return (
    <>
      <PageHeading eyebrow={eyebrow} actions={<CompareButton chosen={chosen} />}>
        {heading}
      </PageHeading>
      <Problems journals={journals} />
      {runs.length === 0 ? (
        <EmptyState title="There are no runs.">The journals contain no event of a run.</EmptyState>
      ) : (
        <>
          <TotalsBar totals={totalsOf(found)} all={isFiltered ? totalsOf(runs) : undefined} />
          <Trend runs={found} />
          <Filters
            runs={runs}
            filter={filter}
            onFilter={setFilter}
            grouping={grouping}
            onGrouping={setGrouping}
            hasJournals={journals.length > 1}
          />
          <p class="hidden-text" role="status">
            {isFiltered ? `${found.length} of ${plural(runs.length, "run")}` : ""}
          </p>
          {found.length === 0 ? (
            <EmptyState icon="search" title="No run fits.">
              <button type="button" class="button" onClick={() => setFilter(noFilter)}>
                Show all runs
              </button>
            </EmptyState>
          ) : (
            <RunsTable
              rows={rows}
              sorting={sorting}
              onSort={sortBy}
              selection={selection}
              showJournals={journals.length > 1}
            />
          )}
        </>
      )}
    </>
  );
}

function CompareButton({ chosen: [first, second] }: { chosen: readonly string[] }) {
  if (first !== undefined && second !== undefined)
    return (
      <a class="button button-primary" href={hrefOf({ page: "compare", runIds: [first, second] })}>
        Compare the two runs
      </a>
    );
  return (
    <span class="muted small compare-hint">
      {first === undefined ? "Choose two runs to compare them." : "Choose another run."}
    </span>
  );
}

function TotalsBar({ totals, all }: { totals: Totals; all: Totals | undefined }) {
  const figures: readonly (readonly [string, (from: Totals) => string])[] = [
    ["Runs", ({ runs }) => formatCount(runs)],
    ["Failed", ({ failed }) => formatCount(failed)],
    ["Duration", ({ durationMs }) => formatDuration(durationMs)],
    ["Tokens", ({ inputTokens, outputTokens }) => formatCount(inputTokens + outputTokens)],
    ["Cost", ({ cost }) => formatCost(cost)],
    ["Retries", ({ retries }) => formatCount(retries)],
    ["Crashes", ({ crashes }) => formatCount(crashes)],
  ];
  return (
    <dl class="totals card" aria-label="Totals">
      {figures.map(([name, text]) => (
        <div key={name} class="totals-figure">
          <dt>{name}</dt>
          <dd>
            <span class="number">{text(totals)}</span>
            {all === undefined ? null : <span class="muted small number"> of {text(all)}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Filters({
  runs,
  filter,
  onFilter,
  grouping,
  onGrouping,
  hasJournals,
}: {
  runs: readonly ListedRun[];
  filter: RunFilter;
  onFilter: (filter: RunFilter) => void;
  grouping: Grouping;
  onGrouping: (grouping: Grouping) => void;
  hasJournals: boolean;
}) {
  const statuses = useMemo(() => choicesOf(runs.map(({ status }) => status)), [runs]);
  const jobs = useMemo(() => choicesOf(runs.map(({ jobName }) => jobName)), [runs]);
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <label class="filters-text">
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
      {statuses.length > 1 ? (
        <Choice
          label="Status"
          value={filter.status}
          any="Any status"
          options={statuses.map((status) => [status, statusWord(status)])}
          onChange={(status) => onFilter({ ...filter, status })}
        />
      ) : null}
      {jobs.length > 1 ? (
        <Choice
          label="Job"
          value={filter.job}
          any="Any job"
          options={jobs.map((job) => [job, job])}
          onChange={(job) => onFilter({ ...filter, job })}
        />
      ) : null}
      {jobs.length > 1 || hasJournals ? (
        <Choice
          label="Group"
          value={grouping === "none" ? "" : grouping}
          any="No groups"
          options={[
            ["job", "Group by job"],
            ...(hasJournals ? [["journal", "Group by journal"] as const] : []),
          ]}
          onChange={(value) => onGrouping(value === "job" || value === "journal" ? value : "none")}
        />
      ) : null}
    </form>
  );
}

function statusWord(status: string): string {
  if (status === "running") return looks.incomplete.word;
  return Object.entries(looks).find(([name]) => name === status)?.[1].word ?? status;
}

function Choice({
  label,
  value,
  any,
  options,
  onChange,
}: {
  label: string;
  value: string;
  any: string;
  options: readonly (readonly [string, string])[];
  onChange: (value: string) => void;
}) {
  return (
    <label class="filters-choice">
      <span class="hidden-text">{label}</span>
      <select
        class="input"
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      >
        <option value="">{any}</option>
        {options.map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What is wrong with the journals; nothing if they are intact. */
export function Problems({ journals }: { journals: readonly ReportJournal[] }) {
  const damaged = journals.filter(
    ({ problems, moreProblems }) => problems.length + moreProblems > 0,
  );
  if (damaged.length === 0) return null;
  const count = damaged.reduce(
    (sum, { problems, moreProblems }) => sum + problems.length + moreProblems,
    0,
  );
  return (
    <section class="problems" data-tone="warn" aria-label="Problems of the journals">
      <Collapsible
        open={damaged.length === 1 && count <= 3}
        summary={
          <span>
            {plural(count, "problem")} in {plural(damaged.length, "journal")}. What is readable is
            shown.
          </span>
        }
      >
        {damaged.map(({ name, problems, moreProblems }) => (
          <div key={name} class="problems-journal">
            <h2 class="mono">{name}</h2>
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
