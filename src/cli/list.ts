import { describeJobs, describeTools, type JobDescription } from "./describe-jobs.ts";
import { readEntry, readWorkflow } from "../run/entry-files.ts";
import { isWorkflowFile } from "../run/workflow-files.ts";
import { describeWorkflow, promptsModels, type WorkflowDescription } from "../workflow/describe.ts";
import { exitCode, type ExitCode, type Io } from "./process.ts";
import { clip } from "../events/cut.ts";

export async function list(entryFile: string, json: boolean, { output }: Io): Promise<ExitCode> {
  if (isWorkflowFile(entryFile)) {
    const { workflow } = await readWorkflow(entryFile);
    const description = describeWorkflow(workflow);
    if (json) output.printJson({ entry: entryFile, workflow: description });
    else {
      const needsModel = promptsModels(workflow) && description.models.length === 0;
      for (const line of summary(description)) output.print(line);
      output.print(row("RUN", runOf(entryFile, description, needsModel)));
    }
    return exitCode.success;
  }
  const { entry, flows } = await readEntry(entryFile);
  const jobs = describeJobs(entry, flows);
  const tools = describeTools(entry, flows);
  if (json) output.printJson({ entry: entryFile, jobs, ...tools });
  else for (const line of [...jobTable(jobs), ...toolTable(tools)]) output.print(line);
  return exitCode.success;
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

function jobTable(jobs: readonly JobDescription[]): readonly string[] {
  if (jobs.length === 0) return ["The entry has no jobs."];
  const rows = jobs.map(({ name, requireUserInput, tasks, models, protocols = {} }) => [
    name,
    requireUserInput ? "required" : "none",
    tasks.map((task) => (task in protocols ? `${task} (actions)` : task)).join(", "),
    models.join(", "),
  ]);
  return table(["JOB", "USER INPUT", "TASKS", "MODELS"], rows);
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

/** The first line of a text, if it isn't too long for a table. */
function shortened(text: string): string {
  const [line = ""] = text.trim().split(/\r?\n/);
  return line.length <= 80 ? line : clip(line, 79);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const widths = head.map((title, column) =>
    rows.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), title.length),
  );
  return [head, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
