/** Finds what is valid but probably not what the author intended. Only for valid entries. Pure. */
import {
  reportedBy,
  type Entry,
  type FlowWork,
  type PreparedEntry,
  type PreparedTask,
} from "./model.ts";
import type { Problem } from "../document/problem.ts";
import type { MeantPlace } from "../document/schema-check.ts";
import { promptText, promptsOf, variablesIn } from "./prompt.ts";
import { warning } from "./problems.ts";
import type { Meaning } from "./schema-parts.ts";
import { type ToolWarningChecks, toolWarnings } from "./tool-warnings.ts";
import { leafWorks, taskWorks } from "./work.ts";
import { workWarnings } from "./work-warnings.ts";

/** Why no command can match a pattern of `permissions.shell`; undefined if one can. */
export type CommandPatternCheck = (pattern: string) => string | undefined;

/** What other parts know. Without one of them, what it would find is not reported. */
export interface WarningChecks extends ToolWarningChecks {
  readonly checkCommandPattern?: CommandPatternCheck;
}

/** `prepared`: the same entry, with its prompts expanded. `places`: what means something in it. */
export function entryWarnings(
  entry: Entry,
  prepared: PreparedEntry,
  places: readonly MeantPlace[],
  checks: WarningChecks,
): Problem[] {
  const flows = Object.values(entry.jobs).flatMap(({ work }) =>
    leafWorks(work).filter((leaf) => leaf.kind === "Flow"),
  );
  return [
    ...commandPatternWarnings(places, checks.checkCommandPattern),
    ...toolWarnings(entry, flows.length > 0, checks),
    ...repeatedNames(places),
    ...unusedTasks(entry),
    ...unusedVariables(entry, flows),
    ...Object.entries(prepared.tasks).flatMap(([name, task]) => missingReports(name, task)),
    ...Object.entries(entry.jobs).flatMap(([name, { work }]) =>
      workWarnings(prepared, ["jobs", name, "work"], work),
    ),
  ];
}

/** Why the user input that a job is given makes no difference; undefined if it does, or there is none. */
export function unusedUserInput(
  entry: PreparedEntry,
  jobName: string,
  userInput: string | undefined,
): string | undefined {
  const job = entry.jobs[jobName];
  if (job === undefined || userInput === undefined || userInput === "") return undefined;
  // A workflow may use it under a name of its own.
  if (leafWorks(job.work).some(({ kind }) => kind === "Flow")) return undefined;
  const prompts = taskWorks(job.work).flatMap(({ taskId }) => promptsOf(entry.tasks[taskId]));
  return prompts.some((prompt) => variablesIn(prompt).includes("user-input"))
    ? undefined
    : `The user input is not used: no prompt of the job ${JSON.stringify(jobName)} contains $user-input.`;
}

function commandPatternWarnings(
  places: readonly MeantPlace[],
  check: CommandPatternCheck = () => undefined,
): Problem[] {
  const hint = "a pattern matches a single command, without redirections, substitutions and quotes";
  return places.flatMap(({ meaning, value, path }) => {
    if (meaning !== "command pattern") return [];
    const reason = check(String(value).replace(/^!/, ""));
    if (reason === undefined) return [];
    return [warning(path, `No command can match this pattern: ${reason}.`, hint)];
  });
}

const listedOnce: ReadonlySet<string> = new Set<Meaning>([
  "relic",
  "monument",
  "tool",
  "tool of a server",
]);

function repeatedNames(places: readonly MeantPlace[]): Problem[] {
  const seen = new Set<string>();
  return places.flatMap(({ meaning, value, path }) => {
    if (!listedOnce.has(meaning)) return [];
    const inList = JSON.stringify([path.slice(0, -1), value]);
    if (seen.has(inList)) return [warning(path, `${JSON.stringify(value)} is listed twice.`)];
    seen.add(inList);
    return [];
  });
}

function unusedTasks(entry: Entry): Problem[] {
  const jobs = Object.values(entry.jobs);
  // An application may start tasks by their names.
  if (jobs.length === 0) return [];
  const used = new Set(jobs.flatMap(({ work }) => taskWorks(work).map(({ taskId }) => taskId)));
  // Its documents may delegate to other tasks.
  if ([...used].some((name) => entry.tasks[name]?.protocol !== undefined)) return [];
  return Object.keys(entry.tasks)
    .filter((name) => !used.has(name))
    .map((name) => warning(["tasks", name], "No job uses this task."));
}

function unusedVariables(entry: Entry, flows: readonly FlowWork[]): Problem[] {
  const variables = entry.promptVariables ?? {};
  const used = new Set<string>();
  const params = flows.flatMap((flow) => Object.values(flow.params ?? {}));
  const left = [...Object.values(entry.tasks).flatMap(promptsOf), ...params];
  for (let prompt = left.pop(); prompt !== undefined; prompt = left.pop()) {
    for (const name of variablesIn(prompt)) {
      const variable = variables[name];
      if (variable === undefined || used.has(name)) continue;
      used.add(name);
      left.push(variable);
    }
  }
  return Object.keys(variables)
    .filter((name) => !used.has(name))
    .map((name) => warning(["promptVariables", name], "No prompt uses this variable."));
}

/**
 * Prompts that are sent for the first time before the model can have reported what they use: no earlier prompt of the
 * task mentions the tool. Variables don't outlive the run of a task.
 */
function missingReports(name: string, { prompt, availability, criteria }: PreparedTask): Problem[] {
  const { condition, toolExecuted = [], failureAction } = criteria ?? {};
  // What the model has called once the prompt has done its part.
  const sent = [
    {
      at: ["availability", "condition"],
      prompt: availability?.condition,
      calls: ["job_boolean_true"],
    },
    { at: ["prompt"], prompt, calls: toolExecuted },
    { at: ["criteria", "condition"], prompt: condition, calls: ["job_boolean_false"] },
    {
      at: ["criteria", "failureAction", "additionalPrompt"],
      prompt: failureAction?.additionalPrompt,
      calls: [],
    },
  ];
  let before = "";
  return sent.flatMap(({ at, prompt: one, calls }) => {
    if (one === undefined) return [];
    const problems = [...new Set(variablesIn(one))].flatMap((variable) => {
      const tool = reportedBy[variable];
      if (tool === undefined || before.includes(tool)) return [];
      const reason = `$${variable} has no value when this prompt is first sent: no earlier prompt of the task mentions ${tool}.`;
      const hint = "$previous-result is what the work before this one reported";
      return [warning(["tasks", name, ...at], reason, hint)];
    });
    before += `${promptText(one)} ${calls.join(" ")} `;
    // The condition has held, so the last answer was true.
    if (one === availability?.condition) before = before.replaceAll("job_boolean_false", "");
    return problems;
  });
}
