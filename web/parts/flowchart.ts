/** Mermaid, with flowcharts only (scripts/build-page.mjs leaves the rest out). */
import mermaid from "mermaid";
import type { ChartGraph, ChartNode } from "../../src/entry/chart.ts";
import {
  renderFlowDrawing,
  type FlowDrawing,
  type FlowDrawingOptions,
} from "../../src/reports/flow-chart.ts";
import { renderMermaid, type MermaidOptions } from "../../src/entry/mermaid.ts";
import { truncate } from "../../src/text/truncate.ts";

let count = 0;

/** Nodes that are drawn without being asked for: Mermaid stops the page for about 20 ms per node. */
export const MANY_NODES = 100;

/** Longer names are cut: Mermaid measures every character, and no node shows more. */
const MAX_LABEL = 120;

/**
 * A chart as an SVG element, whose colors come from the stylesheet. Labels are text in it, never HTML. Rejects if
 * Mermaid can't draw it.
 */
export async function drawFlowchart(
  { nodes }: ChartGraph,
  options?: MermaidOptions,
): Promise<SVGSVGElement> {
  return drawMermaid(renderMermaid({ nodes: nodes.map(withShortLabel) }, options));
}

/** Draws the flowcharts of a workflow likewise. */
export async function drawFlowPath(
  drawing: FlowDrawing,
  textOf: FlowDrawingOptions["textOf"],
): Promise<SVGSVGElement> {
  return drawMermaid(renderFlowDrawing(drawing, { textOf }));
}

async function drawMermaid(text: string): Promise<SVGSVGElement> {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    htmlLabels: false,
    theme: "neutral",
    fontFamily: "Inter, system-ui, sans-serif",
    maxTextSize: 1_000_000,
    maxEdges: 5_000,
    flowchart: { htmlLabels: false, useMaxWidth: false, nodeSpacing: 28, rankSpacing: 34 },
    suppressErrorRendering: true,
  });
  const { svg } = await mermaid.render(`flowchart-${++count}`, text);
  const drawn = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  if (!(drawn instanceof SVGSVGElement)) throw new Error("Mermaid drew no SVG.");
  decodeLabels(drawn);
  return document.importNode(drawn, true);
}

function withShortLabel(node: ChartNode): ChartNode {
  const { label } = node;
  return label === undefined ? node : { ...node, label: truncate(label, MAX_LABEL, "…") };
}

/** Mermaid leaves the character references of `escapeLabel` in the text where labels are no HTML. */
function decodeLabels(drawn: SVGSVGElement): void {
  const texts = drawn.ownerDocument.createTreeWalker(drawn, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode())
    node.nodeValue = (node.nodeValue ?? "").replace(/&#(\d{1,5});/g, (_reference, code: string) =>
      String.fromCharCode(Number(code)),
    );
}
