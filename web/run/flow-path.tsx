/** The flowcharts of a workflow with the path that the run takes. Choosing an activity lists its steps. */
import type { FlowNode } from "../../src/events/flow.ts";
import { useMemo } from "preact/hooks";
import {
  activityOf,
  activityStatus,
  activityText,
  drawFlow,
  isLast,
  takenTimes,
  type FlowArrow,
  type FlowDrawing,
} from "../../src/reports/flow-chart.ts";
import { statusSign } from "../../src/entry/mermaid.ts";
import type { FlowView } from "../../src/events/view.ts";
import { flowPlaces } from "../model/places.ts";
import { drawFlowPath } from "../parts/flowchart.ts";
import { EmptyState } from "../parts/notes.tsx";
import { looks } from "../parts/status.tsx";
import { ChartView, set, type Look, type Picture } from "./chart-view.tsx";
import { useRunContext } from "./context.ts";

export function FlowPath({ workId }: { workId: number }) {
  const { model, version, over, target } = useRunContext();
  const { activity } = target;
  const flow = model.view.works.get(workId)?.flow;
  const chart = flow?.chart;
  const drawing = useMemo(() => {
    if (chart === undefined) return undefined;
    return drawFlow(chart, [...new Set(flowPlaces(chart).map(({ file }) => file))]);
  }, [chart]);
  if (flow === undefined || chart === undefined || drawing === undefined)
    return <EmptyState title="The journal lacks the plan of this workflow." />;
  const nodes: Picture["nodes"] = new Map(
    drawing.files
      .flatMap(({ file, nodes: ofFile }) => ofFile.map((one) => ({ file, ...one })))
      .map(({ file, name, node }, index) => [
        name,
        {
          look: (): Look => {
            const known = activityStatus(flow, file, node);
            const status = known === "running" && over ? "incomplete" : known;
            const { tone } = looks[status === "answered" ? "answered-no" : status];
            return {
              tone: status === "pending" ? "none" : tone,
              status,
              text: visitsOf(flow, file, node),
              isCurrent: isLast(flow, file, node),
              isSelected: activity?.file === file && activity.activity === node.id,
            };
          },
          part: { kind: "activity", workId, node: index },
        },
      ]),
  );
  const picture: Picture = {
    source: chart,
    draw: () => drawFlowPath(drawing, (_file, node) => `${activityText(node)}\n${WIDEST_VISITS}`),
    nodes,
    what: "activities",
    elsewhere: "The list of steps has the path.",
    label: "Flowchart of the workflow. The arrow keys move between its activities.",
    show: (svg) => showArrows(svg, drawing, flow),
  };
  return (
    <ChartView
      picture={picture}
      changes={[version, activity?.file, activity?.activity, over]}
      legend={
        <p class="legend row wrap muted small">
          Numbers: steps in their order ({flow.stepCount}). Thick arrows: taken. Thick frame: the
          last activity.
        </p>
      }
    />
  );
}

/** This is as wide as the numbers of some steps. */
const WIDEST_VISITS = "0".repeat(11);
const NAMED_VISITS = 3;

function visitsOf(flow: FlowView, file: string, node: FlowNode): string {
  const visited = activityOf(flow, file, node.id);
  if (visited === undefined) return "";
  const sign = statusSign(activityStatus(flow, file, node));
  return visited.hits <= NAMED_VISITS
    ? `${sign} ${visited.visits.join(", ")}`
    : `${sign} ${visited.hits} times`;
}

const SVG = "http://www.w3.org/2000/svg";

/** Mermaid names an arrow by its ends, and counts those with the same ends. */
function showArrows(svg: SVGSVGElement, { arrows }: FlowDrawing, flow: FlowView): void {
  const paths = new Map(
    [...svg.querySelectorAll<SVGPathElement>("path.flowchart-link")].map((path) => [
      path.getAttribute("data-id") ?? path.id,
      path,
    ]),
  );
  const counts = new Map<string, number>();
  const nextName = ({ from, to }: FlowArrow): string => {
    const count = counts.get(`${from} ${to}`) ?? 0;
    counts.set(`${from} ${to}`, count + 1);
    return `L_${from}_${to}_${count}`;
  };
  for (const arrow of arrows) {
    const name = nextName(arrow);
    const path = paths.get(name) ?? [...paths].find(([id]) => id.endsWith(`-${name}`))?.[1];
    if (path === undefined) continue;
    const taken = takenTimes(flow, arrow);
    set(path, "data-taken", String(taken > 0));
    const title = taken === 0 ? "Not taken" : taken === 1 ? "Taken once" : `Taken ${taken} times`;
    const shown = path.querySelector("title") ?? document.createElementNS(SVG, "title");
    if (shown.parentNode === null) path.append(shown);
    if (shown.textContent !== title) shown.textContent = title;
  }
}
