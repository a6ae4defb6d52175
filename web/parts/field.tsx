import type { JSX, RefObject } from "preact";
import { useId } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** A form that Ctrl+Enter in any of its fields submits, too. */
export function Form({
  form,
  onSubmit,
  ...others
}: {
  form?: RefObject<HTMLFormElement>;
  onSubmit: () => Promise<unknown>;
} & Omit<JSX.FormHTMLAttributes, "onSubmit">) {
  return (
    <form
      {...others}
      ref={form ?? null}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
        event.preventDefault();
        event.currentTarget.querySelector<HTMLElement>("[type=submit]")?.click();
      }}
      onSubmit={(event) => {
        event.preventDefault();
        void onSubmit();
      }}
    />
  );
}

export interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  /** Shown below the control, and read out with it. */
  readonly error?: string | undefined;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly required?: boolean;
  /** `code`: an area in the fixed-width font that begins with one line. `path`: a line in that font. */
  readonly kind?: "text" | "code" | "path";
  /** The only values, with their texts. */
  readonly options?: readonly (readonly [value: string, text: string])[] | undefined;
}

/** A control with a label. */
export function Field({ label, hint = "", error, ...control }: FieldProps) {
  const { value, onValue, required = true, kind = "text", options } = control;
  const id = useId();
  const described = [
    ...(hint === "" ? [] : [`${id}-hint`]),
    ...(error === undefined ? [] : [`${id}-error`]),
  ];
  const shared = {
    id,
    "aria-describedby": described.length === 0 ? undefined : described.join(" "),
    "aria-invalid": error !== undefined,
    class: `input ${kind === "text" ? "" : "mono"} ${kind === "code" ? "input-short" : ""}`,
    spellcheck: kind === "text",
    required,
    value,
    onInput: ({ currentTarget }: { currentTarget: { value: string } }) =>
      onValue(currentTarget.value),
  };
  return (
    <div class="field lines">
      <label for={id}>{label}</label>
      {options !== undefined ? (
        <select {...shared}>
          {options.some(([one]) => one === value) ? null : <option value="">–</option>}
          {options.map(([one, text]) => (
            <option key={one} value={one}>
              {text}
            </option>
          ))}
        </select>
      ) : kind === "path" ? (
        <input {...shared} type="text" autocomplete="off" />
      ) : (
        <textarea {...shared} rows={kind === "code" && !value.includes("\n") ? 1 : 4} />
      )}
      {error === undefined ? null : (
        <p class="row field-error small" id={`${id}-error`} role="alert">
          <Icon name="cross" />
          {error}
        </p>
      )}
      {hint === "" ? null : (
        <p class="muted small" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
