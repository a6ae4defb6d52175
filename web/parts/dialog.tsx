import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** A modal dialog, open while it is rendered. The browser keeps the focus inside, and returns it at the end. */
export function Dialog({
  title,
  children,
  onClose,
}: {
  title: string;
  children: ComponentChildren;
  onClose: () => void;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class="dialog"
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <div>
        <header class="row between dialog-header">
          <h2 id={heading}>{title}</h2>
          <button type="button" class="button button-icon" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

/** Asks before something that can't be undone. */
export function Confirm({
  title,
  children,
  action,
  dismiss = "Cancel",
  busy = false,
  onConfirm,
  onClose,
}: {
  title: string;
  children: ComponentChildren;
  action: string;
  /** The other button; not "Cancel" where the action cancels something. */
  dismiss?: string;
  busy?: boolean;
  onConfirm: () => void;
  onClose: () => void;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack dialog-part">{children}</div>
      <footer class="row dialog-footer">
        <button type="button" class="button" onClick={onClose}>
          {dismiss}
        </button>
        <button type="button" class="button button-danger" disabled={busy} onClick={onConfirm}>
          {action}
        </button>
      </footer>
    </Dialog>
  );
}
