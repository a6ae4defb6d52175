/** The inputs and outputs of a step of a workflow, as titled texts. */
import type { EffectResult, StepInput } from "../events/flow.ts";
import type { StepEnded } from "../events/event.ts";

export interface StepContents extends Pick<StepEnded, "effects" | "result" | "variables"> {
  readonly input?: StepInput | undefined;
  /** The output of its scripts so far. */
  readonly printed?: string;
}

/** The RESULT of an EXECUTE repeats its scripts and their output: it is left out, unless `all` is set. */
export function stepParts(step: StepContents, all = false): readonly StepPart[] {
  const { input, effects = [], result, printed = "", variables = {} } = step;
  const parts = input === undefined ? [] : [...inputParts(input)];
  if (printed !== "") parts.push({ title: "Output so far", text: printed });
  parts.push(...effects.flatMap(effectParts));
  const isShown =
    (!all && effects.some(({ kind }) => kind === "executed")) ||
    parts.at(-1)?.text.trim() === result?.trim();
  if (result !== undefined && !isShown) parts.push({ title: "RESULT", text: result });
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  if (lines.length > 0) parts.push({ title: "Variables", text: lines.join("\n") });
  return parts;
}

/** Says in one line what a step does, with the exit code of a script. Empty if nothing is done outside of the workflow. */
export function stepSubject({ input, effects = [] }: StepContents): string {
  if (input === undefined) return "";
  const asked = inputParts(input).map(({ text }) => text.trim());
  const codes = effects.flatMap((effect) =>
    effect.kind === "executed" ? effect.runs.map(({ exitCode }) => exitCode) : [],
  );
  const exit = codes.length === 0 ? "" : `, exit code ${codes.find((code) => code !== 0) ?? 0}`;
  return `${asked.join("; ")}${exit}`;
}

export interface StepPart {
  readonly title: string;
  readonly text: string;
  /** The tag of a code fence. Absent: plain text. */
  readonly language?: string;
}

function inputParts(asked: StepInput): readonly StepPart[] {
  switch (asked.kind) {
    case "prompt":
      return [{ title: "Prompt", text: asked.text }];
    case "ask":
      return [{ title: "Question", text: asked.question }];
    case "execute":
      return asked.scripts.map(({ tag, code }, index) => ({
        title: `Script${numberOf(index, asked.scripts)}`,
        text: code,
        language: tag,
      }));
  }
}

function effectParts(result: EffectResult): readonly StepPart[] {
  switch (result.kind) {
    case "answered":
      return [{ title: "Answer", text: result.text }];
    case "read":
      return [{ title: "File", text: result.text }];
    case "executed":
      return result.runs.map(({ output, exitCode, timedOut }, index) => {
        const late = timedOut === true ? ", ended for its time" : "";
        const title = `Output${numberOf(index, result.runs)}, exit code ${exitCode}${late}`;
        return { title, text: output };
      });
    case "passed":
    case "failed":
    case "stopped":
      return [];
  }
}

function numberOf(index: number, all: readonly unknown[]): string {
  return all.length > 1 ? ` ${index + 1}` : "";
}
