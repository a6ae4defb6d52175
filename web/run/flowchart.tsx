/**
 * The job as a flowchart. It is drawn once for a plan; after that only the statuses and the second lines of its nodes
 * change, so that nothing flickers and the focus stays. What it shows is also in the list of works.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { generateChartNodes } from "../../src/entry/chart.ts";
import { mermaidNames, renderMermaid } from "../../src/entry/mermaid.ts";
import type { RunPlan } from "../../src/events/plan.ts";
import { elapsedMs, type WorkView } from "../../src/events/view.ts";
import type { RunModel } from "../model/model.ts";
import { drawFlowchart } from "../parts/flowchart.ts";
import { formatDuration } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { EmptyState, Loading } from "../parts/notes.tsx";
import { looks } from "../parts/status.tsx";
import { useNow } from "../parts/time.tsx";
import { useRunContext } from "./context.ts";
import { workStatus } from "./status-of.ts";

/** As wide as the second line of a node gets; one word, so that it stays a line. */
const WIDEST_DETAIL = "0".repeat(17);
const LEAST_SCALE = 0.55;

interface Drawing {
  readonly svg: SVGSVGElement;
  readonly nodes: readonly DrawnNode[];
}

interface DrawnNode {
  readonly workId: number;
  readonly element: SVGGElement;
  readonly detail: Element | undefined;
}

export function Flowchart({
  model,
  version,
  selected,
}: {
  model: RunModel;
  version: number;
  selected: number | undefined;
}) {
  const { plan } = model.view;
  const { live, open } = useRunContext();
  const place = useRef<HTMLDivElement>(null);
  const [drawing, setDrawing] = useState<Drawing | "failed" | undefined>(undefined);
  const [isFitted, setFitted] = useState(true);
  const now = useNow(live ? 1_000 : 0);

  useEffect(() => {
    if (plan === undefined) return undefined;
    let current = true;
    draw(plan).then(
      (drawn) => current && setDrawing(drawn),
      () => current && setDrawing("failed"),
    );
    return () => {
      current = false;
    };
  }, [plan]);

  const drawn = typeof drawing === "object" ? drawing : undefined;
  useLayoutEffect(() => {
    if (drawn !== undefined) place.current?.replaceChildren(drawn.svg);
  }, [drawn]);

  useLayoutEffect(() => {
    if (drawn === undefined) return;
    drawn.nodes.forEach((node, index) => {
      show(node, model.view.works.get(node.workId), model.view.endedAt ?? now, {
        isSelected: node.workId === selected,
        inTabOrder: selected === undefined ? index === 0 : node.workId === selected,
      });
    });
  }, [drawn, version, selected, now]);

  useLayoutEffect(() => {
    const box = place.current;
    if (drawn === undefined || box === null) return undefined;
    const fit = () => scale(drawn.svg, box, isFitted);
    fit();
    const observer = new ResizeObserver(fit);
    observer.observe(box);
    return () => observer.disconnect();
  }, [drawn, isFitted]);

  const centered = useRef<unknown>(undefined);
  useLayoutEffect(() => {
    const node = drawn?.nodes.find(({ workId }) => workId === selected);
    if (node === undefined || place.current === null) return;
    bringIntoView(node.element, place.current, centered.current !== drawn);
    centered.current = drawn;
  }, [drawn, isFitted, selected]);

  const nodeOf = (event: Event): DrawnNode | undefined =>
    drawn?.nodes.find(
      ({ element }) => event.target instanceof Node && element.contains(event.target),
    );
  const choose = (node: DrawnNode | undefined) => {
    if (node !== undefined) open({ kind: "work", workId: node.workId, iteration: undefined });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const node = nodeOf(event);
    if (drawn === undefined || node === undefined) return;
    if (event.key === "Enter" || event.key === " ") choose(node);
    else {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (step === undefined) return;
      drawn.nodes[drawn.nodes.indexOf(node) + step]?.element.focus();
    }
    event.preventDefault();
  };

  if (plan === undefined) return <Loading what="the plan of the run" />;
  if (drawing === "failed")
    return (
      <EmptyState title="The flowchart can't be drawn.">
        The list of works has all of it.
      </EmptyState>
    );
  return (
    <div class="flowchart">
      {drawing === undefined ? <Loading what="the flowchart" /> : null}
      <div
        ref={place}
        class="flowchart-drawing"
        role="group"
        aria-label="Flowchart of the job. The arrow keys move between its works."
        onClick={(event) => choose(nodeOf(event))}
        onKeyDown={onKeyDown}
      />
      <div class="flowchart-footer">
        <Legend model={model} version={version} />
        <button
          type="button"
          class="button button-icon button-small"
          aria-pressed={!isFitted}
          aria-label="Show the flowchart in its full size"
          title={isFitted ? "Full size" : "Fit"}
          onClick={() => setFitted(!isFitted)}
        >
          <Icon name="fit" size={14} />
        </button>
      </div>
    </div>
  );
}

async function draw(plan: RunPlan): Promise<Drawing> {
  const graph = generateChartNodes(plan.work);
  const svg = await drawFlowchart(renderMermaid(graph, { detailOf: () => WIDEST_DETAIL }), "light");
  const workIds = new Map([...mermaidNames(graph)].map(([workId, name]) => [name, workId]));
  svg.setAttribute("role", "presentation");
  svg.removeAttribute("aria-roledescription");
  const nodes = [...svg.querySelectorAll<SVGGElement>("g.node")].flatMap((element) => {
    const name = /(?:^|-)flowchart-(n\d+)-\d+$/.exec(element.id)?.[1];
    const workId = name === undefined ? undefined : workIds.get(name);
    if (workId === undefined) return [];
    element.setAttribute("role", "button");
    element.classList.add("work-node");
    const lines = [...element.querySelectorAll("tspan.text-outer-tspan")];
    const detail = lines.pop();
    // With a wide font, the second line may have become two.
    while (/^0+$/.test(lines.at(-1)?.textContent ?? "")) lines.pop()?.remove();
    // The name of the button is its text: its lines are separate words.
    detail?.before(" ");
    for (const line of lines) line.before(" ");
    return [{ workId, element, detail }];
  });
  return { svg, nodes };
}

function show(
  { element, detail }: DrawnNode,
  work: WorkView | undefined,
  now: number,
  { isSelected, inTabOrder }: { readonly isSelected: boolean; readonly inTabOrder: boolean },
): void {
  const status = workStatus(work);
  const { word, tone } = looks[status];
  const elapsed = work === undefined ? 0 : elapsedMs(work, now);
  const text = [
    status === "retried" ? "Retried" : word,
    ...(elapsed > 0 ? [formatDuration(elapsed)] : []),
  ].join(" · ");
  set(element, "data-tone", status === "pending" ? "none" : tone);
  set(element, "data-status", status);
  set(element, "aria-pressed", String(isSelected));
  set(element, "tabindex", inTabOrder ? "0" : "-1");
  if (detail !== undefined && detail.textContent !== text) detail.textContent = text;
}

function set(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Never larger than drawn, and never so small that nobody can read it: then it scrolls. */
function scale(svg: SVGSVGElement, box: HTMLElement, isFitted: boolean): void {
  const { width, height } = svg.viewBox.baseVal;
  if (!(width > 0 && height > 0)) return;
  const fits = Math.min(1, (box.clientWidth - 24) / width, (box.clientHeight - 24) / height);
  const factor = isFitted ? Math.max(LEAST_SCALE, fits) : 1;
  svg.style.maxWidth = "none";
  svg.setAttribute("width", String(Math.round(width * factor)));
  svg.setAttribute("height", String(Math.round(height * factor)));
}

/** As `scrollIntoView` does, but the page stays where it is. */
function bringIntoView(element: Element, box: HTMLElement, always: boolean): void {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  const frame = box.getBoundingClientRect();
  if (always || left < frame.left || right > frame.right)
    box.scrollLeft += (left + right) / 2 - (frame.left + frame.right) / 2;
  if (always || top < frame.top || bottom > frame.bottom)
    box.scrollTop += (top + bottom) / 2 - (frame.top + frame.bottom) / 2;
}

/** The statuses that the chart has now. */
function Legend({ model, version }: { model: RunModel; version: number }) {
  const shown = useMemo(() => {
    const counts = new Map<
      string,
      { readonly word: string; readonly tone: string; count: number }
    >();
    for (const work of model.view.works.values()) {
      const { word, tone } = looks[workStatus(work)];
      const entry = counts.get(word) ?? { word, tone, count: 0 };
      entry.count += 1;
      counts.set(word, entry);
    }
    return [...counts.values()];
  }, [model, version]);
  return (
    <ul class="legend" aria-label="Statuses">
      {shown.map(({ word, tone, count }) => (
        <li key={word} data-tone={word === "Pending" ? "none" : tone}>
          <span class="legend-swatch" aria-hidden="true" />
          {count} {word.toLowerCase()}
        </li>
      ))}
    </ul>
  );
}
