import {
  defaultAtMostItems,
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
import { promptText, promptsOf, variablesIn } from "./prompt.ts";
import { listed, warning } from "./problems.ts";
import { runtimeVariable } from "./runtime-variables.ts";
import type { Meaning } from "./schema-parts.ts";
import { programWarnings, type ToolWarningChecks, toolWarnings } from "./tool-warnings.ts";
import { isLeaf, leafName, leafWorks, partsOf, taskWorks } from "./work.ts";

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
    ...repeatedNames(places),
    ...unusedTasks(entry),
    ...unusedVariables(entry, flows),
    ...Object.entries(prepared.tasks).flatMap(([name, task]) => missingReports(name, task)),
    ...Object.entries(entry.jobs).flatMap(([name, { work }]) =>
      workWarnings(prepared, ["jobs", name, "work"], work),
    ),
  ];
}

/** Of permissions, tools and servers by themselves. */
export function declarationWarnings(
  declared: Pick<Entry, "tools" | "mcpServers">,
  places: readonly MeantPlace[],
  { checkCommandPattern, hasCredential }: WarningChecks,
): Problem[] {
  return [
    ...commandPatternWarnings(places, checkCommandPattern),
    ...programWarnings(declared, hasCredential),
    ...repeatedNames(places),
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

/** Prompts that are first sent before the model can have reported what they use: variables don't outlive a run. */
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

type Last = ReadonlySet<string | undefined>;

/** What a work makes of that: its own last works, and whether it may end without having run any. */
interface Effect {
  readonly ends: Last;
  readonly through: boolean;
}

/** Works that can't do what was intended where they are. Follows the control flow, and takes each way for possible. */
function workWarnings(entry: PreparedEntry, root: Path, job: Work): Problem[] {
  const found = new Map<string, Problem>();
  const effects = new Map<Work, Effect>();
  const ran = new Set<string>();

  const add = (path: Path, what: string, ...problem: readonly [string, string?]): void => {
    const key = JSON.stringify([...path, what]);
    if (!found.has(key)) found.set(key, warning(path, ...problem));
  };
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
    when: string,
    ...where: readonly [work: Work, last: Last, inEach: boolean]
  ): void => {
    for (const name of new Set(prompts.flatMap(variablesIn))) {
      const why = missing(name, ...where);
      if (why !== undefined) add(path, name, `$${name} has no value ${when}: ${why}.`);
    }
  };
  const followLeaf = (
    path: Path,
    leaf: LeafWork,
    last: Last,
    inEach: boolean,
    isFirst = false,
  ): void => {
    const task = leaf.kind === "Ref" ? entry.tasks[leaf.taskId] : undefined;
    // It may delegate to any other.
    if (task?.protocol !== undefined) for (const name of Object.keys(entry.tasks)) ran.add(name);
    const prompts = leaf.kind === "Flow" ? Object.values(leaf.params ?? {}) : promptsOf(task);
    checkPrompts(path, prompts, isFirst ? "in the first pass" : "here", leaf, last, inEach);
    if (leaf.kind !== "Ref") return;
    ran.add(leaf.taskId);
    const wanted = task?.availability?.previousTasks;
    if (wanted === undefined || wanted.some((name) => last.has(name))) return;
    const before = [...last].filter((name) => name !== undefined);
    const why = before.length === 0 ? "no task runs before it" : `before it runs ${listed(before)}`;
    const when = isFirst
      ? "not available in the first pass, which ends the loop"
      : "never available here";
    const reason = `Task ${JSON.stringify(leaf.taskId)} is ${when}: its previousTasks contains ${listed(wanted)}, but ${why}.`;
    add(path, "previousTasks", reason);
  };
  /** The works that must succeed for the body of a loop to succeed the first time. */
  const firstPass = (path: Path, work: Work, last: Last, inEach: boolean): void => {
    if (isLeaf(work)) return followLeaf(path, work, last, inEach, true);
    let before = last;
    for (const { place, part, isAwaited, isNeeded } of partsOf(path, work)) {
      if (isNeeded) firstPass(place, part, before, inEach);
      if (isAwaited) before = after(before, effectOf(part, effects));
    }
  };
  const follow = (path: Path, work: Work, last: Last, inEach: boolean): void => {
    if (isLeaf(work)) return followLeaf(path, work, last, inEach);
    if (work.kind === "Each" && "lines" in work.items)
      checkPrompts([...path, "items", "lines"], [work.items.lines], "here", work, last, inEach);
    if (work.kind === "Each" && "values" in work.items && work.sample !== true) {
      const { atMost = defaultAtMostItems, items } = work;
      const count = new Set(items.values.map((value) => JSON.stringify(value))).size;
      const reason = `There are ${count} items, and atMost is ${atMost}: the job fails before it begins.`;
      const hint = "raise atMost or set sample: true";
      if (count > atMost) add([...path, "items", "values"], "count", reason, hint);
    }
    // In all others (a Par, a Loop), a later part may have run already.
    if (work.kind !== "Seq" && work.kind !== "Alt" && work.kind !== "Each")
      for (const { taskId } of taskWorks(work)) ran.add(taskId);
    if (neverRepeats(work)) {
      const hint = "add a postCondition, or an atMost of 2 or more";
      add(path, "repeats", "This loop never repeats.", hint);
    }
    const parts = partsOf(path, work);
    let first = last;
    let before = parts.some(({ isRepeated }) => isRepeated)
      ? after(last, effectOf(work, effects), true)
      : last;
    for (const { place, part, isAwaited, isRepeated } of parts) {
      follow(place, part, before, inEach || work.kind === "Each");
      if (isRepeated) firstPass(place, part, first, inEach);
      if (!isAwaited) continue;
      first = after(first, effectOf(part, effects));
      before = after(before, effectOf(part, effects));
    }
  };
  follow(root, job, new Set([undefined]), false);
  return [...found.values()];
}

function neverRepeats(work: Work): boolean {
  if (work.kind !== "Loop") return false;
  const { atMost, preCondition, postCondition } = work;
  // Its precondition decides on the only pass.
  if (atMost === 1) return preCondition === undefined;
  return atMost === undefined && postCondition === undefined;
}

function effectOf(work: Work, known: Map<Work, Effect>): Effect {
  const before = known.get(work);
  if (before !== undefined) return before;
  const effect = makeEffect(work, (part) => effectOf(part, known));
  known.set(work, effect);
  return effect;
}

const nothing: Effect = { ends: new Set(), through: true };

function makeEffect(work: Work, of: (part: Work) => Effect): Effect {
  switch (work.kind) {
    case "Ref":
    case "Flow":
      return { ends: new Set([leafName(work)]), through: false };
    case "Run":
      // It leaves its output, and `previousTasks` passes over it.
      return { ends: new Set([leafName(work)]), through: true };
    case "Each":
      return either([nothing, of(work.work)]);
    case "Seq":
      return inSequence(work.works.map(of));
    case "Par":
      return work.works.length === 0 ? nothing : either(work.works.map(of));
    case "Alt": {
      const branches = [work.trueWork, work.falseWork].map((one) => (one ? of(one) : nothing));
      return inSequence([of(work.condition), either(branches)]);
    }
    case "Loop": {
      const { preCondition: first, body, postCondition: last } = work;
      const pass = inSequence([first?.[1], body, last?.[1]].flatMap((one) => (one ? of(one) : [])));
      // It may end after its precondition, too.
      return first === undefined ? pass : either([of(first[1]), pass]);
    }
  }
}

function inSequence(effects: readonly Effect[]): Effect {
  return effects.reduce(
    (first, second) => ({
      ends: after(first.ends, second),
      through: first.through && second.through,
    }),
    nothing,
  );
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
