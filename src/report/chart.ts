import { generateChartNodes } from "../entry/chart.ts";
import { renderMermaid, type NodeStatus } from "../entry/mermaid.ts";
import type { RunView, WorkView } from "../events/view.ts";

/** A run as a Mermaid flowchart in which every node shows how it ended; empty until the run has started. */
export function chartOf(view: RunView, detailOf?: (workId: number) => string | undefined): string {
  if (view.plan === undefined) return "";
  return renderMermaid(generateChartNodes(view.plan.work), {
    statusOf: (workId) => {
      const work = view.works.get(workId);
      return work === undefined ? undefined : nodeStatus(work);
    },
    ...(detailOf === undefined ? {} : { detailOf }),
  });
}

function nodeStatus(work: WorkView): NodeStatus {
  switch (work.status) {
    case "crashed":
      return "failed";
    case "succeeded":
      return work.attempts > work.runs ? "retried" : "succeeded";
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
