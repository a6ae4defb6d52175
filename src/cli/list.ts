import { readEntry, readWorkflow } from "../run/entry-files.ts";
import { isWorkflowFile } from "../run/workflow-files.ts";
import { describeWorkflow, promptsModels, type WorkflowDescription } from "../workflow/describe.ts";
import { entriesOfRepository, findEntry, noneFound } from "./found.ts";
import type { OptionsOf } from "./options.ts";
import { exitCode, type ExitCode, type Io, table } from "./process.ts";
import { truncate } from "../text/truncate.ts";
import { idOf, type PreparedEntry } from "../entry/model.ts";
import { outputsOf } from "../entry/outputs.ts";
import { usesChange } from "../entry/reached.ts";
import { leafName, leafWorks } from "../entry/work.ts";
import { modelOf } from "../engine/plan.ts";
import type { Flows } from "../run/flows.ts";
import { callerOfFlow, callerOfTask, type Caller } from "../run/callers.ts";

export async function list(
  { output }: Io,
  given: string | undefined,
  { json, format }: OptionsOf<"list">,
): Promise<ExitCode> {
  const files = given === undefined ? await entriesOfRepository() : [(await findEntry(given)).file];
  if (files.length === 0) throw noneFound("an entry");
  const isJson = json === true || format === "json";
  const isAlone = given !== undefined;
  const descriptions = [];
  for (const [index, file] of files.entries()) {
    const { lines, ...description } = await describe(file);
    descriptions.push(description);
    if (isJson) continue;
    if (!isAlone) output.print(`${index === 0 ? "" : "\n"}${file}`);
    for (const line of lines) output.print(line);
  }
  if (isJson) output.printJson(isAlone ? descriptions[0] : descriptions);
  return exitCode.success;
}

async function describe(entryFile: string) {
  if (isWorkflowFile(entryFile)) {
    const { workflow } = await readWorkflow(entryFile);
    const description = describeWorkflow(workflow);
    const needsModel = promptsModels(workflow) && description.models.length === 0;
    const run = row("RUN", runOf(entryFile, description, needsModel));
    return { entry: entryFile, workflow: description, lines: [...summary(description), run] };
  }
  const { entry, flows } = await readEntry(entryFile);
  const jobs = describeJobs(entry, flows);
  const tools = describeTools(entry, flows);
  const { inputs } = entry;
  const lines = [...jobTable(jobs), ...inputTable(inputs), ...toolTable(tools)];
  return { entry: entryFile, jobs, ...tools, inputs, lines };
}

function summary(workflow: WorkflowDescription): readonly string[] {
  const { title, parameters, activities, asks, models, files, agentTools = [] } = workflow;
  const given = parameters.map(({ name, default: value }) =>
    value === undefined ? name : `${name}=${JSON.stringify(value)}`,
  );
  return [
    ["WORKFLOW", title ?? ""],
    ["PARAMETERS", given.join(", ")],
    ["ACTIVITIES", String(activities)],
    ["ASKS", asks.join(", ")],
    ["MODELS", models.join(", ")],
    ["TOOLS", agentTools.join(", ")],
    ["FILES", files.join(", ")],
  ].map(([name = "", text = ""]) => row(name, text === "" ? "none" : text));
}

function row(name: string, text: string): string {
  return `${name.padEnd(10)}  ${text}`;
}

/** A command that runs it, with a place for what has to be given. A terminal can also ask the questions. */
function runOf(
  file: string,
  { parameters, asks }: WorkflowDescription,
  needsModel: boolean,
): string {
  const needed = parameters.filter(({ default: value }) => value === undefined);
  return [
    `agent-jobs run ${/^[\w./-]+$/.test(file) ? file : JSON.stringify(file)}`,
    ...(needsModel ? ["--model driving=…"] : []),
    ...needed.map(({ name }) => `--param ${name}=…`),
    ...asks.map((id) => `--answer ${id}=…`),
  ].join(" ");
}

function jobTable(jobs: ReturnType<typeof describeJobs>): readonly string[] {
  if (jobs.length === 0) return ["The entry has no jobs."];
  const about = jobs.some((job) => job.usesChange === true);
  const rows = jobs.map(({ name, requireUserInput, usesChange, tasks, models, protocols = {} }) => [
    name,
    requireUserInput ? "required" : "none",
    ...(about ? [usesChange === true ? "used" : "none"] : []),
    tasks.map((task) => (task in protocols ? `${task} (actions)` : task)).join(", "),
    models.join(", "),
  ]);
  return table(["JOB", "USER INPUT", ...(about ? ["CHANGE"] : []), "TASKS", "MODELS"], rows);
}

function inputTable(inputs: PreparedEntry["inputs"] = {}): readonly string[] {
  const rows = Object.entries(inputs).map(([name, input]) => [
    name,
    input.required === true && input.default === undefined ? "required" : (input.default ?? "none"),
    input.options?.join(", ") ?? "any",
    shortened(input.description),
  ]);
  if (rows.length === 0) return [];
  return ["", ...table(["INPUT", "DEFAULT", "VALUES", "DESCRIPTION"], rows)];
}

function toolTable({
  tools = [],
  mcpServers = [],
}: ReturnType<typeof describeTools>): readonly string[] {
  const rows = [
    ...tools.map(({ name, description, tasks }) => [name, tasks, description] as const),
    ...mcpServers.map(({ name, source, tasks }) => [`${name}/*`, tasks, source] as const),
  ].map(([name, tasks, text]) => [name, tasks.join(", ") || "none", shortened(text)]);
  return rows.length === 0 ? [] : ["", ...table(["TOOL", "TASKS", "DESCRIPTION"], rows)];
}

function shortened(text: string): string {
  const [line = ""] = text.trim().split(/\r?\n/);
  return line.length <= 80 ? line : truncate(line, 79, "…");
}

function describeTools(entry: PreparedEntry, flows: Flows) {
  const callers = [
    ...Object.keys(entry.tasks).map((name) => ({ name, ...callerOfTask(entry, name, undefined) })),
    ...Object.entries(flows).map(([name, flow]) => ({
      name,
      ...callerOfFlow(entry, flow, undefined),
    })),
  ];
  const namesOf = (uses: (caller: Caller) => boolean): string[] =>
    callers.filter(uses).map(({ name }) => name);
  const declaring = [entry, ...Object.values(flows).map(({ workflow }) => workflow.settings)];
  const tools = declaring.flatMap((one) => Object.entries(one.tools ?? {}));
  const servers = declaring.flatMap((one) => Object.entries(one.mcpServers ?? {}));
  const described = {
    tools: tools.map(([name, tool]) => ({
      name,
      description: tool.description,
      tasks: namesOf(({ declared, mayCall }) => declared.tools?.[name] === tool && mayCall(name)),
    })),
    mcpServers: servers.map(([name, server]) => ({
      name,
      source: "command" in server ? [server.command, ...(server.args ?? [])].join(" ") : server.url,
      tasks: namesOf(
        ({ declared, mayUse }) => declared.mcpServers?.[name] === server && mayUse(name),
      ),
    })),
  };
  return {
    ...(tools.length > 0 && { tools: described.tools }),
    ...(servers.length > 0 && { mcpServers: described.mcpServers }),
  };
}

function describeJobs(entry: PreparedEntry, flows: Flows) {
  return Object.entries(entry.jobs).map(([name, job]) => {
    const leaves = leafWorks(job.work);
    const models = leaves.flatMap((leaf) => {
      if (leaf.kind === "Flow") {
        const flow = flows[leaf.file];
        return flow?.promptsModels ? [flow.modelIn(entry)] : [];
      }
      if (leaf.kind !== "Ref") return [];
      const { taskId, modelOverride } = leaf;
      const own = modelOf(entry, taskId, modelOverride);
      const driven = entry.tasks[taskId]?.criteria?.runConditionInSameSession === false;
      return driven ? [own, idOf(entry.models.driving)] : [own];
    });
    const tasks = [...new Set(leaves.map(leafName))];
    const protocols = tasks.flatMap((task) => {
      const protocol = entry.tasks[task]?.protocol;
      return protocol === undefined ? [] : [[task, protocol] as const];
    });
    return {
      name,
      requireUserInput: job.requireUserInput,
      usesChange: usesChange(entry, job.work) || undefined,
      outputs: outputsOf(entry, name),
      tasks,
      models: [...new Set(models)],
      protocols: protocols.length === 0 ? undefined : Object.fromEntries(protocols),
    };
  });
}
