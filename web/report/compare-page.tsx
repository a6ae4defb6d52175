import { elapsedMs, endText, type RunView, type WorkView } from "../../src/events/view.ts";
import type { RunSource } from "../data/run-source.ts";
import { Collapsible } from "../parts/collapsible.tsx";
import { formatDuration, formatMoment } from "../parts/format.ts";
import { Markdown } from "../parts/markdown.tsx";
import { EmptyState, ErrorNote, Loading, PageHeading } from "../parts/notes.tsx";
import { RehearsalMark, StatusBadge } from "../parts/status.tsx";
import { hrefOf, runHref } from "../routes.ts";
import { runState } from "../run/status-of.ts";
import { useRun, type Run } from "../run/use-run.ts";
import {
  both,
  differenceOf,
  pairWorks,
  runFigures,
  settingDifferences,
  workFigures,
  type Difference,
  type Figure,
  type Pair,
  type WorkPair,
} from "./comparison.ts";

const sides = ["A", "B"] as const;
type SideName = (typeof sides)[number];

/** A setting of more characters may have to be scrolled. */
const LONG = 200;

export function ComparePage({
  runIds: [a, b],
  sourceOf,
}: {
  runIds: Pair<string>;
  sourceOf: (runId: string) => RunSource;
}) {
  const runs: Pair<Run> = [useRun(sourceOf(a)), useRun(sourceOf(b))];
  const views: Pair<RunView> = both((index) => runs[index].model.view);
  const last: Pair<number> = both((index) => runs[index].model.lastAt ?? 0);
  const heading = (
    <PageHeading
      eyebrow="Comparison"
      actions={
        <a class="button" href={hrefOf({ page: "compare", runIds: [b, a] })}>
          Swap A and B
        </a>
      }
    >
      Two runs side by side
    </PageHeading>
  );
  if (a === b)
    return (
      <>
        {heading}
        <EmptyState title="These are not two runs, but one.">
          <a href={runHref(a)}>Open the run</a>
        </EmptyState>
      </>
    );
  return (
    <div class="compare">
      {heading}
      {runs.map(({ feed }, index) =>
        feed.kind === "failed" ? (
          <ErrorNote key={index} title={`Run ${sides[index]}:`}>
            {feed.reason}
          </ErrorNote>
        ) : null,
      )}
      <div class="compare-sides">
        {both((index) => (
          <RunHead key={index} side={sides[index]} runId={[a, b][index] ?? ""} run={runs[index]} />
        ))}
      </div>
      {views.some(({ runId }) => runId === "") ? null : (
        <>
          <Section title="Figures">
            <FiguresTable label="Figures of the runs" figures={runFigures(views, last)} />
          </Section>
          <Settings differences={settingDifferences(views)} />
          <Section title="Works">
            <div class="compare-works">
              {pairWorks(views).map((pair, index) => (
                <WorkComparison key={index} pair={pair} runIds={[a, b]} last={last} />
              ))}
            </div>
          </Section>
        </>
      )}
    </div>
  );
}

function Section({ title, children }: { title: string; children: preact.ComponentChildren }) {
  return (
    <section class="section" aria-label={title}>
      <div class="section-heading">
        <h2>{title}</h2>
      </div>
      {children}
    </section>
  );
}

function RunHead({ side, runId, run }: { side: SideName; runId: string; run: Run }) {
  const { view } = run.model;
  const reason = endText(view);
  return (
    <section class="compare-head card" aria-label={`Run ${side}`}>
      <h2>
        <Side side={side} />{" "}
        <a href={runHref(runId)}>{view.jobName === "" ? runId : view.jobName}</a>
      </h2>
      {view.runId === "" && run.feed.kind === "reading" ? (
        <Loading what={`run ${side}`} />
      ) : (
        <>
          <p class="compare-when">
            <StatusBadge {...runState(view, run.feed)} />
            <RehearsalMark rehearsed={view.rehearsed} />
            <span class="muted number">{formatMoment(view.startedAt ?? Number.NaN)}</span>
          </p>
          {reason === "" ? null : <p class="compare-reason">{reason}</p>}
          <p class="muted small mono truncate" title={runId}>
            {runId}
          </p>
        </>
      )}
    </section>
  );
}

function FiguresTable({ label, figures }: { label: string; figures: readonly Figure[] }) {
  return (
    <table class="figures card" aria-label={label}>
      <thead>
        <tr>
          <SideHeadings of="Figure" />
          <th scope="col">Difference</th>
        </tr>
      </thead>
      <tbody>
        {figures.map((figure) => (
          <FigureRow key={figure.name} figure={figure} />
        ))}
      </tbody>
    </table>
  );
}

function FigureRow({ figure }: { figure: Figure }) {
  const { name, values, format } = figure;
  const difference = differenceOf(figure);
  return (
    <tr data-differs={difference !== undefined}>
      <th scope="row">{name}</th>
      <td class="number">{format(values[0])}</td>
      <td class="number">{format(values[1])}</td>
      <td class="number figures-difference">
        {difference === undefined ? (
          <span class="muted">same</span>
        ) : (
          <>
            {difference.by}
            {difference.share === undefined ? null : (
              <span class="figures-share muted"> {difference.share}</span>
            )}
          </>
        )}
      </td>
    </tr>
  );
}

function Settings({ differences }: { differences: readonly Difference[] }) {
  return (
    <Section title="Settings">
      {differences.length === 0 ? (
        <p class="muted">Both runs have the same entry, models, limits, permissions and input.</p>
      ) : (
        <table class="settings card" aria-label="Settings that differ">
          <thead>
            <tr>
              <SideHeadings of="Setting" />
            </tr>
          </thead>
          <tbody>
            {differences.map(({ name, values }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {values.map((value, index) => (
                  <td key={index}>
                    {value === undefined ? (
                      <span class="muted">none</span>
                    ) : value === "" ? (
                      <span class="muted">empty</span>
                    ) : (
                      <span class="settings-value" tabIndex={value.length > LONG ? 0 : undefined}>
                        {value}
                      </span>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

function WorkComparison({
  pair: { taskId, works },
  runIds,
  last,
}: {
  pair: WorkPair;
  runIds: Pair<string>;
  last: Pair<number>;
}) {
  const [a, b] = works;
  const differs = a?.status !== b?.status;
  return (
    <Collapsible
      class="card compare-work"
      summary={
        <span class="compare-work-summary">
          <span class="compare-work-name">{taskId}</span>
          {works.map((work, index) => (
            <span key={index} class="compare-work-status">
              <Side side={sides[index] ?? "A"} />
              {work === undefined ? (
                <span class="muted small">not in this run</span>
              ) : (
                <>
                  <StatusBadge status={work.status} quiet />
                  <span class="muted small number">
                    {formatDuration(elapsedMs(work, last[index] ?? 0))}
                  </span>
                </>
              )}
            </span>
          ))}
          {differs ? (
            <span class="tag" data-tone="warn">
              differs
            </span>
          ) : null}
        </span>
      }
    >
      <FiguresTable label={`Figures of ${taskId}`} figures={workFigures(works, last)} />
      <div class="compare-sides">
        {both((index) => (
          <WorkSide key={index} side={sides[index]} work={works[index]} runId={runIds[index]} />
        ))}
      </div>
    </Collapsible>
  );
}

function WorkSide({
  side,
  work,
  runId,
}: {
  side: SideName;
  work: WorkView | undefined;
  runId: string;
}) {
  if (work === undefined)
    return (
      <p class="muted">
        <Side side={side} /> This run has no such work.
      </p>
    );
  const { workId, reason, lastMessage, decisions, droppedDecisions } = work;
  const part = { kind: "work", workId, iteration: undefined } as const;
  return (
    <div class="compare-work-side">
      <h3>
        <Side side={side} />
        <a href={runHref(runId, part)}>Work {workId}</a>
        <span class="muted small mono">{work.modelId}</span>
      </h3>
      {reason === undefined ? null : <p class="compare-reason">{reason}</p>}
      <h4>Last message</h4>
      {lastMessage === undefined ? (
        <p class="muted">None</p>
      ) : (
        <div
          class="compare-message"
          tabIndex={0}
          role="region"
          aria-label={`Last message of work ${workId}, ${work.taskId}, in run ${side}`}
        >
          <Markdown text={lastMessage} />
        </div>
      )}
      <h4>Decisions</h4>
      {decisions.length === 0 ? <p class="muted">None</p> : null}
      {droppedDecisions > 0 ? (
        <p class="muted small">{droppedDecisions} earlier ones are in the run itself.</p>
      ) : null}
      <ul class="compare-decisions" tabIndex={0} aria-label="Decisions">
        {decisions.map(({ at, kind, text }, index) => (
          <li key={index} data-at={at}>
            <span class="tag">{kind}</span> {text}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Side({ side }: { side: SideName }) {
  return (
    <span class="compare-side" data-side={side}>
      {side}
    </span>
  );
}

/** The headings of a table with a row for each figure, setting or decision. */
function SideHeadings({ of }: { of: string }) {
  return (
    <>
      <th scope="col">
        <span class="hidden-text">{of}</span>
      </th>
      <th scope="col">
        <Side side="A" />
      </th>
      <th scope="col">
        <Side side="B" />
      </th>
    </>
  );
}
