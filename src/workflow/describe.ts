import type { FlowChart, FlowNode } from "../events/flow.ts";
import { defined } from "../text/guards.ts";
import { idOf } from "../entry/model.ts";
import type { Activity, Parameter, Workflow } from "./model.ts";
import { modelOfParameters } from "./parameters.ts";
import { roleOf } from "./value.ts";

export interface WorkflowDescription {
  readonly title?: string;
  /** A parameter that has no default must be given. */
  readonly parameters: readonly { readonly name: string; readonly default?: string }[];
  readonly activities: number;
  readonly asks: readonly string[];
  /** Ids, as far as the front matter names them. */
  readonly models: readonly string[];
  /** Patterns of the tools that agents are offered. Absent: none. */
  readonly agentTools?: readonly string[];
  readonly files: readonly string[];
}

export function describeWorkflow(workflow: Workflow): WorkflowDescription {
  const { main, files, settings } = workflow;
  const title = files[main]?.title;
  const activities = activitiesOf(workflow);
  const { model, models = {}, agentTools } = settings;
  const own =
    model === undefined
      ? (models["driving"] ?? modelOfParameters(workflow))
      : "id" in model
        ? model
        : models[model.category];
  return {
    ...defined({ title }),
    parameters: (files[main]?.parameters ?? []).map(plainParameter),
    activities: activities.length,
    asks: [...new Set(activities.flatMap(({ kind, id }) => (kind === "ask" ? [id] : [])))],
    models: own === undefined || own === "" ? [] : [idOf(own)],
    ...defined({ agentTools }),
    files: Object.keys(files).filter((id) => id !== main),
  };
}

export function executes(workflow: Workflow): boolean {
  return activitiesOf(workflow).some(({ kind }) => kind === "execute");
}

export function promptsModels(workflow: Workflow): boolean {
  return activitiesOf(workflow).some(isQuestion);
}

/** Whether a model is asked. */
export function isQuestion(one: Activity): boolean {
  return one.kind === "prompt" && (roleOf(one.prompt) ?? "user") === "user";
}

function activitiesOf({ files }: Workflow): readonly Activity[] {
  return Object.values(files).flatMap(({ activities }) => [...activities.values()]);
}

function plainParameter(parameter: Parameter): Omit<Parameter, "at"> {
  const { at: _, ...plain } = parameter;
  return plain;
}

export function flowChartOf({ main, files }: Workflow): FlowChart {
  const charts = Object.entries(files).map(([id, { file, title, parameters, activities }]) => [
    id,
    {
      file,
      ...defined({ title }),
      parameters: parameters.map(plainParameter),
      activities: [...activities.values()].map(flowNodeOf),
    },
  ]);
  return { main, files: Object.fromEntries(charts) };
}

function flowNodeOf(activity: Activity): FlowNode {
  const { id, kind, label, at, next, other } = activity;
  return {
    id,
    kind,
    label,
    line: at.line,
    ...defined({ next, other }),
    ...(activity.kind === "call" ? { calls: activity.target } : {}),
  };
}
