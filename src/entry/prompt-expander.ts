/**
 * Static expansion that collects its faults.
 *
 * Each variable is expanded once and remembered, so that large entries stay fast; chains of
 * variables are walked with a stack of our own, so that their length doesn't matter; sizes are
 * bounded before text is built, so that doubling variables can't fill the memory. A fault inside a
 * variable is reported at its first use only.
 *
 * The result means, to `expandPromptDynamic`, exactly what the parts meant: where joining two parts
 * would make a variable or a `$$` that neither of them wrote, the `$` is doubled.
 */
import type { Prompt } from "./model.ts";
import { runtimeVariable } from "./runtime-variables.ts";

/** `$$`, or a variable with its name (words joined by hyphens) as the first group. */
export const variablePattern = /\$\$|\$([A-Za-z][A-Za-z0-9]*(?:-[A-Za-z][A-Za-z0-9]*)*)/g;

export const promptLimits = {
  /** Characters of one expanded prompt. */
  prompt: 10_000_000,
  /** Characters of all expanded prompts of an entry. */
  entry: 100_000_000,
} as const;

export interface PromptFault {
  /** Names of the variables that lead to the fault, outermost first, without `$`. */
  readonly trail: readonly string[];
  readonly reason: string;
  /** The name, without `$`, of a variable that does not exist. */
  readonly missing?: string;
}

export interface Expansion {
  readonly text: string;
  readonly faults: readonly PromptFault[];
  /** False if a part is missing because of a fault, reported here or before. */
  readonly complete: boolean;
  /** Whether the text uses `$user-input`. */
  readonly usesUserInput: boolean;
}

/** How a piece of text ends, as far as it matters to the piece that follows it. */
type Tail = "plain" | "dollar" | "runtime" | "runtime-hyphen";

interface Piece {
  readonly text: string;
  readonly tail: Tail;
  readonly complete: boolean;
  readonly usesUserInput: boolean;
}

interface Frame {
  /** Undefined for the prompt itself. */
  readonly name: string | undefined;
  readonly source: string;
  /** How much of the source has been read. */
  at: number;
  text: string;
  tail: Tail;
  complete: boolean;
  usesUserInput: boolean;
}

const nothing: Piece = { text: "", tail: "plain", complete: false, usesUserInput: false };

export class PromptExpander {
  readonly #lookUp: (name: string) => Prompt | null | undefined;
  readonly #known = new Map<string, Piece>();
  #stack: Frame[] = [];
  /** The names on the stack. */
  readonly #open = new Set<string>();
  #faults: PromptFault[] = [];
  readonly #said = new Set<string>();
  #total = 0;

  /** Null: the fault of this variable has already been reported. */
  constructor(lookUp: (name: string) => Prompt | null | undefined) {
    this.#lookUp = lookUp;
  }

  expand(prompt: Prompt, requiresBooleanTool = false): Expansion {
    this.#faults = [];
    this.#said.clear();
    this.#stack = [frame(undefined, promptText(prompt))];
    const piece = this.#run();
    const { text, complete, usesUserInput } = piece;
    if (complete && text.trim() === "") this.#fault("The prompt is empty.");
    if (complete && requiresBooleanTool && !/job_boolean_(?:true|false)/.test(text)) {
      this.#fault("The prompt must mention job_boolean_true or job_boolean_false.");
    }
    return { text: complete ? text : "", faults: this.#faults, complete, usesUserInput };
  }

  #run(): Piece {
    for (;;) {
      const top = this.#stack.at(-1);
      if (top === undefined) return nothing;
      if (this.#advance(top) === "entered") continue;
      this.#charge(top);
      this.#stack.pop();
      if (top.name === undefined) return top;
      this.#open.delete(top.name);
      this.#known.set(top.name, top);
      const parent = this.#stack.at(-1);
      if (parent !== undefined) this.#append(parent, top);
    }
  }

  #charge(top: Frame): void {
    this.#total += top.text.length;
    if (this.#total <= promptLimits.entry) return;
    this.#total -= top.text.length;
    this.#drop(
      top,
      `All expanded prompts together have more than ${promptLimits.entry} characters.`,
    );
  }

  /** Gives up a text for its size. */
  #drop(top: Frame, reason: string): void {
    if (top.complete) this.#fault(reason);
    top.complete = false;
    top.text = "";
    top.tail = "plain";
  }

  /** Continues in the frame, to its end or to a variable that has to be expanded first. */
  #advance(top: Frame): "entered" | "done" {
    for (;;) {
      variablePattern.lastIndex = top.at;
      const match = variablePattern.exec(top.source);
      const literal = top.source.slice(top.at, match?.index);
      this.#append(top, plain(literal));
      if (match === null) return "done";
      top.at = match.index + match[0].length;
      const name = match[1];
      if (name === undefined) this.#append(top, plain("$$", "plain"));
      else if (this.#variable(top, name) === "entered") return "entered";
    }
  }

  #variable(top: Frame, name: string): "entered" | "done" {
    const known = this.#known.get(name);
    if (known !== undefined) {
      this.#append(top, known);
      return "done";
    }
    const prompt = this.#lookUp(name);
    if (prompt === undefined) {
      if (runtimeVariable(name) !== undefined) {
        const usesUserInput = name === "user-input";
        this.#append(top, { text: `$${name}`, tail: "runtime", complete: true, usesUserInput });
      } else {
        this.#fault(`Cannot find prompt variable: $${name}.`, name);
        top.complete = false;
      }
      return "done";
    }
    if (prompt === null) {
      top.complete = false;
      return "done";
    }
    if (this.#open.has(name)) {
      this.#fault(`Prompt variable $${name} contains itself: ${this.#cycle(name)}.`);
      top.complete = false;
      return "done";
    }
    const entered = frame(name, promptText(prompt));
    this.#stack.push(entered);
    this.#open.add(name);
    if (prompt.length === 0 && typeof prompt !== "string") {
      this.#fault("The prompt is empty.");
      entered.complete = false;
    }
    return "entered";
  }

  #append(to: Frame, piece: Piece): void {
    if (!piece.complete) to.complete = false;
    if (piece.usesUserInput) to.usesUserInput = true;
    const { text } = piece;
    if (text === "") return;
    if (to.tail === "dollar" && /^[$A-Za-z]/.test(text)) to.text += "$";
    if (runsOn(to.tail, text)) {
      const runtime = /\$\w+(?:-\w+)*(?=-?$)/.exec(to.text.slice(-40))?.[0] ?? "a runtime variable";
      this.#fault(`The text inserted after ${runtime} would become part of its name.`);
      to.complete = false;
    }
    if (to.text.length + text.length > promptLimits.prompt) {
      return this.#drop(to, `The prompt expands to more than ${promptLimits.prompt} characters.`);
    }
    to.text += text;
    to.tail = to.tail === "runtime" && text === "-" ? "runtime-hyphen" : piece.tail;
  }

  #fault(reason: string, missing?: string): void {
    const said = JSON.stringify([this.#stack.at(-1)?.name, reason]);
    if (this.#said.has(said)) return;
    this.#said.add(said);
    const trail = this.#stack.flatMap(({ name }) => (name === undefined ? [] : [name]));
    this.#faults.push(missing === undefined ? { trail, reason } : { trail, reason, missing });
  }

  /** `$a → $b → $a`, shortened in the middle where it is very long. */
  #cycle(name: string): string {
    const start = this.#stack.findIndex((frame) => frame.name === name);
    const names = this.#stack.slice(start).map((frame) => `$${frame.name ?? ""}`);
    if (names.length > 20) names.splice(10, names.length - 20, "…");
    return [...names, `$${name}`].join(" → ");
  }
}

/** The names, without `$`, of the variables that a prompt uses. */
export function variablesIn(prompt: Prompt): string[] {
  const text = promptText(prompt);
  if (!text.includes("$")) return [];
  return [...text.matchAll(variablePattern)].flatMap(([, name]) => name ?? []);
}

export function promptText(prompt: Prompt): string {
  return typeof prompt === "string" ? prompt : prompt.join("\n");
}

function frame(name: string | undefined, source: string): Frame {
  return { name, source, at: 0, text: "", tail: "plain", complete: true, usesUserInput: false };
}

function plain(text: string, tail: Tail = text.endsWith("$") ? "dollar" : "plain"): Piece {
  return { text, tail, complete: true, usesUserInput: false };
}

/** Whether text after a runtime variable would be read as a part of its name. */
function runsOn(tail: Tail, text: string): boolean {
  if (tail === "runtime") return /^(?:[A-Za-z0-9]|-[A-Za-z])/.test(text);
  return tail === "runtime-hyphen" && /^[A-Za-z]/.test(text);
}
