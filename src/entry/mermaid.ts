import type { ChartArrow, ChartGraph, ChartNode } from "./chart.ts";

/** How a work stands, as colors show it. */
export type NodeStatus =
  "pending" | "running" | "succeeded" | "failed" | "retried" | "skipped" | "canceled" | "answered";

export interface MermaidOptions {
  /** Colors a task; absent or undefined leaves it plain. */
  readonly statusOf?: (workId: number) => NodeStatus | undefined;
  /** A second line for a task, such as `2 attempts, 31 s`. */
  readonly detailOf?: (workId: number) => string | undefined;
}

/** Each with its own text color, so that they can be read on a light and on a dark page. */
const styles: Readonly<Record<NodeStatus, string>> = {
  pending: "fill:#eaeef2,stroke:#6e7781,color:#24292f",
  running: "fill:#0969da,stroke:#054da7,color:#ffffff",
  succeeded: "fill:#1a7f37,stroke:#0f5323,color:#ffffff",
  failed: "fill:#cf222e,stroke:#82071e,color:#ffffff",
  retried: "fill:#bf8700,stroke:#7d4e00,color:#000000",
  skipped: "fill:#afb8c1,stroke:#57606a,color:#24292f,stroke-dasharray:4 3",
  answered: "fill:#ddf4ff,stroke:#0969da,color:#24292f",
  canceled: "fill:#6e7781,stroke:#424a53,color:#ffffff",
};

/** More than that many tasks beside one another don't fit the width of a page: they are put below one another. */
const SIDE_BY_SIDE = 6;

/** The graph as the text of a Mermaid flowchart, with a final line break. */
export function renderMermaid(graph: ChartGraph, options: MermaidOptions = {}): string {
  const isWide = graph.nodes.some(({ arrows }) => arrows.length > SIDE_BY_SIDE);
  const lines = [`flowchart ${isWide ? "LR" : "TD"}`];
  const used = new Map<NodeStatus, string[]>();
  for (const node of graph.nodes) {
    lines.push(`  n${node.id}${shape(node, options)}`);
    const { workIdInJob } = node;
    const status = workIdInJob === undefined ? undefined : options.statusOf?.(workIdInJob);
    if (status !== undefined) used.set(status, [...(used.get(status) ?? []), `n${node.id}`]);
  }
  for (const node of graph.nodes) {
    for (const arrow of node.arrows) lines.push(`  n${node.id} ${line(arrow)} n${arrow.to}`);
  }
  for (const [status, ids] of used) {
    lines.push(`  classDef ${status} ${styles[status]}`, `  class ${ids.join(",")} ${status}`);
  }
  return `${lines.join("\n")}\n`;
}

function shape(node: ChartNode, options: MermaidOptions): string {
  switch (node.hint) {
    case "start":
    case "end":
      return `(["${escapeLabel(node.label)}"])`;
    case "fork":
    case "join":
      return `[["${escapeLabel(node.label)}"]]`;
    case "decision":
      return `{"${escapeLabel(node.label)}"}`;
    case "task": {
      const { workIdInJob } = node;
      const detail = workIdInJob === undefined ? undefined : options.detailOf?.(workIdInJob);
      const number = workIdInJob === undefined ? "" : ` #${workIdInJob}`;
      const label = detail === undefined ? "" : `\n${detail}`;
      return `["${escapeLabel(node.label + number + label)}"]`;
    }
  }
}

function line({ label }: ChartArrow): string {
  return label === undefined ? "-->" : `-->|"${escapeLabel(label)}"|`;
}

/**
 * Text as Mermaid shows it literally: punctuation that could be syntax, Markdown or HTML becomes a
 * numeric entity (`#34;`), a line break becomes `<br/>`, any other control character a space.
 */
export function escapeLabel(text: string): string {
  const escaped = text
    .replace(/\r\n?/g, "\n")
    .replace(/[^\P{Cc}\n]/gu, " ")
    .trim()
    .replace(markup, (sign) => `#${sign.charCodeAt(0)};`)
    .replaceAll("\n", "<br/>");
  return escaped === "" ? " " : escaped;
}

/** Hyphens, dots and underscores inside a word are harmless, as is `)` unless it numbers a list. */
const markup = /(?<![A-Za-z0-9])[-._]|[-._](?![A-Za-z0-9])|(?<=^ *\d+)\)|[!-'*+:->@[-^`{-~]/gm;
