/** An action that a rehearsal expects: its schema. */
import { endedStatus } from "../../events/action-shapes.ts";
import { whole } from "./schema-parts.ts";

const text = (description: string) => ({ type: "string", minLength: 1, description });
const condition = (description: string) => ({ $ref: "#/$defs/text", description });

export const action = {
  type: "object",
  description:
    "An action of the action protocol, when it has ended. All fields that are given must match.",
  minProperties: 1,
  additionalProperties: false,
  properties: {
    id: text("Its id: `action_id`, or `i<document>-<n>` if it has none."),
    action: text(
      "The name of the tool, the internal function, the relic, or the label of a group.",
    ),
    status: { enum: endedStatus.is, description: "How it ended." },
    params: condition("The params as JSON, after references were replaced. Long ones are cut."),
    output: condition("The result of an action that succeeded. A long one is cut."),
    reason: condition("Why it did not succeed."),
    document: whole(1, "The number of its document, of those that were accepted."),
    task: text("Its task."),
    workId: whole(0, "The work of its task."),
    iteration: whole(1, "The iteration of that work, in a loop."),
  },
};
