import {
  reportedBy,
  type Entry,
  type FlowWork,
  type LoopWork,
  type PreparedEntry,
  type PreparedTask,
  type Prompt,
  type TaskWork,
  type Work,
} from "./model.ts";
import type { Path, Problem } from "../document/problem.ts";
import type { MeantPlace } from "../document/schema-check.ts";
import { promptText, promptsOf, variablesIn } from "./prompt.ts";
import { listed, warning } from "./problems.ts";
import { runtimeVariable } from "./runtime-variables.ts";
import { programWarnings, type ToolWarningChecks, toolWarnings } from "./tool-warnings.ts";
import { leafName, leafWorks, taskWorks } from "./work.ts";

/** Why no command can match a pattern of `permissions.shell`; undefined if one can. */
export type CommandPatternCheck = (pattern: string) => string | undefined;

export interface WarningChecks extends ToolWarningChecks {
  readonly checkCommandPattern?: CommandPatternCheck;
}

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
    ...unusedTasks(entry),
    ...unusedVariables(entry, flows),
    ...Object.entries(prepared.tasks).flatMap(([name, task]) => missingReports(name, task)),
    ...Object.entries(entry.jobs).flatMap(([name, { work }]) =>
      workWarnings(prepared, ["jobs", name, "work"], work),
    ),
  ];
}

/** Checks permissions, tools and servers by themselves. */
export function declarationWarnings(
  declared: Pick<Entry, "tools" | "mcpServers">,
  places: readonly MeantPlace[],
  { checkCommandPattern, hasCredential }: WarningChecks,
): Problem[] {
  return [
    ...commandPatternWarnings(places, checkCommandPattern),
    ...programWarnings(declared, hasCredential),
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
  const system = entry.system === undefined ? [] : [entry.system.prompt];
  const left = [...Object.values(entry.tasks).flatMap(promptsOf), ...system, ...params];
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

/** Finds prompts that are first sent before the model can have reported what they use: variables don't outlive a run. */
function missingReports(name: string, { prompt, availability, criteria }: PreparedTask): Problem[] {
  const prompts: readonly (readonly [at: Path, prompt: Prompt | undefined])[] = [
    [["availability", "condition"], availability?.condition],
    [["prompt"], prompt],
    [["criteria", "condition"], criteria?.condition],
    [["criteria", "failureAction", "additionalPrompt"], criteria?.failureAction?.additionalPrompt],
  ];
  let before = "";
  return prompts.flatMap(([at, one]) => {
    if (one === undefined) return [];
    const problems = [...new Set(variablesIn(one))].flatMap((variable) => {
      const tool = reportedBy[variable];
      if (tool === undefined || before.includes(tool)) return [];
      const reason = `$${variable} has no value when this prompt is first sent: no earlier prompt of the task mentions ${tool}.`;
      const hint = "$previous-result is what the work before this one reported";
      return [warning(["tasks", name, ...at], reason, hint)];
    });
    before += ` ${promptText(one)} `;
    if (one === prompt) before += criteria?.toolExecuted?.join(" ") ?? "";
    return problems;
  });
}

/** The names of works that may have run last; undefined if none has. */
type Last = ReadonlySet<string | undefined>;

/** Finds works that can't do what was intended where they are. Takes every path through the job for possible. */
function workWarnings(entry: PreparedEntry, root: Path, job: Work): Problem[] {
  const found: Problem[] = [];
  const ran = new Set<string>();

  const missing = (name: string, work: Work, last: Last, inEach: boolean): string | undefined => {
    if (work.kind !== "Ref" && Object.hasOwn(reportedBy, name))
      return "only the prompts of a task can use it";
    if (!inEach && (name === "item" || name === "item-index")) return "no Each is around this work";
    if (name === "previous-result" && [...last].every((one) => one === undefined))
      return "nothing runs before it";
    const variable = runtimeVariable(name);
    if (variable === undefined || variable.kind === "fixed" || variable.kind === "input")
      return undefined;
    if (ran.has(variable.of) || entry.tasks[variable.of] === undefined) return undefined;
    return `task ${JSON.stringify(variable.of)} can't have run before`;
  };
  const checkPrompts = (
    path: Path,
    prompts: readonly Prompt[],
    ...where: readonly [work: Work, last: Last, inEach: boolean]
  ): void => {
    for (const name of new Set(prompts.flatMap(variablesIn))) {
      const why = missing(name, ...where);
      if (why !== undefined) found.push(warning(path, `$${name} has no value here: ${why}.`));
    }
  };
  const checkTask = (path: Path, work: TaskWork, last: Last, inEach: boolean): void => {
    const { taskId } = work;
    const task = entry.tasks[taskId];
    // A task with the protocol may delegate to any other.
    if (task?.protocol !== undefined) for (const name of Object.keys(entry.tasks)) ran.add(name);
    checkPrompts(path, promptsOf(task), work, last, inEach);
    ran.add(taskId);
    const wanted = task?.availability?.previousTasks;
    if (wanted === undefined || wanted.some((name) => last.has(name))) return;
    const before = [...last].filter((name) => name !== undefined);
    const why = before.length === 0 ? "no task runs before it" : `before it runs ${listed(before)}`;
    const reason = `Task ${JSON.stringify(taskId)} is never available here: its previousTasks contains ${listed(wanted)}, but ${why}.`;
    found.push(warning(path, reason));
  };
  /** Returns what may have run last after the work. */
  const follow = (path: Path, work: Work, last: Last, inEach: boolean): Last => {
    const part = (inside: Path, one: Work | undefined, before: Last): Last =>
      one === undefined
        ? before
        : follow([...path, ...inside], one, before, inEach || work.kind === "Each");
    // A later part of a Par or a Loop may have run already.
    if (work.kind === "Par" || work.kind === "Loop")
      for (const { taskId } of taskWorks(work)) ran.add(taskId);
    switch (work.kind) {
      case "Ref":
        checkTask(path, work, last, inEach);
        return new Set([work.taskId]);
      case "Flow":
        checkPrompts(path, Object.values(work.params ?? {}), work, last, inEach);
        return new Set([work.file]);
      case "Run":
        // `previousTasks` passes over it.
        return new Set([...last, leafName(work)]);
      case "Seq":
        return work.works.reduce((before, one, at) => part(["works", at], one, before), last);
      case "Par":
        return union(work.works.map((one, at) => part(["works", at], one, last)));
      case "Alt": {
        const { condition, trueWork, falseWork } = work;
        const after = part(["condition"], condition, last);
        return union([part(["trueWork"], trueWork, after), part(["falseWork"], falseWork, after)]);
      }
      case "Each":
        if ("lines" in work.items)
          checkPrompts([...path, "items", "lines"], [work.items.lines], work, last, inEach);
        return union([last, part(["work"], work.work, last)]);
      case "Loop": {
        if (neverRepeats(work))
          found.push(
            warning(
              path,
              "This loop never repeats.",
              "add a postCondition, or an atMost of 2 or more",
            ),
          );
        const { preCondition, body, postCondition } = work;
        const any = union([last, new Set(leafWorks(work).map((leaf) => leafName(leaf)))]);
        const first = part(["preCondition", 1], preCondition?.[1], any);
        const end = part(["postCondition", 1], postCondition?.[1], part(["body"], body, first));
        return preCondition === undefined ? end : union([first, end]);
      }
    }
  };
  follow(root, job, new Set([undefined]), false);
  return found;
}

function union(all: readonly Last[]): Last {
  return new Set(all.flatMap((one) => [...one]));
}

function neverRepeats({ atMost, preCondition, postCondition }: LoopWork): boolean {
  // A preCondition decides on the only pass.
  if (atMost === 1) return preCondition === undefined;
  return atMost === undefined && postCondition === undefined;
}
