import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** A heading that opens and closes what is below it, which is only rendered while it is open. */
export function Collapsible({
  summary,
  children,
  open: initially = false,
  class: name = "",
}: {
  summary: ComponentChildren;
  children: ComponentChildren;
  open?: boolean;
  class?: string;
}) {
  const [open, setOpen] = useState(initially);
  return (
    <div class={`collapsible ${name}`} data-open={open}>
      <button
        type="button"
        class="collapsible-summary row"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Icon name="chevron" size={14} />
        <span class="row grow">{summary}</span>
      </button>
      {open ? <div class="collapsible-content">{children}</div> : null}
    </div>
  );
}
