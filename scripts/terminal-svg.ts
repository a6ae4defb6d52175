/**
 * Draws the output of a program as a terminal window in SVG. Knows the escape sequences that agent-jobs prints
 * (bold, dim and the eight colors) and throws on any other.
 */
const colors = [
  "#6e7681",
  "#ff7b72",
  "#56d364",
  "#e3b341",
  "#79c0ff",
  "#d2a8ff",
  "#56d4dd",
  "#f0f6fc",
];
const foreground = "#e6edf3";
const faint = "#8b949e";

const fontSize = 13;
const columnWidth = 7.83;
const lineHeight = 19;
const padding = 18;
const titleBar = 38;

interface Style {
  readonly color: string | undefined;
  readonly bold: boolean;
  readonly dim: boolean;
}

interface Span {
  readonly text: string;
  readonly style: Style;
}

const plain: Style = { color: undefined, bold: false, dim: false };

export interface WindowOptions {
  readonly title: string;
  /** Longer lines are cut. */
  readonly columns: number;
}

export function terminalSvg(output: string, { title, columns }: WindowOptions): string {
  const lines = output.trimEnd().split("\n");
  const width = Math.round(columns * columnWidth) + 2 * padding;
  const height = titleBar + lines.length * lineHeight + padding;
  const rows = lines.map((line, index) => row(cut(spansOf(line), columns), index));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">
<style>text { font: ${fontSize}px ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace; white-space: pre; fill: ${foreground} }</style>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10" fill="#0d1117" stroke="#30363d"/>
<path d="M1 30V10a9 9 0 0 1 9-9H${width - 10}a9 9 0 0 1 9 9v20z" fill="#161b22"/>
<circle cx="21" cy="16" r="6" fill="#ff5f57"/><circle cx="41" cy="16" r="6" fill="#febc2e"/><circle cx="61" cy="16" r="6" fill="#28c840"/>
<text x="${width / 2}" y="20" text-anchor="middle" style="fill: ${faint}">${escaped(title)}</text>
${rows.filter((text) => text !== "").join("\n")}
</svg>
`;
}

/** Every span has its own position and length, so that columns stay aligned in any font. */
function row(spans: readonly Span[], index: number): string {
  let column = 0;
  const parts = spans.map(({ text, style }) => {
    const x = padding + column * columnWidth;
    column += text.length;
    if (text.trim() === "") return "";
    const fill = style.color ?? (style.dim ? faint : undefined);
    return [
      `<tspan x="${x.toFixed(1)}" textLength="${(text.length * columnWidth).toFixed(1)}"`,
      ...(fill === undefined ? [] : [` style="fill: ${fill}"`]),
      ...(style.bold ? [` font-weight="bold"`] : []),
      `>${escaped(text)}</tspan>`,
    ].join("");
  });
  const y = titleBar + index * lineHeight + fontSize;
  return parts.some((part) => part !== "") ? `<text y="${y}">${parts.join("")}</text>` : "";
}

function spansOf(line: string): Span[] {
  let style = plain;
  // eslint-disable-next-line no-control-regex -- an escape sequence starts with a control character
  return line.split(/\u001b\[([\d;]*)m/).flatMap((part, index) => {
    if (index % 2 === 1) {
      style = part.split(";").map(Number).reduce(applied, style);
      return [];
    }
    // Browsers collapse runs of blanks where `textLength` is set, so a run is a span of its own.
    return part
      .split(/( {2,}|^ +| +$)/)
      .filter((text) => text !== "")
      .map((text) => ({ text, style }));
  });
}

function applied(style: Style, code: number): Style {
  if (code === 0) return plain;
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 22) return { ...style, bold: false, dim: false };
  if (code === 39) return { ...style, color: undefined };
  const color = colors[code - 30];
  if (color === undefined) throw new Error(`Unknown escape sequence: ESC[${code}m`);
  return { ...style, color };
}

function cut(spans: readonly Span[], columns: number): Span[] {
  const total = spans.reduce((sum, { text }) => sum + text.length, 0);
  if (total <= columns) return [...spans];
  let left = columns - 1;
  const kept = spans.map(({ text, style }) => {
    const head = text.slice(0, left);
    left -= head.length;
    return { text: head, style };
  });
  const last = kept.findLast(({ text }) => text !== "");
  return [...kept, { text: "…", style: last?.style ?? plain }];
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
