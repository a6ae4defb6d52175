/** The results of the items of an `Each` in one step. */
import type { WorkView } from "../../src/events/view.ts";
import { Collapsible } from "../parts/collapsible.tsx";
import { formatCount, formatDuration, plural } from "../parts/format.ts";
import { StatusBadge } from "../parts/status.tsx";
import { useRunContext } from "./context.ts";

export function Items({ view: { items, itemCount } }: { view: WorkView }) {
  const { over } = useRunContext();
  return (
    <Collapsible summary={plural(itemCount, "item")} class="work-part">
      <ul class="item-list stack" aria-label="Items" tabIndex={0}>
        {[...items.values()].map(({ name, status, reason, elapsedMs: took }) => (
          <li key={name} class="row wrap">
            <StatusBadge status={status === "running" && over ? "incomplete" : status} quiet />
            <code>{name}</code>
            {took === undefined ? null : <span class="muted small">{formatDuration(took)}</span>}
            {reason === undefined ? null : <span class="muted small">{reason}</span>}
          </li>
        ))}
        {itemCount > items.size ? (
          <li class="muted">and {formatCount(itemCount - items.size)} more</li>
        ) : null}
      </ul>
    </Collapsible>
  );
}
