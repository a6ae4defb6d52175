/** The current route: the one state that belongs to the window and not to a component. */
import { signal, type ReadonlySignal } from "@preact/signals";
import { parseRoute, type Route } from "./routes.ts";

const current = signal<Route>(parseRoute(location.hash));
addEventListener("hashchange", () => {
  current.value = parseRoute(location.hash);
});

export const route: ReadonlySignal<Route> = current;

/** `replace`: without an entry of its own in the history, as for what follows from a selection. */
export function navigate(href: string, { replace = false }: { replace?: boolean } = {}): void {
  if (replace) {
    history.replaceState(null, "", href);
    current.value = parseRoute(location.hash);
  } else location.hash = href;
}
