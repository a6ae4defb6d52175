/** The flowchart of a run: of its job, or of the workflow that the job is. Its nodes are also in the list of works. */
import { useMemo } from "preact/hooks";
import { generateChartNodes } from "../../src/entry/chart.ts";
import { mermaidNames } from "../../src/entry/mermaid.ts";
import type { RunPlan } from "../../src/events/plan.ts";
import { elapsedMs } from "../../src/events/view.ts";
import { drawFlowchart } from "../parts/flowchart.ts";
import { formatDuration } from "../parts/format.ts";
import { EmptyState, Loading } from "../parts/notes.tsx";
import { looks } from "../parts/status.tsx";
import { ChartView, WIDEST_DETAIL, type Look, type Picture } from "./chart-view.tsx";
import { useRunContext, useRunTime, workStatus } from "./context.ts";
import { FlowPath } from "./flow-path.tsx";

export function Flowchart() {
  const { model, over } = useRunContext();
  const { plan } = model.view;
  if (plan === undefined)
    return over ? (
      <EmptyState title="The journal lacks the start of the run." />
    ) : (
      <Loading what="the plan of the run" />
    );
  return plan.work.kind === "Flow" ? (
    <FlowPath workId={plan.work.workIdInJob} />
  ) : (
    <JobChart plan={plan} />
  );
}

function JobChart({ plan }: { plan: RunPlan }) {
  const { model, version, over, target } = useRunContext();
  const selected = target.work?.workId;
  const now = useRunTime();
  const { graph, names, conditions } = useMemo(() => {
    const made = generateChartNodes(plan.work);
    const conditions = new Set(
      made.nodes.flatMap(({ hint }) =>
        typeof hint !== "string" && hint[0] === "CondNode" ? [hint[1]] : [],
      ),
    );
    return { graph: made, names: mermaidNames(made), conditions };
  }, [plan]);
  const lookOf = (workId: number): Look => {
    const work = model.view.works.get(workId);
    const status = workStatus(work, over);
    const elapsed = work === undefined ? 0 : elapsedMs(work, now);
    const { word, tone } = looks[status];
    return {
      tone: status === "pending" ? "none" : tone,
      status,
      text: [
        status === "retried" ? "Retried" : word,
        ...(elapsed > 0 ? [formatDuration(elapsed)] : []),
      ].join(" · "),
      isSelected: workId === selected,
    };
  };
  const picture: Picture = {
    source: plan,
    draw: () =>
      drawFlowchart(graph, {
        // The ends of a hexagon have no room for text.
        detailOf: (workId) => WIDEST_DETAIL + (conditions.has(workId) ? "00" : ""),
        // More branches have no room beside the other panes.
        sideBySide: 3,
      }),
    nodes: new Map(
      [...names].map(([workId, name]) => [
        name,
        {
          look: () => lookOf(workId),
          part: { kind: "work", workId, iteration: undefined },
        },
      ]),
    ),
    what: "steps",
    elsewhere: "The list of steps has all of it.",
    label: "Flowchart of the job. The arrow keys move between its steps.",
  };
  return (
    <ChartView picture={picture} changes={[version, selected, now, over]} legend={<Legend />} />
  );
}

/** The statuses that the chart has now. */
function Legend() {
  const { model, version, over } = useRunContext();
  const shown = useMemo(() => {
    const counts = new Map<
      string,
      { readonly word: string; readonly tone: string; count: number }
    >();
    for (const work of model.view.works.values()) {
      const status = workStatus(work, over);
      const { word } = looks[status];
      const tone = status === "pending" ? "none" : looks[status].tone;
      const entry = counts.get(word) ?? { word, tone, count: 0 };
      entry.count += 1;
      counts.set(word, entry);
    }
    return [...counts.values()];
  }, [model, version, over]);
  return (
    <ul class="legend row wrap muted small" aria-label="Statuses">
      {shown.map(({ word, tone, count }) => (
        <li key={word} data-tone={tone}>
          <span class="legend-swatch" aria-hidden="true" />
          {count} {word.toLowerCase()}
        </li>
      ))}
    </ul>
  );
}
