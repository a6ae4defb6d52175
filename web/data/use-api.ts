/** Answers of the API in components. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Answer, ApiError } from "./api.ts";

export type Loaded<T> =
  | { readonly kind: "loading" }
  /** `stale`: why the last attempt to load it again failed. */
  | { readonly kind: "loaded"; readonly value: T; readonly stale: ApiError | undefined }
  | { readonly kind: "failed"; readonly error: ApiError };

/**
 * Asks once, and with `everyMs` again and again while the tab is visible. `reload` asks at once. `load` must not
 * change between renders.
 */
export function useApi<T>(
  load: () => Promise<Answer<T>>,
  everyMs?: number,
): readonly [Loaded<T>, () => void] {
  const [state, setState] = useState<Loaded<T>>({ kind: "loading" });
  const stopped = useRef(false);
  const reload = useCallback(async () => {
    const answer = await load();
    if (stopped.current) return;
    setState((before) => {
      if (answer.ok) return { kind: "loaded", value: answer.value, stale: undefined };
      if (before.kind === "loaded") return { ...before, stale: answer };
      return { kind: "failed", error: answer };
    });
  }, [load]);
  useEffect(() => {
    stopped.current = false;
    let timer: number | undefined;
    let first = true;
    const turn = async () => {
      if (first || !document.hidden) await reload();
      first = false;
      if (everyMs !== undefined && !stopped.current) timer = setTimeout(() => void turn(), everyMs);
    };
    const onVisible = () => {
      if (!document.hidden && everyMs !== undefined) void reload();
    };
    void turn();
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      stopped.current = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [reload, everyMs]);
  return [state, () => void reload()];
}
