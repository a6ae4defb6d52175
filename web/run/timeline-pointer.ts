/** Mouse, pen, fingers and wheel on the timeline, as movements. */
import { useEffect, useRef } from "preact/hooks";

export interface Movements {
  /** In pixels. */
  readonly pan: (dx: number, dy: number) => void;
  /** Less than 1: closer, around `x`. */
  readonly zoom: (factor: number, x: number) => void;
  /** Undefined: the pointer has left. */
  readonly hover: (x: number | undefined, y: number) => void;
  readonly click: (x: number, y: number) => void;
}

interface Point {
  x: number;
  y: number;
}

const CLICK_PIXELS = 4;
const PER_WHEEL_PIXEL = 1.0025;

export interface PointerHandlers {
  readonly onPointerDown: (event: PointerEvent) => void;
  readonly onPointerMove: (event: PointerEvent) => void;
  readonly onPointerUp: (event: PointerEvent) => void;
  readonly onPointerCancel: (event: PointerEvent) => void;
  readonly onPointerLeave: (event: PointerEvent) => void;
}

/**
 * One pointer pans, two zoom. The wheel zooms with Ctrl, as a pinch on a touchpad does, and without it while the
 * timeline has the focus; otherwise it scrolls the page.
 */
export function usePointer(
  element: { readonly current: HTMLElement | null },
  isHidden: boolean,
  given: Movements,
): PointerHandlers {
  const movements = useRef(given);
  movements.current = given;
  const pointers = useRef(new Map<number, Point>());
  const moved = useRef(0);

  useEffect(() => {
    const target = element.current;
    if (target === null) return undefined;
    const onWheel = (event: WheelEvent) => {
      const { ctrlKey, metaKey, deltaX, deltaY } = event;
      const isZoom = ctrlKey || metaKey || document.activeElement === target;
      if (!isZoom && Math.abs(deltaX) <= Math.abs(deltaY)) return;
      event.preventDefault();
      if (Math.abs(deltaX) > Math.abs(deltaY)) movements.current.pan(-deltaX, 0);
      else {
        const strength = ctrlKey && Math.abs(deltaY) < 40 ? 4 : 1;
        const factor = PER_WHEEL_PIXEL ** (Math.max(-400, Math.min(400, deltaY)) * strength);
        movements.current.zoom(factor, event.offsetX);
      }
    };
    target.addEventListener("wheel", onWheel, { passive: false });
    return () => target.removeEventListener("wheel", onWheel);
  }, [isHidden]);

  const end = (event: PointerEvent) => {
    pointers.current.delete(event.pointerId);
  };
  return {
    onPointerDown: (event) => {
      if (event.button !== 0) return;
      element.current?.setPointerCapture(event.pointerId);
      if (pointers.current.size === 0) moved.current = 0;
      pointers.current.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    },
    onPointerMove: (event) => {
      const { offsetX: x, offsetY: y, pointerId } = event;
      const before = pointers.current.get(pointerId);
      if (before === undefined) {
        if (event.pointerType !== "touch") movements.current.hover(x, y);
        return;
      }
      const others = [...pointers.current].filter(([id]) => id !== pointerId);
      const [other] = others;
      moved.current += Math.abs(x - before.x) + Math.abs(y - before.y);
      pointers.current.set(pointerId, { x, y });
      if (moved.current <= CLICK_PIXELS) return;
      movements.current.hover(undefined, 0);
      if (other === undefined) movements.current.pan(x - before.x, y - before.y);
      else {
        const still = other[1].x;
        const [from, to] = [Math.abs(before.x - still), Math.abs(x - still)];
        if (from > 8 && to > 8) movements.current.zoom(from / to, (x + still) / 2);
      }
    },
    onPointerUp: (event) => {
      const isClick = pointers.current.has(event.pointerId) && moved.current <= CLICK_PIXELS;
      end(event);
      if (isClick) movements.current.click(event.offsetX, event.offsetY);
    },
    onPointerCancel: end,
    onPointerLeave: (event) => {
      if (!pointers.current.has(event.pointerId)) movements.current.hover(undefined, 0);
    },
  };
}
