/** The four job tools: how a model reports to the runner. */
import type { Tool, ToolResultObject } from "@github/copilot-sdk";
import { availableTools } from "../entry/model.ts";
import type { JobTool } from "../entry/model.ts";
import { isRecord } from "../document/guards.ts";

const descriptions: Readonly<Record<JobTool, readonly [tool: string, argument: string]>> = {
  job_prepare_document: [
    "Names a document that you were asked to prepare. One line is kept, its path or title, for this run of this task: the checks and retries of the task are told it. The content is not kept. If you call it several times, the last call counts.",
    "The path or the title of the document, in one line; further lines are dropped.",
  ],
  job_boolean_true: [
    "Reports that the condition you were asked to check HOLDS. Call it exactly once you are sure; if you call both boolean tools, the last call counts.",
    "Why the condition holds.",
  ],
  job_boolean_false: [
    "Reports that the condition you were asked to check does NOT hold. Call it exactly once you are sure; if you call both boolean tools, the last call counts.",
    "Why the condition does not hold.",
  ],
  job_prerequisite_failed: [
    "Reports that the task can't be done at all because something it needs is missing or wrong. It counts in the check whether the task can begin: the task then ends as failed. In any other turn it changes nothing.",
    "What is missing or wrong.",
  ],
};

const parameters = (argument: string): Record<string, unknown> => ({
  type: "object",
  properties: { argument: { type: "string", description: argument } },
  required: ["argument"],
  additionalProperties: false,
});

/** `names`: those to offer. */
export function jobTools(names: readonly JobTool[] = availableTools): Tool[] {
  return names.map((name) => {
    const [description, argument] = descriptions[name];
    return {
      name,
      description,
      parameters: parameters(argument),
      skipPermission: true,
      defer: "never",
      handler: (given: unknown): ToolResultObject => answer(name, given),
    };
  });
}

/** The runtime checks no arguments, and hides a thrown text from the model: an error is a result. */
function answer(name: JobTool, given: unknown): ToolResultObject {
  const argument = isRecord(given) ? given["argument"] : undefined;
  if (typeof argument !== "string") {
    const next =
      name === "job_prepare_document"
        ? "Call it again."
        : "A call that fails leaves the check of this turn without a verdict.";
    return {
      resultType: "failure",
      textResultForLlm: `${name} takes one parameter named "argument", and it must be a string. ${next}`,
    };
  }
  const note =
    name === "job_prerequisite_failed"
      ? " It counts if this turn checks whether a task can begin. In any other turn it changes nothing: say in your answer what is missing, and in a check that the condition does not hold."
      : "";
  return { resultType: "success", textResultForLlm: `Reported.${note}` };
}
