/** The values that an activity sees, in the order in which names are looked up. */
import { calculates, readCommand, type Insert } from "../command-text.ts";
import type { Workflow, WorkflowFile } from "../model.ts";
import type { Frame, WorkflowState } from "./state.ts";
import { isQuoted, substitute, unquote } from "../value.ts";

/** Text that an author wrote may contain `{{NAME}}`; values are inserted as they are. */
export type Found =
  | { readonly kind: "authored" | "value"; readonly text: string }
  | { readonly kind: "missing" }
  /** A file that has not been read for this activity. */
  | { readonly kind: "unread"; readonly path: string };

export type Resolved =
  | { readonly kind: "text"; readonly text: string; readonly missing: readonly string[] }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "unread"; readonly path: string };

export class Lookup {
  readonly #state: WorkflowState;
  readonly #frame: Frame;
  readonly #file: WorkflowFile;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #files: Readonly<Record<string, string>>;

  constructor(
    state: WorkflowState,
    frame: Frame,
    file: WorkflowFile,
    environment: Readonly<Record<string, string>>,
    files: Readonly<Record<string, string>>,
  ) {
    this.#state = state;
    this.#frame = frame;
    this.#file = file;
    this.#environment = environment;
    this.#files = files;
  }

  /** The value of a name: what the run knows, variables, prompts, then the environment that was allowed. */
  named(name: string): Found {
    if (name === "STATUS") return value(this.#state.status);
    if (name === "RESULT" || name === "CONTENT") return value(this.#state.result);
    const { variables } = this.#frame;
    if (Object.hasOwn(variables, name)) return value(variables[name] ?? "");
    const { prompts } = this.#file;
    if (Object.hasOwn(prompts, name)) {
      return { kind: "authored", text: prompts[name]?.text ?? "" };
    }
    if (Object.hasOwn(this.#environment, name)) return value(this.#environment[name] ?? "");
    return { kind: "missing" };
  }

  /** The value of a constant, a file or a name. */
  find(written: string): Found {
    if (isQuoted(written)) return { kind: "authored", text: unquote(written) };
    if (!written.startsWith("file:")) return this.named(written);
    const filled = this.fill(written.slice("file:".length));
    if (filled.kind !== "text") return { kind: "missing" };
    const path = filled.text;
    if (!Object.hasOwn(this.#files, path)) return { kind: "unread", path };
    return { kind: "authored", text: this.#files[path] ?? "" };
  }

  /** The same, with the values of all `{{NAME}}` that the author wrote. Without a value, it is `otherwise`. */
  resolve(written: string, otherwise?: string): Resolved {
    const found = this.find(written);
    switch (found.kind) {
      case "unread":
        return found;
      case "value":
        return { kind: "text", text: found.text, missing: [] };
      case "authored":
        return this.fill(found.text);
      case "missing":
        if (otherwise !== undefined) return this.fill(otherwise);
        return { kind: "failed", reason: `${JSON.stringify(written)} has no value.` };
    }
  }

  /** A command of the author, which may get any value. */
  command(text: string, workflow: Workflow): Exclude<Resolved, { kind: "unread" }> {
    const reading = readCommand(text, () => calculates(workflow));
    if (reading.kind === "unclear") return { kind: "failed", reason: reading.reason };
    return this.fill(text, reading.insert);
  }

  /** A text of the author. */
  fill(
    text: string,
    insert: Insert = (inserted) => inserted,
  ): Exclude<Resolved, { kind: "unread" }> {
    let refused: string | undefined;
    const filled = substitute(text, (name, offset) => {
      const found = this.named(name);
      if (found.kind !== "value" && found.kind !== "authored") return undefined;
      const inserted = insert(found.text, offset);
      if (inserted === undefined) refused ??= name;
      return inserted;
    });
    if (refused !== undefined) {
      const reason = `{{${refused}}} must be a whole number here: bash would evaluate any other text as an expression.`;
      return { kind: "failed", reason };
    }
    if (filled === "too-long") return { kind: "failed", reason: "The text is too long." };
    return { kind: "text", ...filled };
  }
}

function value(text: string): Found {
  return { kind: "value", text };
}
