/** Tools that are commands: JSON on stdin, the result on stdout. */
import { inContainer } from "./container.ts";
import type { Place } from "./preparation.ts";
import { failedExit, type Programs } from "./programs.ts";
import { resultOf } from "./tool-output.ts";
import type { CallContext, ToolCall, ToolOutcome } from "./tool.ts";

export interface CommandCall {
  readonly command: readonly string[];
  /** Where it was written, for texts: `tools.build.command`. */
  readonly field: string;
  readonly place: Place;
}

export async function runCommand(
  programs: Programs,
  { command, field, place }: CommandCall,
  { params }: ToolCall,
  context: CallContext,
): Promise<ToolOutcome> {
  const ended = await programs.run(
    {
      ...(place.kind === "here"
        ? { command, variables: place.variables }
        : inContainer(place, command, programs.options)),
      field,
      input: `${JSON.stringify(params)}\n`,
      result: "stdout",
    },
    context,
  );
  if (ended.kind === "failed") return ended;
  if (ended.code !== 0) return failedExit(command[0] ?? "", ended.code, ended.tail);
  return { kind: "succeeded", value: await resultOf(ended.result, programs.options.redact) };
}
