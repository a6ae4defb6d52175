import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ChartGraph } from "../../src/entry/chart.ts";
import type { Jobs } from "../data/api.ts";
import { drawFlowchart, MANY_NODES } from "../parts/flowchart.ts";

/** What a job does, as a flowchart; the reader chooses which. */
export function JobCharts({ jobs: { grid, jobs, chart } }: { jobs: Jobs }) {
  const names = useMemo(() => {
    const placed = grid.flatMap((row) => row.jobs.map((cell) => cell?.jobName ?? ""));
    return [...new Set([...placed, ...Object.keys(jobs)])].filter((name) =>
      Object.hasOwn(jobs, name),
    );
  }, [grid, jobs]);
  const [chosen, setChosen] = useState(() => {
    const asked = new URLSearchParams(location.search).get("jobName");
    return asked !== null && names.includes(asked) ? asked : names[0];
  });
  const graph = chosen === undefined ? undefined : chart[chosen];
  if (chosen === undefined || graph === undefined) return null;
  return (
    <section class="card job-chart" aria-labelledby="job-chart">
      <header class="job-chart-head">
        <h2 id="job-chart">Flowchart</h2>
        {names.length === 1 ? (
          <span class="muted">{chosen}</span>
        ) : (
          <select
            class="input"
            aria-label="Job"
            value={chosen}
            onChange={({ currentTarget }) => setChosen(currentTarget.value)}
          >
            {names.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </header>
      {graph.nodes.length > MANY_NODES ? (
        <p class="muted job-chart-drawing">
          With {graph.nodes.length} nodes, this flowchart is too large to be shown here.
        </p>
      ) : (
        <Chart key={chosen} graph={graph} label={`Flowchart of ${chosen}`} />
      )}
    </section>
  );
}

/** Mermaid draws for a text of 16 pixels. */
const SCALE = 0.85;

function Chart({ graph, label }: { graph: ChartGraph; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  // It is asked for again and again, and is mostly the same.
  const drawn = JSON.stringify(graph);
  useEffect(() => {
    let current = true;
    drawFlowchart(graph).then(
      (svg) => {
        if (!current) return;
        svg.style.width = `${svg.viewBox.baseVal.width * SCALE}px`;
        place.current?.replaceChildren(svg);
      },
      () => {
        if (current) setFailed(true);
      },
    );
    return () => {
      current = false;
    };
  }, [drawn]);
  return (
    <>
      {failed ? <p class="muted job-chart-drawing">The flowchart can't be drawn.</p> : null}
      <div ref={place} class="flowchart-drawing job-chart-drawing" role="img" aria-label={label} />
    </>
  );
}
