import type { CommandRequest, Workspace } from "../../src/engine/ports.ts";
import type { Task } from "../../src/entry/model.ts";

export const names = ["a", "b", "c"] as const;
export const tasks: Readonly<Record<string, Task>> = Object.fromEntries(
  names.map((name) => [
    name,
    {
      model: { category: "work" },
      prompt: `${name} $item $item-index`,
      criteria: { toolExecuted: ["job_boolean_true"], failureAction: { retryTimes: 0 } },
    },
  ]),
);
export const succeed = { tools: ["job_boolean_true"] } as const;

/** Plays commands: `exit` of each, by its name and item. */
export function commands(
  exit: (request: CommandRequest) => number | string,
  files: readonly string[] = [],
): Workspace & { readonly requests: CommandRequest[] } {
  const requests: CommandRequest[] = [];
  return {
    requests,
    async runCommand(request) {
      requests.push(request);
      const end = exit(request);
      return typeof end === "number"
        ? { kind: "exited", code: end, tail: `code ${end}`, output: "- x\n\n2. y\n  x\n" }
        : { kind: "failed", reason: end, tail: "" };
    },
    files: async () => files,
    watch: async () => async () => true,
    close: async () => {},
  };
}
