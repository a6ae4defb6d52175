import type { PreparedEntry } from "../entry/model.ts";
import { leafName, leafWorks } from "../entry/work.ts";
import { modelOf } from "../engine/plan.ts";
import { promptsModels } from "../workflow/describe.ts";
import { modelOfFlow, type Flows } from "../run/flows.ts";
import { callerOfFlow, callerOfTask } from "../run/run-spec.ts";

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
  /** Who may call it: names of tasks, and files of workflows. */
  readonly tasks: readonly string[];
}

export interface ServerDescription {
  readonly name: string;
  /** The command, or the address. */
  readonly source: string;
  /** Who may call any of its tools. */
  readonly tasks: readonly string[];
}

/** The tools and servers that an entry and its workflows declare. Absent fields: there are none. */
export function describeTools(
  entry: PreparedEntry,
  flows: Flows,
): {
  readonly tools?: readonly ToolDescription[];
  readonly mcpServers?: readonly ServerDescription[];
} {
  const callers = [
    ...Object.keys(entry.tasks).map((name) => ({ name, ...callerOfTask(entry, name, undefined) })),
    ...Object.entries(flows).map(([name, flow]) => ({
      name,
      ...callerOfFlow(entry, flow, undefined),
    })),
  ];
  const declaring = [entry, ...Object.values(flows).map(({ workflow }) => workflow.settings)];
  const tools = declaring.flatMap((one) => Object.entries(one.tools ?? {}));
  const servers = declaring.flatMap((one) => Object.entries(one.mcpServers ?? {}));
  return {
    ...(tools.length > 0 && {
      tools: tools.map(([name, tool]) => ({
        name,
        description: tool.description,
        tasks: callers
          .filter(({ declared, mayCall }) => declared.tools?.[name] === tool && mayCall(name))
          .map((caller) => caller.name),
      })),
    }),
    ...(servers.length > 0 && {
      mcpServers: servers.map(([name, server]) => ({
        name,
        source:
          "command" in server ? [server.command, ...(server.args ?? [])].join(" ") : server.url,
        tasks: callers
          .filter(({ declared, mayUse }) => declared.mcpServers?.[name] === server && mayUse(name))
          .map((caller) => caller.name),
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
