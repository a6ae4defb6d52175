import type { ActivityKind, FlowChart, FlowNode } from "../events/flow.ts";
import { generateChartNodes } from "../entry/chart.ts";
import {
  escapeLabel,
  printFlowchart,
  renderMermaid,
  statusSign,
  type MermaidArrow,
  type MermaidNode,
  type NodeShape,
  type NodeStatus,
} from "../entry/mermaid.ts";
import {
  wasRetried,
  type ActivityView,
  type FlowView,
  type RunView,
  type WorkView,
} from "../events/view.ts";
import { truncate } from "../text/truncate.ts";

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
    detailOf,
  });
}

export function nodeStatus(work: WorkView): NodeStatus {
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

const shapes: Readonly<Partial<Record<ActivityKind, NodeShape>>> = {
  start: "start",
  check: "decision",
  ask: "input",
  call: "bar",
  success: "terminal",
  failed: "terminal",
  on: "terminal",
};

export function printFlow(chart: FlowChart): string {
  const drawing = drawFlow(chart, Object.keys(chart.files));
  return renderFlowDrawing(drawing, { textOf: (_file, node) => activityText(node) });
}

export interface FlowDrawing {
  readonly files: readonly FlowDrawingFile[];
  readonly arrows: readonly FlowArrow[];
}

export interface FlowDrawingFile {
  readonly file: string;
  readonly title: string;
  readonly nodes: readonly { readonly name: string; readonly node: FlowNode }[];
}

export interface FlowArrow {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly file: string;
  readonly activity: string;
  /** `calls`: from a CALL into the called file. */
  readonly way: "next" | "other" | "calls";
}

/** `files`: ids; those that the chart doesn't have are left out. */
export function drawFlow(chart: FlowChart, files: readonly string[]): FlowDrawing {
  const names = new Map<string, string>();
  const key = (file: string, activity: string): string => JSON.stringify([file, activity]);
  const drawn = files.flatMap((file): FlowDrawingFile[] => {
    const found = Object.hasOwn(chart.files, file) ? chart.files[file] : undefined;
    if (found === undefined) return [];
    const nodes = found.activities.map((node) => {
      const name = `n${names.size}`;
      names.set(key(file, node.id), name);
      return { name, node };
    });
    return [{ file, title: found.file, nodes }];
  });
  const arrows = drawn.flatMap(({ file, nodes }) =>
    nodes.flatMap(({ name: from, node }): FlowArrow[] => {
      const own = { from, file, activity: node.id };
      const labels =
        node.kind === "check" ? { next: "TRUE", other: "FALSE" } : { next: "", other: "FAILED" };
      const inside = (["next", "other"] as const).flatMap((way): FlowArrow[] => {
        const target = node[way];
        const to = target === undefined ? undefined : names.get(key(file, target));
        return to === undefined ? [] : [{ ...own, to, label: labels[way], way }];
      });
      const called = drawn.find((one) => one.file === node.calls && one.file !== file);
      const start = called?.nodes.find((one) => one.node.kind === "start")?.name;
      return start === undefined
        ? inside
        : [...inside, { ...own, to: start, label: "calls", way: "calls" }];
    }),
  );
  return { files: drawn, arrows };
}

/** GitHub shows an error in the place of a chart that has more. */
const MAX_CHARACTERS = 50_000;
const MAX_ARROWS = 500;

export function isDrawable(mermaid: string): boolean {
  const arrows = mermaid.match(/-->|==>|-\.->/g)?.length ?? 0;
  return mermaid.length <= MAX_CHARACTERS && arrows <= MAX_ARROWS;
}

/** All files that it has been in, else the first one. Undefined if that is too large, or if the plan isn't known. */
export function flowPathChart(flow: FlowView): string | undefined {
  const { chart } = flow;
  if (chart === undefined) return undefined;
  const all = [...new Set([chart.main, ...flow.activities.keys()])];
  for (const files of all.length > 1 ? [all, [chart.main]] : [all]) {
    const { arrows, ...drawing } = drawFlow(chart, files);
    if (arrows.length > MAX_ARROWS) continue;
    const text = renderFlowDrawing(
      { ...drawing, arrows },
      { textOf: (file, node) => pathText(flow, file, node), path: flow },
    );
    if (isDrawable(text)) return text;
  }
  return undefined;
}

export interface FlowDrawingOptions {
  readonly textOf: (file: string, node: FlowNode) => string;
  readonly path?: FlowView;
}

export function renderFlowDrawing(
  { files, arrows }: FlowDrawing,
  { textOf, path }: FlowDrawingOptions,
): string {
  const groups = files.map(({ file, title, nodes }) => ({
    ...(files.length > 1 ? { title: escapeLabel(title) } : {}),
    nodes: nodes.map(({ name, node }): MermaidNode => {
      const text = escapeLabel(textOf(file, node));
      // A circle grows with its text.
      const shape = node.kind === "start" ? "terminal" : (shapes[node.kind] ?? "task");
      if (path === undefined) return { name, shape, text };
      const status = activityStatus(path, file, node);
      const classes = isLast(path, file, node) ? [status, "last" as const] : [status];
      return { name, shape, text, classes };
    }),
  }));
  const drawn = arrows.map((arrow): MermaidArrow => {
    const taken = path === undefined ? undefined : takenTimes(path, arrow);
    const label = [
      ...(arrow.label === "" ? [] : [escapeLabel(arrow.label)]),
      ...(taken === undefined || taken < 2 ? [] : [`×${taken}`]),
    ].join(" ");
    return {
      from: arrow.from,
      to: arrow.to,
      line: taken === undefined ? "-->" : taken > 0 ? "==>" : "-.->",
      label: label && `"${label}"`,
    };
  });
  return printFlowchart("TD", groups, drawn);
}

export function activityStatus(flow: FlowView, file: string, { id, kind }: FlowNode): NodeStatus {
  const visited = activityOf(flow, file, id);
  switch (visited?.status) {
    case undefined:
      return "pending";
    case "failed":
      return kind === "check" ? "answered" : "failed";
    case "succeeded":
      return kind === "failed" ? "failed" : "succeeded";
    case "running":
    case "canceled":
      return visited.status;
  }
}

export function isLast({ open, steps }: FlowView, file: string, { id }: FlowNode): boolean {
  const step = open.at(-1) ?? steps.at(-1);
  return step !== undefined && step.file === file && step.activity === id;
}

export function takenTimes(flow: FlowView, { file, activity, way }: FlowArrow): number {
  const visited = activityOf(flow, file, activity);
  if (visited === undefined) return 0;
  return way === "calls" ? visited.hits : visited.taken[way];
}

export function activityOf(
  { activities }: FlowView,
  file: string,
  id: string,
): ActivityView | undefined {
  return activities.get(file)?.get(id);
}

/** Longer texts are cut: Mermaid measures every character. */
const MAX_LABEL = 80;

export function activityText({ id, label }: FlowNode): string {
  const text = label.replace(/\s+/g, " ").trim();
  const shown = text.length <= MAX_LABEL ? text : truncate(text, MAX_LABEL - 1, "…");
  return shown === "" ? truncate(id, MAX_LABEL) : `${truncate(id, MAX_LABEL)}: ${shown}`;
}

function pathText(flow: FlowView, file: string, node: FlowNode): string {
  const visits = visitsText(flow, file, node);
  return `${activityText(node)}${visits === "" ? "" : `\n${visits}`}`;
}

const SHOWN_VISITS = 5;

/** The numbers of the steps, such as `✓ 1, 3`, show the path without color. May be empty. */
function visitsText(flow: FlowView, file: string, node: FlowNode): string {
  const visited = activityOf(flow, file, node.id);
  if (visited === undefined) return "";
  const shown = visited.visits.slice(0, SHOWN_VISITS).join(", ");
  const often = visited.hits > SHOWN_VISITS ? `, … (${visited.hits} times)` : "";
  const last = !isLast(flow, file, node) ? "" : visited.status === "running" ? " · now" : " · last";
  return `${statusSign(activityStatus(flow, file, node))} ${shown}${often}${last}`;
}
