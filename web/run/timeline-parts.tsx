/** What is around the canvas of the timeline, and over it. */
import { iterationOfPlace, titleOf } from "../model/places.ts";
import { placeOfItem, type Item } from "../model/timeline.ts";
import { Icon } from "../parts/icon.tsx";
import { useRunContext } from "./context.ts";
import { itemDetail, itemTitle } from "./item-text.ts";

export function ToolButton({
  name,
  label,
  onClick,
}: {
  name: "plus" | "minus" | "fit";
  label: string;
  onClick: () => void;
}) {
  return (
    <button
      type="button"
      class="button button-icon button-small"
      aria-label={label}
      title={label}
      onClick={onClick}
    >
      <Icon name={name} size={14} />
    </button>
  );
}

export function Key({ withSteps, withActions }: { withSteps: boolean; withActions: boolean }) {
  return (
    <ul class="legend" aria-label="What the colors mean">
      <li>
        <span class="key key-work" aria-hidden="true" /> work
      </li>
      {withSteps ? (
        <li>
          <span class="key key-step" aria-hidden="true" /> step
        </li>
      ) : null}
      {withActions ? (
        <li>
          <span class="key key-action" aria-hidden="true" /> action
        </li>
      ) : null}
      <li>
        <span class="key key-model" aria-hidden="true" /> model call
      </li>
      <li>
        <span class="key key-tool" aria-hidden="true" /> tool call
      </li>
      <li>
        <span class="key key-wait" aria-hidden="true" /> wait
      </li>
      <li>
        <span class="key key-crash" aria-hidden="true" /> crash
      </li>
      <li>
        <span class="key key-retry" aria-hidden="true" /> retry
      </li>
      <li>
        <span class="key key-denial" aria-hidden="true" /> denial
      </li>
    </ul>
  );
}

export function Tip({
  item,
  x,
  y,
  width,
  now,
}: {
  item: Item;
  x: number;
  y: number;
  width: number;
  now: number;
}) {
  const { live } = useRunContext();
  const place = placeOfItem(item);
  const iteration = place === undefined ? undefined : iterationOfPlace(place);
  const side = x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` };
  return (
    <div class="timeline-tip" style={{ ...side, top: `${y + 14}px` }} aria-hidden="true">
      <strong>{itemTitle(item)}</strong>
      <span>{itemDetail(item, now, live)}</span>
      {iteration === undefined || place === iteration ? null : (
        <span class="muted">{titleOf(iteration)}</span>
      )}
    </div>
  );
}
