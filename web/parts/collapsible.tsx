import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "./icon.tsx";

/**
 * A heading that opens and closes what is below it, which is only rendered while it is open. It keeps its own state,
 * or with `onToggle` shows `open` as its owner sets it.
 */
export function Collapsible({
  summary,
  children,
  open: given = false,
  onToggle,
  class: name = "",
}: {
  summary: ComponentChildren;
  children: ComponentChildren;
  open?: boolean;
  onToggle?: (open: boolean) => void;
  class?: string;
}) {
  const [own, setOwn] = useState(given);
  const open = onToggle === undefined ? own : given;
  const toggle = () => {
    if (onToggle === undefined) setOwn(!open);
    else onToggle(!open);
  };
  return (
    <div class={`collapsible ${name}`} data-open={open}>
      <button type="button" class="collapsible-summary" aria-expanded={open} onClick={toggle}>
        <Icon name="chevron" size={14} />
        <span class="row grow">{summary}</span>
      </button>
      {open ? <div class="collapsible-content">{children}</div> : null}
    </div>
  );
}
