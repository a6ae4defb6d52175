/**
 * A flowchart of a run. It is drawn once; after that only the looks and the last lines of its nodes change, so that
 * nothing flickers and the focus stays.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { IconButton } from "../parts/icon.tsx";
import { Loading, EmptyState } from "../parts/notes.tsx";
import { MANY_NODES } from "../parts/flowchart.ts";
import { runHref, type RunPart } from "../routes.ts";
import { useRunContext } from "./context.ts";

/** This is as wide as the last line of a node gets; one word, so that it stays a line. */
export const WIDEST_DETAIL = "0".repeat(17);
const DETAIL = /^0+$/;
/** Smaller only to show all branches of a run beside one another while it runs, and never smaller than the second. */
const READABLE_SCALE = 0.55;
const LEAST_SCALE = 0.4;

/** A flowchart, and the meaning of its nodes. */
export interface Picture {
  /** Another one is drawn anew. */
  readonly source: object;
  /** Rejects if it can't be drawn. Nodes have the names `n0`, `n1`…, and `WIDEST_DETAIL` as their last line. */
  readonly draw: () => Promise<SVGSVGElement>;
  /** By the name of the node; other nodes are no buttons. */
  readonly nodes: ReadonlyMap<string, PictureNode>;
  /** For instance `works`. */
  readonly what: string;
  /** Where all of it is in text. */
  readonly elsewhere: string;
  readonly label: string;
  /** Shows what is not a node; called with everything that changes. */
  readonly show?: (svg: SVGSVGElement) => void;
}

export interface PictureNode {
  readonly look: () => Look;
  /** Choosing the node shows this part. Choosing it again shows the run. */
  readonly part: RunPart;
}

export interface Look {
  readonly tone: string;
  readonly status: string;
  /** The last line of the node. */
  readonly text: string;
  readonly isSelected: boolean;
  /** It runs, or was the last that ran. */
  readonly isCurrent?: boolean;
}

interface Drawing {
  readonly svg: SVGSVGElement;
  readonly nodes: readonly DrawnNode[];
}

interface DrawnNode {
  readonly name: string;
  readonly element: SVGGElement;
  readonly detail: Element | undefined;
}

export function ChartView({
  picture,
  changes,
  legend,
}: {
  picture: Picture;
  /** When one of these changes, the looks may have. */
  changes: readonly unknown[];
  legend: ComponentChildren;
}) {
  const place = useRef<HTMLDivElement>(null);
  const [drawing, setDrawing] = useState<Drawing | "failed" | undefined>(undefined);
  const [isFitted, setFitted] = useState(true);
  const [isWanted, setWanted] = useState(false);
  const { runId, open, live } = useRunContext();
  const { source, nodes } = picture;
  const isHeld = !isWanted && nodes.size > MANY_NODES;

  useEffect(() => {
    if (isHeld) return undefined;
    let current = true;
    draw(picture).then(
      (drawn) => current && setDrawing(drawn),
      () => current && setDrawing("failed"),
    );
    return () => {
      current = false;
    };
  }, [source, isHeld]);

  const drawn = typeof drawing === "object" ? drawing : undefined;
  useLayoutEffect(() => {
    if (drawn !== undefined) place.current?.replaceChildren(drawn.svg);
  }, [drawn]);

  const looks = useRef<ReadonlyMap<DrawnNode, Look>>(new Map());
  useLayoutEffect(() => {
    if (drawn === undefined) return;
    looks.current = new Map(
      drawn.nodes.flatMap((node) => {
        const look = nodes.get(node.name)?.look();
        return look === undefined ? [] : [[node, look] as const];
      }),
    );
    const isAnySelected = [...looks.current.values()].some(({ isSelected }) => isSelected);
    drawn.nodes.forEach((node, index) => {
      const look = looks.current.get(node);
      if (look !== undefined) show(node, look, isAnySelected ? look.isSelected : index === 0);
    });
    picture.show?.(drawn.svg);
  }, [drawn, ...changes]);

  useLayoutEffect(() => {
    const box = place.current;
    if (drawn === undefined || box === null) return undefined;
    const fit = () => scale(drawn.svg, box, isFitted, live);
    fit();
    const observer = new ResizeObserver(fit);
    observer.observe(box);
    return () => observer.disconnect();
  }, [drawn, isFitted, live]);

  const found = drawn?.nodes.map((node) => ({ node, look: nodes.get(node.name)?.look() }));
  const selected = (
    found?.find(({ look }) => look?.isSelected === true) ??
    found?.find(({ look }) => look?.isCurrent === true)
  )?.node;
  const running = (found ?? []).flatMap(({ node, look }) =>
    look?.status === "running" && node !== selected ? [node] : [],
  );
  const centered = useRef<unknown>(undefined);
  useLayoutEffect(() => {
    const [first, ...others] = selected === undefined ? running : [selected, ...running];
    if (first === undefined || place.current === null) return;
    bringIntoView(first.element, others, place.current, centered.current !== drawn);
    centered.current = drawn;
  }, [drawn, isFitted, selected, running.map(({ name }) => name).join(" ")]);

  const nodeOf = (event: Event): DrawnNode | undefined =>
    drawn?.nodes.find(
      ({ element }) => event.target instanceof Node && element.contains(event.target),
    );
  const choose = (node: DrawnNode | undefined) => {
    const part = node && nodes.get(node.name)?.part;
    if (part === undefined) return;
    open(location.hash === runHref(runId, part) ? { kind: "overview" } : part);
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

  if (isHeld && drawing === undefined)
    return (
      <EmptyState title={`The flowchart has ${nodes.size} ${picture.what}.`}>
        <p>Drawing it can take a while. {picture.elsewhere}</p>
        <button type="button" class="button" onClick={() => setWanted(true)}>
          Draw the flowchart
        </button>
      </EmptyState>
    );
  if (drawing === "failed")
    return <EmptyState title="The flowchart can't be drawn.">{picture.elsewhere}</EmptyState>;
  return (
    <div class="flowchart">
      {drawing === undefined ? <Loading what="the flowchart" /> : null}
      <div
        ref={place}
        class="flowchart-drawing"
        role="group"
        aria-label={picture.label}
        // The second click of a double click would take back the first.
        onClick={(event) => event.detail < 2 && choose(nodeOf(event))}
        onKeyDown={onKeyDown}
      />
      <div class="flowchart-footer row between">
        {legend}
        <IconButton
          icon="fit"
          small
          aria-pressed={!isFitted}
          label="Show the flowchart in its full size"
          title={isFitted ? "Full size" : "Fit"}
          onClick={() => setFitted(!isFitted)}
        />
      </div>
    </div>
  );
}

async function draw(picture: Picture): Promise<Drawing> {
  const svg = await picture.draw();
  svg.setAttribute("role", "presentation");
  svg.removeAttribute("aria-roledescription");
  const nodes = [...svg.querySelectorAll<SVGGElement>("g.node")].flatMap((element) => {
    const name = /(?:^|-)flowchart-(n\d+)-\d+$/.exec(element.id)?.[1];
    if (name === undefined || !picture.nodes.has(name)) return [];
    element.setAttribute("role", "button");
    element.classList.add("work-node");
    const lines = [...element.querySelectorAll("tspan.text-outer-tspan")];
    const detail = lines.pop();
    // With a wide font, the last line may have become two.
    while (DETAIL.test(lines.at(-1)?.textContent ?? "")) lines.pop()?.remove();
    // The name of the button is its text: its lines are separate words.
    detail?.before(" ");
    for (const line of lines) line.before(" ");
    return [{ name, element, detail }];
  });
  // Files of a workflow are drawn one after the other, whatever the layout begins with.
  nodes.sort((a, b) => Number(a.name.slice(1)) - Number(b.name.slice(1)));
  return { svg, nodes };
}

function show(
  { element, detail }: DrawnNode,
  { tone, status, text, isSelected, isCurrent = false }: Look,
  inTabOrder: boolean,
): void {
  set(element, "data-tone", tone);
  set(element, "data-status", status);
  set(element, "data-current", String(isCurrent));
  set(element, "aria-pressed", String(isSelected));
  set(element, "tabindex", inTabOrder ? "0" : "-1");
  if (detail !== undefined && detail.textContent !== text) detail.textContent = text;
}

export function set(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/**
 * Never larger than drawn, and never so small that nobody can read it: then it scrolls, in one direction if possible.
 * The room is what the box may get, not what it has: its height follows from the drawing.
 */
function scale(svg: SVGSVGElement, box: HTMLElement, isFitted: boolean, isLive: boolean): void {
  const { width, height } = svg.viewBox.baseVal;
  if (!(width > 0 && height > 0)) return;
  const room = Math.max(box.clientHeight, Number.parseFloat(getComputedStyle(box).maxHeight) || 0);
  const fits = [(box.clientWidth - 24) / width, (room - 24) / height];
  const branches = Math.max(LEAST_SCALE, Math.min(READABLE_SCALE, Math.max(...fits)));
  const least = isLive ? branches : READABLE_SCALE;
  const factor = isFitted ? Math.max(least, Math.min(1, ...fits)) : 1;
  svg.style.maxWidth = "none";
  svg.setAttribute("width", String(Math.round(width * factor)));
  svg.setAttribute("height", String(Math.round(height * factor)));
}

/**
 * Scrolls the box to an element, but not the page. The others are brought into view, too, where there is room
 * for all of them.
 */
function bringIntoView(
  first: Element,
  others: readonly DrawnNode[],
  box: HTMLElement,
  always: boolean,
): void {
  const frame = box.getBoundingClientRect();
  const one = first.getBoundingClientRect();
  const all = [one, ...others.map(({ element }) => element.getBoundingClientRect())];
  /** How far to scroll in one direction. */
  const by = (from: "left" | "top", to: "right" | "bottom"): number => {
    let begin = Math.min(...all.map((rect) => rect[from]));
    let end = Math.max(...all.map((rect) => rect[to]));
    if (end - begin > frame[to] - frame[from]) [begin, end] = [one[from], one[to]];
    return always || begin < frame[from] || end > frame[to]
      ? (begin + end) / 2 - (frame[from] + frame[to]) / 2
      : 0;
  };
  box.scrollBy(by("left", "right"), by("top", "bottom"));
}
