/** With which a model gives a verdict or names a document. Each takes one text. */
import { isRecord } from "../text/guards.ts";
import type { JobTool } from "../entry/model.ts";
import { firstLine, visible } from "../text/truncate.ts";
import type { SessionTool, ToolAnswer } from "./ports.ts";

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
    "Reports that the task can't be done at all because something it needs is missing or wrong. The task then ends as failed, and is not retried. In a check after the task it changes nothing.",
    "What is missing or wrong.",
  ],
};

const DECIDED = "Reported. Nothing else is needed for the verdict.";

export function verdictTools(names: readonly JobTool[]): readonly SessionTool[] {
  return names.map((name) => {
    const [description, argument] = descriptions[name];
    return {
      name,
      description,
      parameters: {
        type: "object",
        properties: { argument: { type: "string", description: argument } },
        required: ["argument"],
        additionalProperties: false,
      },
      allowed: "always",
      run: (given) => answer(name, given),
    };
  });
}

/** The runtime checks no arguments, and hides a thrown text from the model: an error is a result. */
function answer(name: JobTool, given: unknown): ToolAnswer {
  const argument = isRecord(given) ? given["argument"] : undefined;
  const isDocument = name === "job_prepare_document";
  if (typeof argument === "string" && (!isDocument || visible.test(firstLine(argument))))
    return { succeeded: true, text: name.startsWith("job_boolean") ? DECIDED : "Reported." };
  const next = isDocument
    ? "Call it again, with the path or the title in the first line."
    : "A call that fails leaves the check of this turn without a verdict.";
  const text = `${name} takes one parameter named "argument", and it must be a string. ${next}`;
  return { succeeded: false, text };
}
