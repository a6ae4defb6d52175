/** The table of runs. Only the rows near the visible ones are in the document. */
import { useRef } from "preact/hooks";
import { formatCost, formatCount, formatDuration, formatMoment, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { RehearsalMark, StatusBadge, type Status } from "../parts/status.tsx";
import { useVirtualRows } from "../parts/virtual-list.tsx";
import { runHref } from "../routes.ts";
import { tokensOf, type ListedRun, type Row, type SortKey, type Sorting } from "./run-list.ts";

export interface Selection {
  readonly chosen: readonly string[];
  toggle(runId: string): void;
}

interface Column {
  readonly key: SortKey;
  readonly text: string;
  readonly number?: true;
}

const columns: readonly Column[] = [
  { key: "status", text: "Status" },
  { key: "jobName", text: "Job" },
  { key: "startTime", text: "Start" },
  { key: "durationMs", text: "Duration", number: true },
  { key: "tokens", text: "Tokens", number: true },
  { key: "cost", text: "Cost", number: true },
  { key: "retries", text: "Retries", number: true },
  { key: "crashes", text: "Crashes", number: true },
];

export function RunsTable({
  rows,
  sorting,
  onSort,
  selection,
  showJournals,
}: {
  rows: readonly Row[];
  sorting: Sorting;
  onSort: (key: SortKey) => void;
  selection: Selection;
  showJournals: boolean;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const { virtualizer, items, totalSize } = useVirtualRows({
    scroller,
    count: rows.length,
    estimate: () => 45,
    keyOf: (index) => keyOf(rows[index], index),
    overscan: 12,
  });
  const span = columns.length + 1 + (showJournals ? 1 : 0);
  const before = items[0]?.start ?? 0;
  const after = totalSize - (items.at(-1)?.end ?? 0);
  return (
    <div ref={scroller} class="runs-scroller card" role="region" aria-label="Runs" tabIndex={0}>
      <table class="runs-table" role="table" aria-rowcount={rows.length + 1}>
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader" scope="col" class="runs-choice">
              <span class="hidden-text">Compare</span>
            </th>
            {columns.map((column) => (
              <SortHeader key={column.key} column={column} sorting={sorting} onSort={onSort} />
            ))}
            {showJournals ? (
              <th role="columnheader" scope="col" class="runs-journal">
                Journal
              </th>
            ) : null}
          </tr>
        </thead>
        <tbody role="rowgroup">
          <Spacer height={before} span={span} />
          {items.map(({ index, key }) => {
            const row = rows[index];
            if (row === undefined) return null;
            const measure = (element: HTMLElement | null) => {
              if (element !== null) virtualizer.measureElement(element);
            };
            return row.kind === "group" ? (
              <GroupRow key={key} index={index} row={row} span={span} measure={measure} />
            ) : (
              <RunRow
                key={key}
                index={index}
                run={row.run}
                selection={selection}
                showJournals={showJournals}
                measure={measure}
              />
            );
          })}
          <Spacer height={after} span={span} />
        </tbody>
      </table>
    </div>
  );
}

function keyOf(row: Row | undefined, index: number): string | number {
  if (row === undefined) return index;
  return row.kind === "run" ? `run ${row.run.runId}` : `group ${row.name}`;
}

function Spacer({ height, span }: { height: number; span: number }) {
  if (height <= 0) return null;
  return (
    <tr role="presentation" class="runs-spacer">
      <td role="presentation" colSpan={span} style={{ height: `${height}px` }} />
    </tr>
  );
}

function SortHeader({
  column: { key, text, number },
  sorting,
  onSort,
}: {
  column: Column;
  sorting: Sorting;
  onSort: (key: SortKey) => void;
}) {
  const current = sorting.key === key;
  const order = sorting.descending ? "descending" : "ascending";
  return (
    <th
      role="columnheader"
      scope="col"
      aria-sort={current ? order : "none"}
      class={number === true ? "runs-number" : ""}
    >
      <button type="button" class="sort-button" onClick={() => onSort(key)}>
        {text}
        <span class="sort-mark" data-order={current ? order : undefined}>
          <Icon name="chevron" size={12} />
        </span>
      </button>
    </th>
  );
}

type Measure = (element: HTMLElement | null) => void;

function GroupRow({
  row: { name, totals },
  index,
  span,
  measure,
}: {
  row: Extract<Row, { kind: "group" }>;
  index: number;
  span: number;
  measure: Measure;
}) {
  return (
    <tr ref={measure} role="row" class="runs-group" aria-rowindex={index + 2} data-index={index}>
      <th role="rowheader" scope="colgroup" colSpan={span}>
        <span class="runs-group-name">{name === "" ? "No name" : name}</span>
        <span class="muted">
          {plural(totals.runs, "run")}
          {totals.failed > 0 ? `, ${totals.failed} failed` : ""} ·{" "}
          {formatDuration(totals.durationMs)} ·{" "}
          {formatCount(totals.inputTokens + totals.outputTokens)} tokens · cost{" "}
          {formatCost(totals.cost)}
        </span>
      </th>
    </tr>
  );
}

function RunRow({
  run,
  index,
  selection,
  showJournals,
  measure,
}: {
  run: ListedRun;
  index: number;
  selection: Selection;
  showJournals: boolean;
  measure: Measure;
}) {
  const { runId, jobName, status } = run;
  const start = Date.parse(run.startTime ?? "");
  const name = jobName === "" ? "Unknown job" : jobName;
  const chosen = selection.chosen.includes(runId);
  return (
    <tr
      ref={measure}
      role="row"
      class="runs-row"
      aria-rowindex={index + 2}
      data-index={index}
      data-chosen={chosen}
    >
      <td role="cell" class="runs-choice">
        <input
          type="checkbox"
          checked={chosen}
          aria-label={`Compare ${name}, ${formatMoment(start)}`}
          onChange={() => selection.toggle(runId)}
        />
      </td>
      <td role="cell" class="runs-status">
        <StatusBadge {...lookOf(status)} />
        <RehearsalMark rehearsed={run.rehearsed} />
      </td>
      <td role="cell" class="runs-job">
        <a href={runHref(runId)}>{name}</a>
        {run.reason === undefined ? null : <div class="runs-reason">{run.reason}</div>}
      </td>
      <td role="cell" class="runs-start number">
        <time dateTime={run.startTime}>{formatMoment(start)}</time>
      </td>
      <NumberCell label="Duration" text={formatDuration(run.durationMs)} />
      <NumberCell
        label="Tokens"
        text={formatCount(tokensOf(run))}
        title={`${run.inputTokens.toLocaleString("en")} in, ${run.outputTokens.toLocaleString("en")} out`}
      />
      <NumberCell label="Cost" text={formatCost(run.cost)} title="In premium requests" />
      <NumberCell label="Retries" text={String(run.retries)} zero={run.retries === 0} />
      <NumberCell label="Crashes" text={String(run.crashes)} zero={run.crashes === 0} />
      {showJournals ? (
        <td role="cell" class="runs-journal mono" title={run.journals.join("\n")}>
          <bdi>
            {run.journals[0] ?? ""}
            {run.journals.length > 1 ? ` +${run.journals.length - 1}` : ""}
          </bdi>
        </td>
      ) : null}
    </tr>
  );
}

/** A run without an end may have been killed. */
function lookOf(status: ListedRun["status"]): { status: Status; word?: string } {
  return status === "running" ? { status: "incomplete" } : { status };
}

function NumberCell({
  label,
  text,
  title,
  zero = false,
}: {
  /** Shown beside the number where the table is narrow and has no headings. */
  label: string;
  text: string;
  title?: string;
  zero?: boolean;
}) {
  return (
    <td role="cell" class="runs-number number" title={title} data-zero={zero}>
      <span class="runs-label" aria-hidden="true">
        {label}{" "}
      </span>
      {text}
    </td>
  );
}
