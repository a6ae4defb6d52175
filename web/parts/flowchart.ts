/** Mermaid, with flowcharts only (scripts/build-page.mjs leaves the rest out). */
import mermaid from "mermaid";

let count = 0;

/**
 * The text of a Mermaid flowchart as an SVG element. Labels are text in it, never HTML. `theme` follows the colors of
 * the page. Rejects if the text is not a flowchart.
 */
export async function drawFlowchart(text: string, theme: "light" | "dark"): Promise<SVGSVGElement> {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    htmlLabels: false,
    theme: theme === "dark" ? "dark" : "neutral",
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

/** Without HTML labels, Mermaid leaves the character references of `escapeLabel` in the text. */
function decodeLabels(drawn: SVGSVGElement): void {
  const texts = drawn.ownerDocument.createTreeWalker(drawn, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode())
    node.nodeValue = (node.nodeValue ?? "").replace(/&#(\d{1,5});/g, (_reference, code: string) =>
      String.fromCharCode(Number(code)),
    );
}
