/** What the canvas of the timeline depends on: its size, and the colors of the theme. */
import { useLayoutEffect, useState } from "preact/hooks";
import { readPalette, type Palette } from "./timeline-canvas.ts";

/** Read again when the theme changes. */
export function usePalette(
  canvas: { readonly current: HTMLCanvasElement | null },
  isTable: boolean,
): Palette | undefined {
  const [palette, setPalette] = useState<Palette | undefined>(undefined);
  useLayoutEffect(() => {
    const read = () => {
      const parent = canvas.current?.parentElement;
      if (parent !== null && parent !== undefined) setPalette(readPalette(parent));
    };
    read();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", read);
    const observer = new MutationObserver(read);
    observer.observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-theme"],
    });
    return () => {
      dark.removeEventListener("change", read);
      observer.disconnect();
    };
  }, [isTable]);
  return palette;
}

export function useSize(
  element: { readonly current: HTMLElement | null },
  isTable: boolean,
): { readonly width: number; readonly height: number; readonly ratio: number } {
  const [size, setSize] = useState({ width: 600, height: 300, ratio: 1 });
  useLayoutEffect(() => {
    const box = element.current;
    if (box === null) return undefined;
    const measure = () =>
      setSize({ width: box.clientWidth, height: box.clientHeight, ratio: devicePixelRatio });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, [isTable]);
  return size;
}
