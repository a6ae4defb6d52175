/** Tools that are commands: JSON on stdin, the result on stdout. */
import { failedExit, type Program, type Programs } from "./programs.ts";
import { resultOf } from "./tool-output.ts";
import type { CallContext, ToolCall, ToolOutcome } from "./tool.ts";

export async function runCommand(
  programs: Programs,
  { command, field, ...rest }: Omit<Program, "input" | "result">,
  { params }: ToolCall,
  context: CallContext,
): Promise<ToolOutcome> {
  const input = `${JSON.stringify(params)}\n`;
  const ended = await programs.run({ ...rest, command, field, input, result: "stdout" }, context);
  if (ended.kind === "failed") return ended;
  if (ended.code !== 0) return failedExit(command[0] ?? "", ended.code, ended.tail);
  return { kind: "succeeded", value: resultOf(ended.result) };
}
