import { defined } from "../document/guards.ts";
import { generateChartNodes } from "../entry/chart.ts";
import { renderMermaid, type NodeStatus } from "../entry/mermaid.ts";
import { wasRetried, type RunView, type WorkView } from "../events/view.ts";
import { flowPathChart } from "./flow-chart.ts";

/**
 * A run as a Mermaid flowchart in which every node shows how it ended; of a job that is one workflow, the path through
 * the workflow. Empty until the run has started.
 */
export function chartOf(view: RunView, detailOf?: (workId: number) => string | undefined): string {
  if (view.plan === undefined) return "";
  const { work } = view.plan;
  const flow = work.kind === "Flow" ? view.works.get(work.workIdInJob)?.flow : undefined;
  const path = flow === undefined ? undefined : flowPathChart(flow);
  if (path !== undefined) return path;
  return renderMermaid(generateChartNodes(work), {
    statusOf: (workId) => {
      const known = view.works.get(workId);
      return known === undefined ? undefined : nodeStatus(known);
    },
    ...defined({ detailOf }),
  });
}

function nodeStatus(work: WorkView): NodeStatus {
  switch (work.status) {
    case "crashed":
      return "failed";
    case "succeeded":
      return wasRetried(work) ? "retried" : "succeeded";
    case "answered-no":
      return "answered";
    case "pending":
    case "running":
    case "failed":
    case "canceled":
    case "skipped":
      return work.status;
  }
}
