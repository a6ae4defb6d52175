/** How runs developed over time: a bar for each, by its start. */
import { useState } from "preact/hooks";
import { formatCost, formatDuration, formatMoment } from "../parts/format.ts";
import { looks } from "../parts/status.tsx";
import { navigate } from "../router.ts";
import { runHref } from "../routes.ts";
import type { ListedRun } from "./run-list.ts";

/** Bars that are shown: those of the latest runs. */
const MAX_BARS = 240;
const HEIGHT = 56;
const BAR = 10;
const GAP = 3;
/** Of a bar with its gap, in pixels. */
const WIDEST = 72;

type Measured = "cost" | "duration";

/** Nothing for fewer than three runs. */
export function Trend({ runs }: { runs: readonly ListedRun[] }) {
  const hasCost = runs.some(({ cost }) => cost > 0);
  const [chosen, setChosen] = useState<Measured>("cost");
  const measured = hasCost ? chosen : "duration";
  const shown = runs
    .filter(({ startTime }) => startTime !== undefined)
    .toSorted((a, b) => Date.parse(a.startTime ?? "") - Date.parse(b.startTime ?? ""))
    .slice(-MAX_BARS);
  if (shown.length < 3) return null;
  const valueOf = (run: ListedRun) => (measured === "cost" ? run.cost : run.durationMs);
  const text = measured === "cost" ? formatCost : formatDuration;
  const most = shown.reduce((most, run) => Math.max(most, valueOf(run)), Number.MIN_VALUE);
  const average = shown.reduce((sum, run) => sum + valueOf(run), 0) / shown.length;
  const width = shown.length * (BAR + GAP) - GAP;
  const first = Date.parse(shown[0]?.startTime ?? "");
  const last = Date.parse(shown.at(-1)?.startTime ?? "");
  const what = measured === "cost" ? "Cost" : "Duration";
  return (
    <section class="trend card" aria-label="Trend">
      <div class="trend-heading">
        <h2>{what} by run</h2>
        <span class="muted small">
          average {text(average)}, highest {text(most)}
        </span>
        {hasCost ? (
          <div class="trend-choice" role="group" aria-label="What the bars show">
            {(["cost", "duration"] as const).map((one) => (
              <button
                key={one}
                type="button"
                class="button button-small"
                aria-pressed={measured === one}
                onClick={() => setChosen(one)}
              >
                {one === "cost" ? "Cost" : "Duration"}
              </button>
            ))}
          </div>
        ) : null}
      </div>
      <div class="trend-plot" style={{ maxWidth: `${Math.max(shown.length * WIDEST, 240)}px` }}>
        <svg
          class="trend-bars"
          viewBox={`0 0 ${width} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${what} of ${shown.length} runs from ${formatMoment(first)} to ${formatMoment(last)}: average ${text(average)}, highest ${text(most)}.`}
        >
          {shown.map((run, index) => {
            const height = Math.max(2, (valueOf(run) / most) * HEIGHT);
            return (
              <g
                key={run.runId}
                class="trend-bar"
                data-tone={run.status === "running" ? "skip" : looks[run.status].tone}
                onClick={() => navigate(runHref(run.runId))}
              >
                <title>
                  {`${run.jobName}, ${formatMoment(Date.parse(run.startTime ?? ""))}: ${text(valueOf(run))}, ${run.status === "running" ? "not ended" : looks[run.status].word.toLowerCase()}`}
                </title>
                <rect
                  class="trend-space"
                  x={index * (BAR + GAP)}
                  y={0}
                  width={BAR}
                  height={HEIGHT}
                />
                <rect x={index * (BAR + GAP)} y={HEIGHT - height} width={BAR} height={height} />
              </g>
            );
          })}
        </svg>
        <div class="trend-axis muted small" aria-hidden="true">
          <span>{formatMoment(first)}</span>
          <span>{formatMoment(last)}</span>
        </div>
      </div>
    </section>
  );
}
