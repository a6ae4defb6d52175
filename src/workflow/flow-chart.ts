/** The flowcharts of a workflow, for its plan and for whoever draws them. */
import { defined } from "../document/guards.ts";
import type { FlowChart, FlowFile, FlowNode } from "../events/plan.ts";
import type { Check, Comparison } from "./check.ts";
import type { Activity, Workflow, WorkflowFile } from "./model.ts";
import { isQuoted } from "./value.ts";

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
    label: labelOf(activity),
    line: at.line,
    ...defined({ next, other }),
    ...(activity.kind === "call" ? { calls: activity.target } : {}),
  };
}

/** Empty for the start and the ends. */
function labelOf(activity: Activity): string {
  switch (activity.kind) {
    case "start":
    case "success":
    case "failed":
    case "on":
      return "";
    case "set":
      return `${activity.name}=${activity.value}`;
    case "assign":
      return activity.value;
    case "check":
      return checkText(activity.check);
    case "prompt":
      return activity.prompt;
    case "ask":
      return activity.question ?? "";
    case "execute":
      return activity.command ?? "";
    case "call":
      return isQuoted(activity.path) ? `"${activity.path}"` : activity.path;
  }
}

const signs: Readonly<Record<Comparison, string>> = {
  eq: "==",
  ne: "!=",
  contains: "CONTAINS",
  matches: "MATCHES",
  gt: "gt",
  ge: "ge",
  lt: "lt",
  le: "le",
};

function checkText({ left, operator, right }: Check): string {
  return `${left} ${signs[operator]} ${right}`;
}
