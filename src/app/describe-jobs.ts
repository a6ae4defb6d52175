import type { PreparedEntry } from "../entry/model.ts";
import { allowsServer, allowsTool } from "../permissions/rules.ts";
import { leafName, leafWorks } from "../entry/work.ts";
import { modelOf } from "../engine/plan.ts";
import { promptsModels } from "../workflow/describe.ts";
import { modelOfFlow, type Flows } from "./flows.ts";

export interface JobDescription {
  readonly name: string;
  readonly requireUserInput: boolean;
  /** With the files of workflows. In reading order, each once. */
  readonly tasks: readonly string[];
  /** The models of tasks and workflows, and the driving model where a task uses it. */
  readonly models: readonly string[];
  /** Those of its tasks that have a protocol. Absent if there are none. */
  readonly protocols?: Readonly<Record<string, "actions">>;
}

/** What agents may call. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  /** Whose permissions allow it. */
  readonly tasks: readonly string[];
}

export interface ServerDescription {
  readonly name: string;
  /** The command, or the address. */
  readonly source: string;
  /** Whose permissions allow any of its tools. */
  readonly tasks: readonly string[];
}

/** The tools and servers that an entry declares; without those that it doesn't have. */
export function describeTools(entry: PreparedEntry): {
  readonly tools?: readonly ToolDescription[];
  readonly mcpServers?: readonly ServerDescription[];
} {
  const { tools, mcpServers } = entry;
  const tasks = Object.entries(entry.tasks).map(([name, task]) => ({
    name,
    permissions: task.permissions ?? entry.permissions ?? "read-only",
  }));
  return {
    ...(tools && {
      tools: Object.entries(tools).map(([name, { description }]) => ({
        name,
        description,
        tasks: tasks
          .filter(({ permissions }) => allowsTool(permissions, name))
          .map((task) => task.name),
      })),
    }),
    ...(mcpServers && {
      mcpServers: Object.entries(mcpServers).map(([name, server]) => ({
        name,
        source:
          "command" in server ? [server.command, ...(server.args ?? [])].join(" ") : server.url,
        tasks: tasks
          .filter(({ permissions }) => allowsServer(permissions, name))
          .map((task) => task.name),
      })),
    }),
  };
}

export function describeJobs(entry: PreparedEntry, flows: Flows): readonly JobDescription[] {
  return Object.entries(entry.jobs).map(([name, job]) => {
    const leaves = leafWorks(job.work);
    const models = leaves.flatMap((leaf) => {
      if (leaf.kind === "Flow") {
        const workflow = flows[leaf.file]?.workflow;
        return workflow && promptsModels(workflow) ? [modelOfFlow(workflow, entry)] : [];
      }
      const { taskId, modelOverride } = leaf;
      const own = modelOf(entry, taskId, modelOverride);
      const driven = entry.tasks[taskId]?.criteria?.runConditionInSameSession === false;
      return driven ? [own, entry.models.driving] : [own];
    });
    const tasks = [...new Set(leaves.map(leafName))];
    const protocols = tasks.flatMap((task) => {
      const protocol = entry.tasks[task]?.protocol;
      return protocol === undefined ? [] : [[task, protocol] as const];
    });
    return {
      name,
      requireUserInput: job.requireUserInput,
      tasks,
      models: [...new Set(models)],
      ...(protocols.length === 0 ? {} : { protocols: Object.fromEntries(protocols) }),
    };
  });
}
