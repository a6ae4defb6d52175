/** The inputs and outputs of a step of a workflow, as titled texts. */
import { effectParts, inputParts, type StepInput, type StepPart } from "../events/flow.ts";
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
