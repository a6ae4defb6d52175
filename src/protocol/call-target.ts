/** Calls what is behind a target: a tool, a relic, another task. */
import type { CallContext, ToolOutcome } from "../tools/tool.ts";
import type { Target } from "./catalogue.ts";

export function callTarget(
  target: Target,
  id: string,
  params: Readonly<Record<string, unknown>>,
  context: CallContext,
): Promise<ToolOutcome> {
  switch (target.kind) {
    case "tool":
      return target.tool.run({ id, tool: target.tool.name, params }, context);
    case "relic": {
      const { query } = params;
      return target.relic.read(typeof query === "string" ? query : undefined, context);
    }
    case "delegate": {
      const { task, input } = params;
      if (typeof task === "string" && target.delegation.tasks.includes(task)) {
        return target.delegation.run({ id, task, input: String(input) }, context);
      }
      return Promise.resolve({ kind: "failed", reason: `There is no task "${String(task)}".` });
    }
    case "task_manager":
    case "trap_card":
    case "group":
      return Promise.resolve({ kind: "failed", reason: "It can't be called here." });
  }
}
