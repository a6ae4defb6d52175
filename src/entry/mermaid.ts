import type { ChartGraph, ChartNode } from "./chart.ts";

export type NodeStatus =
  "pending" | "running" | "succeeded" | "failed" | "retried" | "skipped" | "canceled" | "answered";

export interface MermaidOptions {
  readonly statusOf?: (workId: number) => NodeStatus | undefined;
  /** A second line for a task, such as `2 attempts, 31 s`. */
  readonly detailOf?: (workId: number) => string | undefined;
  /** A Par of more tasks is drawn from left to right. Default: 6, what fits the width of a page. */
  readonly sideBySide?: number;
}

/** The sign of a status, for those who see no color, and a style with its own text color, for light and dark pages. */
const looks: Readonly<Record<NodeStatus, readonly [sign: string, style: string]>> = {
  pending: ["○", "fill:#eaeef2,stroke:#6e7781,color:#24292f"],
  running: ["…", "fill:#0969da,stroke:#054da7,color:#ffffff"],
  succeeded: ["✓", "fill:#1a7f37,stroke:#0f5323,color:#ffffff"],
  failed: ["✗", "fill:#cf222e,stroke:#82071e,color:#ffffff"],
  retried: ["↻", "fill:#bf8700,stroke:#7d4e00,color:#000000"],
  skipped: ["–", "fill:#afb8c1,stroke:#57606a,color:#24292f,stroke-dasharray:4 3"],
  answered: ["↪", "fill:#ddf4ff,stroke:#0969da,color:#24292f"],
  canceled: ["■", "fill:#6e7781,stroke:#424a53,color:#ffffff"],
};

export function statusSign(status: NodeStatus): string {
  return looks[status][0];
}

const shapes = {
  start: ["((", "))"],
  terminal: ["([", "])"],
  bar: ["[[", "]]"],
  decision: ["{", "}"],
  condition: ["{{", "}}"],
  input: ["[/", "/]"],
  task: ["[", "]"],
} as const;

export type NodeShape = keyof typeof shapes;

export interface MermaidNode {
  readonly name: string;
  readonly shape: NodeShape;
  /** Escaped. */
  readonly text: string;
  /** `last`: the run is there. */
  readonly classes?: readonly (NodeStatus | "last")[];
}

export interface MermaidArrow {
  readonly from: string;
  readonly to: string;
  readonly line?: "-->" | "==>" | "-.->";
  /** Stands between the bars. Empty: none. */
  readonly label?: string;
}

/** The one printer of flowcharts, with a final line break. Nodes with a `title`, which must be escaped, have a frame. */
export function printFlowchart(
  direction: "LR" | "TD",
  groups: readonly { readonly title?: string; readonly nodes: readonly MermaidNode[] }[],
  arrows: readonly MermaidArrow[],
): string {
  const lines = [`flowchart ${direction}`];
  const classes = new Map<NodeStatus | "last", string[]>();
  for (const [index, { title, nodes }] of groups.entries()) {
    if (title !== undefined) lines.push(`  subgraph f${index}["${title}"]`);
    for (const { name, shape, text, classes: own = [] } of nodes) {
      const [open, close] = shapes[shape];
      lines.push(`  ${name}${open}"${text}"${close}`);
      for (const one of own) classes.set(one, [...(classes.get(one) ?? []), name]);
    }
    if (title !== undefined) lines.push("  end");
  }
  for (const { from, to, line = "-->", label = "" } of arrows)
    lines.push(`  ${from} ${line}${label === "" ? "" : `|${label}|`} ${to}`);
  for (const [name, names] of classes) {
    const style = name === "last" ? "stroke-width:4px" : looks[name][1];
    lines.push(`  classDef ${name} ${style}`, `  class ${names.join(",")} ${name}`);
  }
  return `${lines.join("\n")}\n`;
}

/** The graph as the text of a Mermaid flowchart, with a final line break. */
export function renderMermaid(graph: ChartGraph, options: MermaidOptions = {}): string {
  const { sideBySide = 6, statusOf } = options;
  const isWide = graph.nodes.some((node) => (node.arrows?.length ?? 0) > sideBySide);
  const drawn = graph.nodes.filter(isDrawn);
  const nameOf = namesIn(graph);
  const end = `n${drawn.length + 1}`;
  const nodes = drawn.map((node): MermaidNode => {
    const workId = workIdOf(node);
    const status = workId === undefined ? undefined : statusOf?.(workId);
    const text = escapeLabel(textOf(node, options));
    const classes = status === undefined ? [] : [status];
    return { name: nameOf(node.id), shape: shapeOf(node), text, classes };
  });
  const arrows = drawn.flatMap(({ id, arrows: own }): readonly MermaidArrow[] =>
    own === undefined
      ? [{ from: nameOf(id), to: end }]
      : own.map(({ to, label }) => ({
          from: nameOf(id),
          to: nameOf(to),
          label: label === undefined ? "" : `"${escapeLabel(label)}"`,
        })),
  );
  const start: MermaidNode = { name: "n0", shape: "terminal", text: "start" };
  const last: MermaidNode = { name: end, shape: "terminal", text: "end" };
  return printFlowchart(
    isWide ? "LR" : "TD",
    [{ nodes: [start, ...nodes, last] }],
    [{ from: "n0", to: nameOf(0) }, ...arrows],
  );
}

export function mermaidNames(graph: ChartGraph): ReadonlyMap<number, string> {
  const nameOf = namesIn(graph);
  return new Map(
    graph.nodes.flatMap((node) => {
      const workId = workIdOf(node);
      return workId === undefined ? [] : [[workId, nameOf(node.id)]];
    }),
  );
}

/** The name of a node, by its id. One that isn't drawn goes by the name of the next one. */
function namesIn(graph: ChartGraph): (id: number) => string {
  const drawn = graph.nodes.filter(isDrawn);
  const names = new Map(drawn.map(({ id }, index) => [id, `n${index + 1}`]));
  const nameOf = (id: number): string => {
    const name = names.get(id);
    if (name !== undefined) return name;
    const next = graph.nodes[id]?.arrows?.[0];
    return next === undefined ? `n${drawn.length + 1}` : nameOf(next.to);
  };
  return nameOf;
}

/** The others only mark where a construct begins or ends: they have one arrow or none, without a label. */
function isDrawn({ hint }: ChartNode): boolean {
  return hint !== "CondBegin" && hint !== "LoopEnd" && hint !== "AltEnd";
}

function shapeOf({ hint }: ChartNode): NodeShape {
  if (hint === "CondEnd") return "decision";
  if (typeof hint === "string") return "bar";
  return hint[0] === "CondNode" ? "condition" : "task";
}

function workIdOf({ hint }: ChartNode): number | undefined {
  return typeof hint === "string" ? undefined : hint[1];
}

function textOf(node: ChartNode, { detailOf }: MermaidOptions): string {
  const { label = "" } = node;
  const workId = workIdOf(node);
  if (workId === undefined) return label;
  const detail = detailOf?.(workId);
  return `${label} #${workId}${detail === undefined ? "" : `\n${detail}`}`;
}

/** Punctuation that could be syntax, Markdown or HTML becomes a numeric entity, a line break `<br/>`. */
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
const markup = /(?<![A-Za-z0-9])[-._]|[-._](?![A-Za-z0-9])|\)(?<=^ *\d+\))|[!-'*+:->@[-^`{-~]/gm;
