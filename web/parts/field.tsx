import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** For a form: Ctrl+Enter in any of its fields clicks its submit button. */
export function submitOnCtrlEnter(event: JSX.TargetedKeyboardEvent<HTMLFormElement>): void {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
  event.preventDefault();
  event.currentTarget.querySelector<HTMLElement>("[type=submit]")?.click();
}

/** What a control needs to belong to its label, hint and error. */
export interface FieldProps {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean;
}

/** A control with a label; `error` is shown below it and read out with it. */
export function Field({
  label,
  hint,
  error,
  children,
}: {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  children: (props: FieldProps) => JSX.Element;
}) {
  const id = useId();
  const describedBy = [
    ...(hint === undefined ? [] : [`${id}-hint`]),
    ...(error === undefined ? [] : [`${id}-error`]),
  ];
  return (
    <div class="field lines">
      <label for={id}>{label}</label>
      {children({
        id,
        "aria-describedby": describedBy.length === 0 ? undefined : describedBy.join(" "),
        "aria-invalid": error !== undefined,
      })}
      {error === undefined ? null : (
        <p class="row field-error small" id={`${id}-error`} role="alert">
          <Icon name="cross" />
          {error}
        </p>
      )}
      {hint === undefined ? null : (
        <p class="muted small" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
