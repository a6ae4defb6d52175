/** What went into a step of a workflow and what came out of it, as titled texts. */
import type { EffectResult, ScriptRun, StepEnded, StepInput } from "../events/step.ts";

export interface StepPart {
  readonly title: string;
  readonly text: string;
  readonly language: string;
}

export interface StepContents extends Pick<StepEnded, "variables"> {
  readonly input?: StepInput | undefined;
  readonly effects?: readonly EffectResult[] | undefined;
  readonly result?: string | undefined;
  /** What its scripts have printed so far. */
  readonly printed?: string;
}

/**
 * In the order in which it happened. The RESULT of an EXECUTE repeats its scripts and their output: it is left out,
 * unless `all` is set.
 */
export function stepParts(step: StepContents, all = false): readonly StepPart[] {
  const { input, effects = [], result, printed = "", variables = {} } = step;
  const parts: StepPart[] = [];
  const add = (title: string, text: string, language = "text"): void => {
    parts.push({ title, text, language });
  };
  const runs = effects.flatMap((effect) => (effect.kind === "executed" ? effect.runs : []));
  if (input?.kind === "prompt") add("Prompt", input.text);
  if (input?.kind === "ask") add("Question", input.question);
  const scripts = input?.kind === "execute" ? input.scripts : runs.map(asScript);
  for (const [index, { tag, code }] of scripts.entries()) {
    const run = runs[index];
    add(scripts.length > 1 ? `Script ${index + 1}` : "Script", code, tag);
    if (run !== undefined) add(outputTitle(run), run.output);
  }
  if (printed !== "") add("Output so far", printed);
  for (const effect of effects) {
    if (effect.kind === "answered") add("Answer", effect.text);
    if (effect.kind === "read") add("File", effect.text);
  }
  const isShown = (runs.length > 0 && !all) || parts.at(-1)?.text.trim() === result?.trim();
  if (result !== undefined && !isShown) add("RESULT", result);
  const changed = Object.entries(variables);
  if (changed.length > 0) {
    const lines = changed.map(([name, value]) => `${name}=${value}`);
    add("Variables", lines.join("\n"));
  }
  return parts;
}

function asScript({ code }: ScriptRun): { readonly tag: string; readonly code: string } {
  return { tag: "sh", code };
}

function outputTitle(run: ScriptRun): string {
  return `Output, exit code ${run.exitCode}${run.timedOut === true ? ", ended for its time" : ""}`;
}

/** In one line: what it does, and the exit code of a script. Empty: nothing outside of the workflow. */
export function stepSubject(step: StepContents): string {
  const { input, effects = [] } = step;
  if (input === undefined) return "";
  switch (input.kind) {
    case "prompt":
      return input.text;
    case "ask":
      return input.question;
    case "execute": {
      const codes = effects.flatMap((effect) =>
        effect.kind === "executed" ? effect.runs.map(({ exitCode }) => exitCode) : [],
      );
      const exit = codes.length === 0 ? "" : `, exit code ${codes.find((code) => code !== 0) ?? 0}`;
      return `${input.scripts.map(({ code }) => code.trim()).join("; ")}${exit}`;
    }
  }
}
