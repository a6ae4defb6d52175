/**
 * Takes the picture of docs/telemetry.md: `npm run trace-picture`. It shows the spans that a collector receives of a
 * rehearsal of the review example, as tools for traces do.
 */
import { join } from "node:path";
import { launchChromium } from "../test/rig/browser.ts";
import { runCli } from "../test/rig/cli.ts";
import { startCollector, type Collector, type ReceivedSpan } from "../test/rig/otlp-collector.ts";

const root = join(import.meta.dirname, "..", "..");
const styles = `
* { box-sizing: border-box; }
body { margin: 0; padding: 12px; background: #fff; color: #1f2328; font: 11px/17px "Noto Sans", "DejaVu Sans", Arial, sans-serif; }
div { display: flex; height: 17px; white-space: nowrap; }
div:nth-child(odd) { background: #f6f8fa; }
b { font-weight: normal; overflow: hidden; width: 290px; }
span { border-left: 1px solid #d1d9e0; flex: 1; position: relative; }
i { border-radius: 2px; height: 9px; min-width: 2px; position: absolute; top: 4px; }
s { border: 3px solid #9a6700; border-radius: 4px; height: 6px; position: absolute; top: 5px; width: 6px; margin-left: -3px; }
em { color: #59636e; font-style: normal; position: absolute; }
.error { color: #cf222e; }
`;
const colors: readonly (readonly [start: string, color: string])[] = [
  ["chat", "#8250df"],
  ["execute_tool", "#0969da"],
  ["invoke_agent", "#1a7f37"],
  ["", "#8c959f"],
];

const ends: (() => void)[] = [];
try {
  const collector = await startCollector({ after: (end) => void ends.push(end) });
  const args = ["run", "review.yml", "--rehearse", "review.rehearsal.yml", "--otlp", collector.url];
  const { code, stdout, stderr } = await runCli(args, { cwd: join(root, "examples", "review") });
  if (code !== 0) throw new Error(stdout + stderr);
  const browser = await launchChromium();
  ends.push(() => void browser.close());
  const page = await browser.newPage({ viewport: { width: 900, height: 200 } });
  await page.setContent(`<!doctype html><style>${styles}</style>${rows(collector)}`);
  await page.screenshot({ path: join(root, "docs", "images", "trace.png"), fullPage: true });
  console.log("wrote docs/images/trace.png");
} finally {
  for (const end of ends.toReversed()) end();
}

function rows({ spans }: Collector): string {
  const first = Math.min(...spans.map(({ start }) => start));
  const last = Math.max(...spans.map(({ end }) => end));
  // On the right is room for a duration.
  const at = (time: number): string => `${(((time - first) / (last - first)) * 72).toFixed(2)}%`;
  const below = (parent: string, depth: number): string =>
    spans
      .filter(({ parentSpanId }) => parentSpanId === parent)
      .toSorted((a, b) => a.start - b.start)
      .map((span) => row(span, depth, at) + below(span.spanId, depth + 1))
      .join("");
  return below("", 0);
}

function row(span: ReceivedSpan, depth: number, at: (time: number) => string): string {
  const { name, start, end, attributes, events, error } = span;
  const [, color = ""] = colors.find(([prefix]) => name.startsWith(prefix)) ?? [];
  const input = Number(attributes["gen_ai.usage.input_tokens"] ?? 0);
  const output = Number(attributes["gen_ai.usage.output_tokens"] ?? 0);
  const tokens = input + output === 0 ? "" : `, ${input} in, ${output} out`;
  const note = `${Math.round(end - start)} ms${tokens}`;
  const failed = error === undefined ? "" : ` class="error"`;
  const marks = events.map((event) => `<s style="left:${at(event.at)}"></s>`).join("");
  const width = `calc(${at(end)} - ${at(start)})`;
  return `<div><b${failed} style="padding-left:${depth * 14}px">${name}</b><span><i style="left:${at(start)};width:${width};background:${color}"></i>${marks}<em${failed} style="left:calc(${at(end)} + 6px)">${note}</em></span></div>`;
}
