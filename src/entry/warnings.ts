/** Finds what is valid but probably not what the author intended. Only for valid entries. Pure. */
import {
  reportedBy,
  type Entry,
  type FlowWork,
  type LeafWork,
  type PreparedEntry,
  type PreparedTask,
  type Prompt,
  type Work,
} from "./model.ts";
import type { Path, Problem } from "../document/problem.ts";
import type { MeantPlace } from "../document/schema-check.ts";
import { promptsOf } from "./prompt.ts";
import { promptText, variablesIn } from "./prompt-expander.ts";
import { dataWarnings, itemWarnings, promptsOfLeaf } from "./data-warnings.ts";
import { warning } from "./problems.ts";
import type { Meaning } from "./schema-parts.ts";
import { type ToolWarningChecks, toolWarnings } from "./tool-warnings.ts";
import { flowLeaves } from "./work-paths.ts";
import { isLeaf, leafName, leafWorks, partsOf, taskWorks } from "./work.ts";

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
  return [
    ...commandPatternWarnings(places, checks.checkCommandPattern),
    ...toolWarnings(entry, checks),
    ...repeatedNames(places),
    ...unusedTasks(entry),
    ...unusedVariables(entry),
    ...Object.entries(prepared.tasks).flatMap(([name, task]) => missingReports(name, task)),
    ...flowLeaves(entry).flatMap(({ path, work }) => missingParams(path, work)),
    ...Object.entries(entry.jobs).flatMap(([name, { work }]) => [
      ...loopWarnings(["jobs", name, "work"], work),
      ...orderWarnings(prepared, ["jobs", name, "work"], work),
      ...dataWarnings(prepared, ["jobs", name, "work"], work, new Set()),
      ...itemWarnings(prepared, ["jobs", name, "work"], work, false),
    ]),
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

function unusedVariables(entry: Entry): Problem[] {
  const variables = entry.promptVariables ?? {};
  const used = new Set<string>();
  const params = flowLeaves(entry).flatMap(({ work }) => Object.values(work.params ?? {}));
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
function missingReports(name: string, task: PreparedTask): Problem[] {
  const { prompt, availability, criteria } = task;
  const found: Problem[] = [];
  const known = new Set<string>();
  const check = (path: Path, sent: Prompt | undefined): void => {
    const text = sent === undefined ? "" : promptText(sent);
    for (const variable of new Set(variablesIn(text))) {
      const tool = reportedBy[variable];
      if (tool === undefined || known.has(variable)) continue;
      const reason = `$${variable} has no value when this prompt is first sent: no earlier prompt of the task mentions ${tool}.`;
      found.push(warning(["tasks", name, ...path], reason, previousResultHint));
    }
    for (const [variable, tool] of Object.entries(reportedBy))
      if (text.includes(tool)) known.add(variable);
  };
  check(["availability", "condition"], availability?.condition);
  // The condition has held, so the last answer was true.
  if (availability?.condition !== undefined) known.add("reported-true-reason");
  known.delete("reported-false-reason");
  check(["prompt"], prompt);
  for (const [variable, tool] of Object.entries(reportedBy))
    if (criteria?.toolExecuted?.includes(tool) === true) known.add(variable);
  check(["criteria", "condition"], criteria?.condition);
  if (criteria?.condition !== undefined) known.add("reported-false-reason");
  check(
    ["criteria", "failureAction", "additionalPrompt"],
    criteria?.failureAction.additionalPrompt,
  );
  return found;
}

const previousResultHint = "$previous-result is what the work before this one reported";

/** A workflow calls no job tools before it begins. */
function missingParams(path: Path, { params = {} }: FlowWork): Problem[] {
  return Object.entries(params).flatMap(([name, prompt]) =>
    variablesIn(prompt)
      .filter((variable) => Object.hasOwn(reportedBy, variable))
      .map((variable) =>
        warning([...path, "params", name], `$${variable} has no value here.`, previousResultHint),
      ),
  );
}

function loopWarnings(path: Path, work: Work): Problem[] {
  const below = partsOf(path, work).flatMap(([at, part]) => loopWarnings(at, part));
  if (work.kind !== "Loop") return below;
  const { atMost, preCondition, postCondition } = work;
  if (atMost === 1 && preCondition === undefined) {
    const reason = "This loop never repeats, because its atMost is 1.";
    return [warning(path, reason, "use a larger atMost"), ...below];
  }
  if (postCondition !== undefined || atMost !== undefined) return below;
  const reason = "This loop never repeats, because it has no postCondition.";
  return [warning(path, reason, "add a postCondition or atMost"), ...below];
}

/** The tasks that may have finished last. `undefined` means that no task has finished. */
type Last = ReadonlySet<string | undefined>;

/** What a work makes of that: its own last tasks, and whether it may end without having run any. */
interface Effect {
  readonly ends: Last;
  readonly through: boolean;
}

/**
 * Where a task runs of whose `previousTasks` none can have finished last, and where nothing can have finished before
 * what uses `$previous-result`. Follows the control flow as
 * statement 10 of `docs/internals/engine.md` does, and takes each way for possible.
 */
function orderWarnings(entry: PreparedEntry, root: Path, job: Work): Problem[] {
  const found = new Map<string, Problem>();
  const effects = new Map<Work, Effect>();
  /** `when`: in which case the task runs after one of `last`. What is found first for a place counts. */
  const check = (path: Path, taskId: string, last: Last, when: string): void => {
    const why = unavailable(entry, taskId, last);
    if (why === undefined) return;
    const key = JSON.stringify(path);
    if (found.has(key)) return;
    found.set(key, warning(path, `Task ${JSON.stringify(taskId)} is ${when}: ${why}`));
  };
  const checkResult = (path: Path, prompts: readonly Prompt[], last: Last, when: string): void => {
    if (last.size > (last.has(undefined) ? 1 : 0)) return;
    const key = JSON.stringify([...path, "previous-result"]);
    if (found.has(key)) return;
    if (!prompts.some((prompt) => variablesIn(prompt).includes("previous-result"))) return;
    const reason = `$previous-result has no value ${when}: nothing runs before it.`;
    found.set(key, warning(path, reason));
  };
  const checkLeaf = (path: Path, work: LeafWork, last: Last, first: boolean): void => {
    checkResult(path, promptsOfLeaf(entry, work), last, first ? "in the first pass" : "here");
    if (work.kind !== "Ref") return;
    const when = first
      ? "not available in the first pass, which ends the loop"
      : "never available here";
    check(path, work.taskId, last, when);
  };
  /** The works that must succeed for the body of a loop to succeed the first time. */
  const firstPass = (path: Path, work: Work, last: Last): void => {
    if (isLeaf(work)) {
      checkLeaf(path, work, last, true);
    } else if (work.kind === "Seq" || work.kind === "Par") {
      let before = last;
      for (const [place, part] of partsOf(path, work)) {
        firstPass(place, part, before);
        if (work.kind === "Seq") before = after(before, effectOf(part, effects));
      }
    } else if (work.kind === "Loop" && work.preCondition === undefined) {
      firstPass([...path, "body"], work.body, last);
    }
  };
  const follow = (path: Path, work: Work, last: Last): void => {
    if (isLeaf(work)) return checkLeaf(path, work, last, false);
    const parts = partsOf(path, work);
    // A branch follows the condition; of a Par all parts follow what was before it.
    const [condition] = parts;
    let before = work.kind === "Loop" ? after(last, effectOf(work, effects), true) : last;
    for (const [place, part] of parts) {
      follow(place, part, before);
      if (work.kind === "Loop" && part === work.body) {
        const { preCondition } = work;
        const entered =
          preCondition === undefined ? last : after(last, effectOf(preCondition[1], effects));
        firstPass(place, part, entered);
      }
      const inOrder = work.kind === "Seq" || work.kind === "Loop" || part === condition?.[1];
      if (work.kind !== "Par" && inOrder) before = after(before, effectOf(part, effects));
    }
  };
  follow(root, job, new Set([undefined]));
  return [...found.values()];
}

/** Why a task that runs after one of `last` can't be available. */
function unavailable(entry: PreparedEntry, taskId: string, last: Last): string | undefined {
  const wanted = entry.tasks[taskId]?.availability?.previousTasks;
  if (wanted === undefined || wanted.some((name) => last.has(name))) return undefined;
  const before = some(last);
  const ran =
    before === ""
      ? "no task runs before it"
      : `the task before it is ${before}${last.has(undefined) ? ", if there is one" : ""}`;
  return `its previousTasks contains ${some(wanted)}, but ${ran}.`;
}

/** A job can have thousands, and thousands of warnings about them. */
function some(names: Iterable<string | undefined>): string {
  const shown: string[] = [];
  for (const name of names) {
    if (name === undefined) continue;
    if (shown.length === 5) return `${shown.join(" or ")} or others`;
    shown.push(JSON.stringify(name));
  }
  return shown.join(" or ");
}

function effectOf(work: Work, known: Map<Work, Effect>): Effect {
  const before = known.get(work);
  if (before !== undefined) return before;
  const effect = makeEffect(work, (part) => effectOf(part, known));
  known.set(work, effect);
  return effect;
}

function makeEffect(work: Work, of: (part: Work) => Effect): Effect {
  const nothing: Effect = { ends: new Set(), through: true };
  switch (work.kind) {
    case "Ref":
      return { ends: new Set([work.taskId]), through: false };
    case "Flow":
      return { ends: new Set([work.file]), through: false };
    case "Run":
      // It leaves its output, and `previousTasks` passes over it.
      return { ends: new Set([leafName(work)]), through: true };
    case "Each":
      return either([nothing, of(work.work)]);
    case "Seq":
      return work.works.map(of).reduce(inSequence, nothing);
    case "Par":
      return work.works.length === 0 ? nothing : either(work.works.map(of));
    case "Alt": {
      const branches = [work.trueWork, work.falseWork];
      return inSequence(
        of(work.condition),
        either(branches.map((branch) => (branch === undefined ? nothing : of(branch)))),
      );
    }
    case "Loop": {
      const parts = [work.preCondition?.[1], work.body, work.postCondition?.[1]];
      const pass = parts.map((part) => (part === undefined ? nothing : of(part)));
      const whole = pass.reduce(inSequence, nothing);
      // It may end after its precondition, too.
      const [first = nothing] = pass;
      return work.preCondition === undefined ? whole : either([first, whole]);
    }
  }
}

function inSequence(first: Effect, second: Effect): Effect {
  return second.through ? { ends: after(first.ends, second), through: first.through } : second;
}

function either(effects: readonly Effect[]): Effect {
  return {
    ends: new Set(effects.flatMap(({ ends }) => [...ends])),
    through: effects.some(({ through }) => through),
  };
}

function after(last: Last, { ends, through }: Effect, maybe = through): Last {
  return maybe ? new Set([...last, ...ends]) : ends;
}
