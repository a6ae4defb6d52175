import { createContext, type ComponentChildren } from "preact";
import { useContext, useEffect, useRef } from "preact/hooks";
import { Icon, Spinner, type IconName } from "./icon.tsx";

/** In place of a list that has nothing in it: what would be here, and how it gets here. */
export function EmptyState({
  icon = "list",
  title,
  children,
}: {
  icon?: IconName;
  title: string;
  children?: ComponentChildren;
}) {
  return (
    <div class="empty stack">
      <span class="muted">
        <Icon name={icon} size={20} />
      </span>
      <p class="strong">{title}</p>
      {children === undefined ? null : <div class="muted">{children}</div>}
    </div>
  );
}

/** Something went wrong. It is read out when it appears. */
export function ErrorNote({
  title,
  children,
}: {
  title?: string | undefined;
  children: ComponentChildren;
}) {
  return (
    <div class="note row" data-tone="fail" role="alert">
      <Icon name="cross" />
      <div>
        {title === undefined ? null : <strong>{title} </strong>}
        {children}
      </div>
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p class="loading row muted">
      <Spinner /> Loading {what}…
    </p>
  );
}

/** Whether the reader has moved from the page that was loaded first; set by the frame. */
export const Navigated = createContext<{ readonly current: boolean }>({ current: false });

/** The `h1` of a page, and the title of the window. It gets the focus when the page is entered. */
export function PageHeading({
  children,
  actions,
  eyebrow,
}: {
  children: ComponentChildren;
  actions?: ComponentChildren;
  /** The kind of thing that this is, above the heading. */
  eyebrow?: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  const navigated = useContext(Navigated);
  useEffect(() => {
    document.title = `${heading.current?.firstChild?.textContent ?? ""} · agent-jobs`;
  });
  useEffect(() => {
    // It replaces a heading that had the focus, for instance one without the name of what was loading.
    if (navigated.current && document.activeElement === document.body)
      heading.current?.focus({ preventScroll: true });
  }, [navigated]);
  return (
    <header class="page-heading row wrap between">
      <div>
        {eyebrow === undefined ? null : <p class="eyebrow muted small">{eyebrow}</p>}
        <h1 ref={heading} class="row wrap" tabIndex={-1}>
          {children}
        </h1>
      </div>
      {actions === undefined ? null : <div class="row wrap">{actions}</div>}
    </header>
  );
}
