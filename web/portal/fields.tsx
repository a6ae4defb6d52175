/** The fields that more than one form of the portal has. */
import type { ParameterFacts } from "../data/api-types.ts";
import { Field } from "../parts/field.tsx";

interface TextFieldProps {
  readonly hint?: string;
  readonly error?: string | undefined;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

export function DirectoryField({ hint, error, value, onValue }: TextFieldProps) {
  const place = "An absolute path on the server.";
  return (
    <Field
      label="Working directory"
      hint={hint === undefined ? place : `${place} ${hint}`}
      error={error}
    >
      {(props) => (
        <input
          {...props}
          class="input mono"
          type="text"
          required
          spellcheck={false}
          autocomplete="off"
          value={value}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** A parameter of a workflow. */
export function ParameterField({
  name,
  description,
  options,
  required,
  error,
  value,
  onValue,
}: TextFieldProps & ParameterFacts & { readonly required: boolean }) {
  const hints = [description, required ? "Required." : undefined];
  const hint = hints.filter((one) => one !== undefined).join(" ");
  return (
    <Field label={name} hint={hint === "" ? undefined : hint} error={error}>
      {(props) =>
        options !== undefined ? (
          <select
            {...props}
            class="input"
            required={required}
            value={value}
            onChange={({ currentTarget }) => onValue(currentTarget.value)}
          >
            {options.includes(value) ? null : <option value="">–</option>}
            {options.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        ) : (
          <textarea
            {...props}
            class="input mono input-short"
            rows={value.includes("\n") ? 4 : 1}
            required={required}
            spellcheck={false}
            value={value}
            onInput={({ currentTarget }) => onValue(currentTarget.value)}
          />
        )
      }
    </Field>
  );
}

/** The user input of a job or a task. */
export function UserInputField({
  hint,
  error,
  value,
  onValue,
  required = true,
}: TextFieldProps & { readonly required?: boolean }) {
  return (
    <Field label="Input" hint={hint} error={error}>
      {(props) => (
        <textarea
          {...props}
          class="input"
          required={required}
          value={value}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      )}
    </Field>
  );
}
