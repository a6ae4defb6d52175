/** Marks a text wherever it is shown, without changing the document: the CSS Custom Highlight API, where there is one. */
import { useEffect } from "preact/hooks";
import { patternOf } from "../model/search.ts";

const NAME = "search-hit";
const MAX_RANGES = 500;

export function useMarkedText(
  element: { readonly current: HTMLElement | null },
  query: string,
  changes: readonly unknown[],
): void {
  useEffect(() => {
    if (!("highlights" in CSS)) return undefined;
    const wanted = query.trim();
    const root = element.current;
    if (wanted === "" || root === null) return undefined;
    let ranges: Range[] = [];
    // The rows may still be about to get their Markdown.
    const frame = requestAnimationFrame(() => {
      ranges = rangesIn(root, wanted);
      // Several parts of the page have marks.
      CSS.highlights.set(NAME, new Highlight(...(CSS.highlights.get(NAME) ?? []), ...ranges));
    });
    return () => {
      cancelAnimationFrame(frame);
      for (const range of ranges) CSS.highlights.get(NAME)?.delete(range);
    };
  }, [query, ...changes]);
}

/** Scrolls the code that the first hit is in; the row itself is in view. */
export function revealHit(row: HTMLElement, query: string): void {
  const wanted = query.trim();
  const [range] = wanted === "" ? [] : rangesIn(row, wanted, 1);
  const box = range?.startContainer.parentElement?.closest("pre");
  if (range === undefined || box === null || box === undefined) return;
  const hit = range.getBoundingClientRect();
  const frame = box.getBoundingClientRect();
  if (hit.top < frame.top || hit.bottom > frame.bottom)
    box.scrollTop += hit.top - frame.top - frame.height / 2;
}

function rangesIn(root: HTMLElement, wanted: string, most = MAX_RANGES): Range[] {
  const ranges: Range[] = [];
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    for (const { index, 0: match } of (node.nodeValue ?? "").matchAll(patternOf(wanted, "gi"))) {
      if (match === "" || ranges.length >= most) return ranges;
      const range = new Range();
      range.setStart(node, index);
      range.setEnd(node, index + match.length);
      ranges.push(range);
    }
  }
  return ranges;
}
