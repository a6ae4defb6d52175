import { useEffect, useRef, useState } from "preact/hooks";
import type { RunView } from "../../src/events/view.ts";
import { chartOf } from "../../src/report/chart.ts";
import { drawFlowchart } from "../parts/flowchart.ts";
import { Loading } from "../parts/notes.tsx";
import { useShownTheme } from "../parts/shown-theme.ts";

/** The flowchart of a run with the outcome of each task. Drawn when `settled`: drawing is slow. */
export function RunChart({
  view,
  settled,
  label,
}: {
  view: RunView;
  settled: boolean;
  label: string;
}) {
  const place = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<"drawing" | "drawn" | "failed">("drawing");
  const theme = useShownTheme();
  useEffect(() => {
    if (!settled) return undefined;
    let current = true;
    drawFlowchart(chartOf(view), theme).then(
      (svg) => {
        if (!current) return;
        place.current?.replaceChildren(svg);
        setState("drawn");
      },
      () => {
        if (current) setState("failed");
      },
    );
    return () => {
      current = false;
    };
  }, [view, settled, theme]);
  return (
    <>
      {state === "drawing" ? <Loading what="the flowchart" /> : null}
      {state === "failed" ? <p class="muted">The flowchart can't be drawn.</p> : null}
      <div ref={place} class="compare-drawing" role="img" aria-label={label} />
    </>
  );
}
