/** Finds mistakes of authors that leave an entry valid. */
import { isRecord, isText } from "../text/guards.ts";
import type { Path, Problem } from "../document/diagnostic.ts";
import type { MeantPlace } from "../document/schema-check.ts";
import { allJobTools, protocolTools, runtimeTools } from "./permissions.ts";
import {
  availableTools,
  reportedBy,
  type DeclaredTools,
  type Entry,
  type Permissions,
  type PreparedEntry,
  type PreparedTask,
  type Prompt,
} from "./model.ts";
import { isPrompt, promptText, promptsOf, variablesIn } from "./prompt.ts";
import { Problems, warning } from "./problems.ts";
import { leafWorks, taskWorks } from "./work.ts";

export interface WarningChecks {
  /** Why no command can match a pattern of `permissions.shell`; undefined if one can. */
  readonly checkCommandPattern?: (pattern: string) => string | undefined;
  /** Whether permissions allow a tool, or with `NAME/*` a server. */
  readonly toolPermissions?: (permissions: Permissions) => (pattern: string) => boolean;
  readonly otherTools?: readonly string[];
  readonly hasCredential?: (text: string) => boolean;
}

export function entryWarnings(
  entry: Entry,
  prepared: PreparedEntry,
  places: readonly MeantPlace[],
  checks: WarningChecks,
): Problem[] {
  const { tasks } = entry;
  return [
    ...declarationWarnings(entry, places, checks),
    ...deniedTools({ ...entry, jobs: prepared.jobs }, checks),
    ...unusedTasks(tasks, prepared.jobs),
    ...unusedVariables(entry, places),
    ...Object.entries(prepared.tasks).flatMap(([name, task]) => missingReports(name, task)),
    ...places.flatMap(({ meaning, value, path }) =>
      meaning === "work" && neverRepeats(value)
        ? warning(
            path,
            "This loop never repeats.",
            "add a postCondition, or an atMost of 2 or more",
          )
        : [],
    ),
  ];
}

/** Checks permissions, tools and servers by themselves. `known`: the tools that permissions may name. */
export function declarationWarnings(
  entry: KnownTools,
  places: readonly MeantPlace[],
  { checkCommandPattern, hasCredential, otherTools }: WarningChecks,
  known = entry,
): Problem[] {
  const { tools = {}, mcpServers = {} } = entry;
  const checkTool = toolPatternCheck(known, otherTools);
  const commands = Object.entries(tools).flatMap(([name, tool]) => [
    ...textsIn(["tools", name, "command"], "command" in tool ? tool.command : []),
    ...textsIn(["tools", name, "build", "command"], tool.build?.command),
  ]);
  return [
    ...places.flatMap(({ meaning, value, path }) => {
      if (meaning === "tool pattern") {
        const found = checkTool(String(value));
        return found === undefined ? [] : [warning(path, ...found)];
      }
      if (meaning !== "command pattern") return [];
      const why = checkCommandPattern?.(String(value).replace(/^!/, ""));
      const hint =
        "a pattern matches a single command, without redirections, substitutions and quotes";
      return why === undefined
        ? []
        : [warning(path, `No command can match this pattern: ${why}.`, hint)];
    }),
    ...[...commands, ...textsIn(["mcpServers"], mcpServers)].flatMap(([path, text]) =>
      textWarnings(path, text, hasCredential),
    ),
  ];
}

function textsIn(path: Path, value: unknown): (readonly [Path, string])[] {
  if (isText(value)) return [[path, value]];
  if (Array.isArray(value)) return value.flatMap((one, index) => textsIn([...path, index], one));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, one]) => textsIn([...path, name], one));
}

/** Finds credentials, variables that are not inserted, and command lines in place of a program. */
function textWarnings(
  path: Path,
  text: string,
  hasCredential: WarningChecks["hasCredential"],
): Problem[] {
  const last = path.at(-1);
  const isValue = path[2] === "env" || path[2] === "headers";
  // The name of a header says what its value is.
  const written = isValue ? `${last}: ${text}` : text;
  if (hasCredential?.(written.replaceAll(/(?<=^|\s)env:\S*/g, "$$")) === true) {
    const reason = "This looks like a credential. Everybody who can read the file can read it.";
    const hint = "pass it in a variable, with --env NAME; env and headers take env:NAME";
    return [warning(path, reason, hint)];
  }
  if (isValue) {
    const insertion = /^(?:Bearer )?\$\{{0,2}\s*(?:secrets\.|env\.)?([A-Za-z_]\w*)\s*\}{0,2}$/;
    const [, variable] = insertion.exec(text) ?? [];
    if (variable === undefined) return [];
    const reason = "This text is passed as it is: variables are not inserted.";
    return [warning(path, reason, `write env:${variable}`)];
  }
  const isProgram = last === "command" || (last === 0 && path.at(-2) === "command");
  if (!isProgram || !/^[\w.-]+\s+\S/.test(text)) return [];
  const reason = "This is taken as the name of one program: no shell splits it into words.";
  return [warning(path, reason, "list its arguments separately")];
}

/** Finds criteria that can't hold, and tools and servers that no task may call. */
function deniedTools(
  {
    tasks,
    jobs,
    permissions: ofEntry = "read-only",
    tools = {},
    mcpServers = {},
  }: Omit<Entry, "jobs"> & Pick<PreparedEntry, "jobs">,
  { toolPermissions }: WarningChecks,
): Problem[] {
  if (toolPermissions === undefined) return [];
  const given = new Set(Object.values(tasks).map(({ permissions = ofEntry }) => permissions));
  const rules = new Map([...given].map((one) => [one, toolPermissions(one)]));
  const never = Object.entries(tasks).flatMap(([name, { permissions = ofEntry, criteria }]) =>
    (criteria?.toolExecuted ?? []).flatMap((tool, index) => {
      if (allJobTools.includes(tool) || rules.get(permissions)?.(tool) === true) return [];
      const path = ["tasks", name, "criteria", "toolExecuted", index];
      const reason = `The criteria can't hold, because the task may not call ${JSON.stringify(tool)}.`;
      return [warning(path, reason, `name it in permissions.tools: [${quoted(tool)}]`)];
    }),
  );
  const all = [...rules.values()];
  // A workflow has its own permissions.
  const usesFlows = Object.values(jobs).some(({ work }) =>
    leafWorks(work).some(({ kind }) => kind === "Flow"),
  );
  if (usesFlows || all.length === 0) return never;
  const denied = (path: Path, what: string, pattern: string): Problem[] => {
    if (all.some((allows) => allows(pattern))) return [];
    const hint = `name it in the permissions of a task: { tools: [${quoted(pattern)}] }`;
    return [warning(path, `No task may ${what}: permissions.tools doesn't allow it.`, hint)];
  };
  return [
    ...Object.keys(tools).flatMap((name) => denied(["tools", name], "call this tool", name)),
    ...Object.keys(mcpServers).flatMap((name) =>
      denied(["mcpServers", name], "use this server", `${name}/*`),
    ),
    ...never,
  ];
}

/** Why a pattern of tools, as in `permissions.tools`, names nothing; undefined if it names something. */
type ToolPatternCheck = (
  pattern: string,
) => readonly [reason: string, hint?: string | undefined] | undefined;

type KnownTools = DeclaredTools & Partial<Pick<Entry, "tasks">>;

export function toolPatternCheck(
  { tools = {}, mcpServers = {}, tasks = {} }: KnownTools,
  otherTools: readonly string[] = [],
): ToolPatternCheck {
  const known = [runtimeTools, availableTools, protocolTools, otherTools].flat();
  const plain = new Set([...Object.keys(tools), ...known]);
  const servers = Object.keys(mcpServers);
  const problems = new Problems([]);
  const missing = (what: string, name: string, names: Iterable<string>) =>
    [`${what} ${JSON.stringify(name)}.`, problems.suggest(name, names).hint] as const;
  return (pattern) => {
    const name = pattern.replace(/^!/, "").replace(/^\.\//, "");
    if (name === "*" || plain.has(name)) return undefined;
    const [, server = "", tool = ""] = /^([^/]*)\/([^]*)$/.exec(name) ?? [];
    if (!name.includes("/")) {
      const [reason, similar] = missing("There is no tool", name, [...plain, ...servers]);
      const isServer = Object.hasOwn(mcpServers, name);
      return [reason, isServer ? `write "${name}/*" for the tools of this server` : similar];
    }
    if (server === "delegate")
      return tool === "*" || Object.hasOwn(tasks, tool)
        ? undefined
        : missing("There is no task", tool, Object.keys(tasks));
    if (!Object.hasOwn(mcpServers, server))
      return missing("There is no MCP server", server, servers);
    const offered = mcpServers[server]?.tools;
    if (tool === "*" || offered === undefined || offered.includes(tool)) return undefined;
    const what = `The tools of the MCP server ${JSON.stringify(server)} don't include`;
    return missing(what, tool, offered);
  };
}

/** Writes a pattern for YAML, where a star has to be quoted. */
export function quoted(pattern: string): string {
  return /^[\w-]+$/.test(pattern) ? pattern : JSON.stringify(pattern);
}

/** Why the user input that a job is given makes no difference; undefined if it does, or there is none. */
export function unusedUserInput(
  entry: PreparedEntry,
  jobName: string,
  userInput: string | undefined,
): string | undefined {
  const job = entry.jobs[jobName];
  if (job === undefined || userInput === undefined || userInput === "") return undefined;
  if (job.requireUserInput) return undefined;
  // A workflow may use it under a name of its own.
  if (leafWorks(job.work).some(({ kind }) => kind === "Flow")) return undefined;
  const prompts = taskWorks(job.work).flatMap(({ taskId }) => promptsOf(entry.tasks[taskId]));
  return prompts.some((prompt) => variablesIn(prompt).includes("user-input"))
    ? undefined
    : `The user input is not used: no prompt of the job ${JSON.stringify(jobName)} contains $user-input.`;
}

function unusedTasks(tasks: Entry["tasks"], jobs: PreparedEntry["jobs"]): Problem[] {
  const works = Object.values(jobs).flatMap(({ work }) => taskWorks(work));
  const used = new Set(works.map(({ taskId }) => taskId));
  const delegates = [...used].some((name) => tasks[name]?.protocol !== undefined);
  // An application may start tasks by their names.
  if (Object.keys(jobs).length === 0 || delegates) return [];
  return Object.keys(tasks)
    .filter((name) => !used.has(name))
    .map((name) => warning(["tasks", name], "No job uses this task."));
}

function unusedVariables(
  { promptVariables: variables = {} }: Entry,
  places: readonly MeantPlace[],
): Problem[] {
  const used = new Set<string>();
  const texts = places.flatMap(({ meaning, value, path }) =>
    isPrompt(meaning) && path[0] !== "promptVariables" ? [value].flat().filter(isText) : [],
  );
  for (const text of texts) {
    for (const name of variablesIn(text)) {
      const variable = variables[name];
      if (variable === undefined || used.has(name)) continue;
      used.add(name);
      texts.push(...[variable].flat());
    }
  }
  return Object.keys(variables)
    .filter((name) => !used.has(name))
    .map((name) => warning(["promptVariables", name], "No prompt uses this variable."));
}

/** Finds prompts that are sent before the model can have reported what they use: variables don't outlive a run. */
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
      const hint = "$previous-result is what the step before this one reported";
      return [warning(["tasks", name, ...at], reason, hint)];
    });
    before += ` ${promptText(one)} `;
    if (one === prompt) before += criteria?.toolExecuted?.join(" ") ?? "";
    return problems;
  });
}

function neverRepeats(work: unknown): boolean {
  if (!isRecord(work) || work["kind"] !== "Loop") return false;
  const { atMost, preCondition, postCondition } = work;
  // A preCondition decides on the only pass.
  if (atMost === 1) return preCondition === undefined;
  return atMost === undefined && postCondition === undefined;
}
