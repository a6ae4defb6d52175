import { calculates, readCommand, type Insert } from "../command-text.ts";
import { isResult, type Running } from "../kinds/kind.ts";
import { isQuoted, substitute, unquote } from "../value.ts";
import type { Variables } from "./state.ts";

export type Filled =
  { readonly text: string; readonly missing: readonly string[] } | { readonly reason: string };

/** Text that an author wrote may contain `{{NAME}}`; values are inserted as they are. */
interface Found {
  readonly isAuthored: boolean;
  readonly text: string;
}

/** No text grows beyond it: `A={{A}}{{A}}` would double it each time. */
const longestText = 10_000_000;

export class Lookup {
  readonly #run: Pick<Running, "state" | "frame" | "file" | "workflow">;
  readonly #environment: Variables;

  constructor(run: Pick<Running, "state" | "frame" | "file" | "workflow">, environment: Variables) {
    this.#run = run;
    this.#environment = environment;
  }

  /** What the run knows, variables, prompts, then the environment that was allowed. */
  #named(name: string): Found | undefined {
    const { state, frame, file } = this.#run;
    const { variables } = frame;
    const { prompts } = file;
    const value = (text = ""): Found => ({ isAuthored: false, text });
    if (name === "STATUS") return value(state.status);
    if (isResult(name)) return value(state.result);
    if (Object.hasOwn(variables, name)) return value(variables[name]);
    if (Object.hasOwn(prompts, name)) return { isAuthored: true, text: prompts[name]?.text ?? "" };
    return Object.hasOwn(this.#environment, name) ? value(this.#environment[name]) : undefined;
  }

  pathIn(written: string): string | undefined {
    if (!written.startsWith("file:")) return undefined;
    const filled = this.fill(written.slice("file:".length));
    return "text" in filled ? filled.text : undefined;
  }

  /** The value of a constant or a name, with the values of all `{{NAME}}` that the author wrote; else `otherwise`. */
  resolve(written: string, otherwise?: string): Filled {
    if (isQuoted(written)) return this.fill(unquote(written));
    const found = this.#named(written);
    if (found?.isAuthored === false) return { text: found.text, missing: [] };
    const authored = found?.text ?? otherwise;
    return authored === undefined
      ? { reason: `${JSON.stringify(written)} has no value.` }
      : this.fill(authored);
  }

  command(text: string): Filled {
    const reading = readCommand(text, () => calculates(this.#run.workflow));
    return reading.kind === "unclear" ? reading : this.fill(text, reading.insert);
  }

  fill(text: string, insert: Insert = (inserted) => inserted): Filled {
    let refused: string | undefined;
    let room = longestText - text.length;
    const filled = substitute(text, (name, offset) => {
      const found = this.#named(name);
      if (found === undefined) return undefined;
      const inserted = insert(found.text, offset);
      if (inserted === undefined) refused ??= name;
      room -= inserted?.length ?? 0;
      return room < 0 ? "" : inserted;
    });
    if (refused !== undefined) {
      const reason = `{{${refused}}} must be a whole number here: bash would evaluate any other text as an expression.`;
      return { reason };
    }
    return room < 0 ? { reason: "The text is too long." } : filled;
  }
}
