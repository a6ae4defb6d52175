import { isRecord } from "../text/guards.ts";
import { expandPromptDynamic, variablesIn } from "../entry/prompt.ts";
import type { Entry, ExpandedPrompt } from "../entry/model.ts";
import { firstLine } from "../text/truncate.ts";
import type { ToolCall } from "./ports.ts";

export interface Known {
  readonly userInput: string;
  readonly taskModel: string;
  readonly previousResult?: string | undefined;
  readonly ofJob?: ((name: string) => string | undefined) | undefined;
}

export class Variables {
  readonly given: readonly string[];
  readonly #entry: Entry;
  readonly #ofJob: NonNullable<Known["ofJob"]>;
  readonly #values = new Map<string, string>();
  readonly #onMissing: (name: string) => void;
  readonly #missing = new Set<string>();

  constructor(entry: Entry, known: Known, onMissing: (name: string) => void = () => {}) {
    const { userInput, taskModel, previousResult = "", ofJob = () => undefined } = known;
    this.#entry = entry;
    this.#ofJob = ofJob;
    this.#onMissing = onMissing;
    this.given = [userInput, previousResult];
    this.#values.set("user-input", userInput);
    this.#values.set("task-model", taskModel);
    if (previousResult.trim() !== "") this.#values.set("previous-result", previousResult);
  }

  report(toolCalls: readonly ToolCall[]): void {
    for (const call of toolCalls) {
      const argument = argumentOf(call);
      if (!call.succeeded || argument === undefined) continue;
      switch (call.name) {
        case "job_prepare_document":
          this.#values.set("reported-document", firstLine(argument));
          break;
        case "job_boolean_true":
          this.#values.set("reported-true-reason", argument);
          this.#values.delete("reported-false-reason");
          break;
        case "job_boolean_false":
          this.#values.set("reported-false-reason", argument);
          this.#values.delete("reported-true-reason");
          break;
        default:
          break;
      }
    }
  }

  /** Sets `$unmet-criteria`, for a model's verdict to its reason alone. */
  missCriteria(reason: string): void {
    this.#values.set("unmet-criteria", reason.replace(/^job_boolean_false was called: /, ""));
  }

  expand(prompt: ExpandedPrompt): string {
    const values = new Map<string, string>();
    for (const name of variablesIn(prompt)) {
      const value = this.#values.get(name) ?? this.#ofJob(name);
      if (value !== undefined) values.set(name, value);
      else if (!this.#missing.has(name)) {
        this.#missing.add(name);
        this.#onMissing(name);
      }
    }
    return expandPromptDynamic(this.#entry, prompt, Object.fromEntries(values))[0];
  }
}

export function argumentOf({ arguments: given }: ToolCall): string | undefined {
  const argument = isRecord(given) ? given["argument"] : undefined;
  return typeof argument === "string" ? argument : undefined;
}
