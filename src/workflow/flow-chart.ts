/** The flowcharts of a workflow, for its plan and for whoever draws them. */
import { defined } from "../document/guards.ts";
import type { FlowChart, FlowFile, FlowNode } from "../events/plan.ts";
import { factsOf } from "./facts.ts";
import type { Activity, Workflow, WorkflowFile } from "./model.ts";

export function flowChartOf({ main, files }: Pick<Workflow, "main" | "files">): FlowChart {
  return {
    main,
    files: Object.fromEntries(Object.entries(files).map(([id, file]) => [id, flowFileOf(file)])),
  };
}

export function flowFileOf({
  file,
  title,
  parameters,
  activities,
}: Pick<WorkflowFile, "file" | "title" | "parameters" | "activities">): FlowFile {
  return {
    file,
    ...defined({ title }),
    parameters: parameters.map(({ name, default: value }) =>
      value === undefined ? { name } : { name, default: value },
    ),
    activities: Object.values(activities).map(flowNodeOf),
  };
}

function flowNodeOf(activity: Activity): FlowNode {
  const { id, kind, at, next, other } = activity;
  return {
    id,
    kind,
    label: factsOf(activity).label,
    line: at.line,
    ...defined({ next, other }),
    ...(activity.kind === "call" ? { calls: activity.target } : {}),
  };
}
