/** Finds tools, servers, relics and monuments that probably can't be used as intended. Only for valid entries. Pure. */
import type { Path, Problem } from "../document/problem.ts";
import { didYouMean, suggest } from "../document/suggest.ts";
import { warning } from "./problems.ts";
import {
  availableTools,
  defaultLimits,
  type DeclaredTools,
  type Entry,
  type McpServer,
  type Permissions,
  type Task,
  type ToolDeclaration,
} from "./model.ts";
import { protocolTools, runtimeTools, reportTools } from "./reserved-names.ts";
import { flowLeaves } from "./work-paths.ts";

/** What permissions say about the tools of an entry. */
export interface ToolPermissions {
  readonly allowsTool: (name: string) => boolean;
  readonly allowsServer: (name: string) => boolean;
  /** Whether a session has this tool of the runtime. */
  readonly offers: (name: string) => boolean;
}

export interface ToolWarningChecks {
  readonly toolPermissions?: (permissions: Permissions) => ToolPermissions;
  /** Names of tools that are neither the entry's nor the runtime's. */
  readonly otherTools?: readonly string[];
  /** Whether a text holds what looks like a token or a password. */
  readonly hasCredential?: (text: string) => boolean;
}

/** More suggestions would take longer than reading the file. */
const mostSuggestions = 100;

export function toolWarnings(entry: Entry, checks: ToolWarningChecks): Problem[] {
  const { toolPermissions, otherTools = [], hasCredential = () => false } = checks;
  return [
    ...(toolPermissions === undefined
      ? []
      : [
          ...patternWarnings(entry, otherTools, toolPermissions),
          ...callWarnings(entry, toolPermissions),
        ]),
    ...knowledgeWarnings(entry),
    ...iterationWarnings(entry),
    ...Object.entries(entry.tools ?? {}).flatMap(([name, tool]) =>
      commandWarnings(["tools", name], tool, hasCredential),
    ),
    ...Object.entries(entry.mcpServers ?? {}).flatMap(([name, server]) =>
      serverWarnings(["mcpServers", name], server, hasCredential),
    ),
  ];
}

/** What no task may call, and tasks that can't call what they should. */
function callWarnings(entry: Entry, of: (permissions: Permissions) => ToolPermissions): Problem[] {
  const known = new Map<Permissions, ToolPermissions>();
  const rulesOf = (task: Task): ToolPermissions => {
    const permissions = task.permissions ?? entry.permissions ?? "read-only";
    const rules = known.get(permissions) ?? of(permissions);
    known.set(permissions, rules);
    return rules;
  };
  const tasks = Object.entries(entry.tasks).map(([name, task]) => ({
    name,
    task,
    rules: rulesOf(task),
  }));
  if (tasks.length === 0) return [];
  const all = [...known.values()];
  const tools = Object.keys(entry.tools ?? {});
  const servers = Object.keys(entry.mcpServers ?? {});
  const isCallable = ({ allowsTool, allowsServer }: ToolPermissions): boolean =>
    tools.some((name) => allowsTool(name)) || servers.some((name) => allowsServer(name));

  // The agents of a workflow may call them: its file says so.
  const isElsewhere = flowLeaves(entry).length > 0;
  const unreachable = [
    ...tools
      .filter((name) => !all.some((rules) => rules.allowsTool(name)))
      .map((name) => ({ path: ["tools", name], what: "call this tool", pattern: name })),
    ...servers
      .filter((name) => !all.some((rules) => rules.allowsServer(name)))
      .map((name) => ({
        path: ["mcpServers", name],
        what: "use this server",
        pattern: `${name}/*`,
      })),
  ].map(({ path, what, pattern }) =>
    warning(
      path,
      `No task may ${what}: permissions.tools doesn't allow it.`,
      `name it in the permissions of a task: { tools: [${quoted(pattern)}] }`,
    ),
  );
  // Where no task may call anything, the tools are what is warned about.
  const anyCallable = all.some(isCallable);
  const declared = tools.length + servers.length > 0;
  const mute = tasks.filter(({ task, rules }) => {
    if (task.protocol === undefined || isCallable(rules)) return false;
    return declared ? anyCallable : tasks.length === 1 && relicsOf(entry, task).length === 0;
  });
  const idle = mute.map(({ name }) =>
    warning(
      ["tasks", name, "protocol"],
      "This task may call no tool, so its model has no actions to choose from.",
      declared ? "name tools in its permissions.tools" : "declare tools in the entry",
    ),
  );
  const never = tasks.flatMap(({ name, task, rules }) =>
    (task.criteria?.toolExecuted ?? []).flatMap((tool, index) => {
      if (isJobTool(tool) || rules.allowsTool(tool)) return [];
      const path = ["tasks", name, "criteria", "toolExecuted", index];
      const reason = `The criteria can't hold, because the task may not call ${JSON.stringify(tool)}.`;
      return [warning(path, reason, `name it in permissions.tools: [${quoted(tool)}]`)];
    }),
  );
  return [...(isElsewhere ? [] : unreachable), ...idle, ...never];
}

/** Why a pattern of tools, as in `permissions.tools`, names nothing; undefined if it names something. */
export type ToolPatternCheck = (
  pattern: string,
) => readonly [reason: string, hint?: string | undefined] | undefined;

export function toolPatternCheck(
  { tools = {}, mcpServers = {}, tasks = {} }: DeclaredTools & Partial<Pick<Entry, "tasks">>,
  otherTools: readonly string[] = [],
): ToolPatternCheck {
  const plain = new Set<string>([
    ...Object.keys(tools),
    ...runtimeTools,
    ...availableTools,
    ...protocolTools,
    ...otherTools,
  ]);
  const servers = new Map(Object.entries(mcpServers));
  let suggestions = mostSuggestions;
  const similar = (name: string, names: Iterable<string>): string | undefined => {
    suggestions -= 1;
    const best = suggestions < 0 ? undefined : suggest(name, names);
    return best === undefined ? undefined : didYouMean(best);
  };
  return (pattern) => {
    const name = pattern.replace(/^!/, "").replace(/^\.\//, "");
    const slash = name.indexOf("/");
    if (name === "*" || plain.has(name)) return undefined;
    if (slash < 0) {
      const reason = `There is no tool ${JSON.stringify(name)}.`;
      const hint = servers.has(name) ? `write "${name}/*" for the tools of this server` : undefined;
      return [reason, hint ?? similar(name, [...plain, ...servers.keys()])];
    }
    const [server, tool] = [name.slice(0, slash), name.slice(slash + 1)];
    if (server === "delegate") {
      if (tool === "*" || Object.hasOwn(tasks, tool)) return undefined;
      return [`There is no task ${JSON.stringify(tool)}.`, similar(tool, Object.keys(tasks))];
    }
    const declaration = servers.get(server);
    if (declaration === undefined) {
      return [`There is no MCP server ${JSON.stringify(server)}.`, similar(server, servers.keys())];
    }
    const offered = declaration.tools;
    if (tool === "*" || offered === undefined || offered.includes(tool)) return undefined;
    const reason = `The tools of the MCP server ${JSON.stringify(server)} don't include ${JSON.stringify(tool)}.`;
    return [reason, similar(tool, offered)];
  };
}

function patternWarnings(
  entry: Entry,
  otherTools: readonly string[],
  of: (permissions: Permissions) => ToolPermissions,
): Problem[] {
  const check = toolPatternCheck(entry, otherTools);
  const tasks = Object.values(entry.tasks);
  return [
    {
      path: ["permissions"],
      permissions: entry.permissions,
      users: tasks.filter((task) => task.permissions === undefined),
    },
    ...Object.entries(entry.tasks).map(([name, task]) => ({
      path: ["tasks", name, "permissions"],
      permissions: task.permissions,
      users: [task],
    })),
  ].flatMap(({ path, permissions, users }) => {
    if (typeof permissions !== "object") return [];
    const { tools = [] } = permissions;
    const hasProtocol = users.some(({ protocol }) => protocol !== undefined);
    return tools.flatMap((pattern, index) => {
      const others = tools.filter((_, other) => other !== index);
      const found =
        check(pattern) ??
        (pattern.startsWith("!") && !otherTools.includes(pattern.slice(1))
          ? vain(pattern.slice(1), of({ ...permissions, tools: others }), hasProtocol)
          : undefined);
      return found === undefined ? [] : [warning([...path, "tools", index], ...found)];
    });
  });
}

/** Why a denial takes nothing away from what the rest of the permissions allows; undefined if it does. */
function vain(
  pattern: string,
  rest: ToolPermissions,
  hasProtocol: boolean,
): readonly [reason: string] | undefined {
  if (pattern === "*") return undefined;
  if (isJobTool(pattern)) return ["This denial has no effect: job tools can't be denied."];
  const name = pattern.replace(/^\.\//, "");
  const isOfProtocol =
    (protocolTools as readonly string[]).includes(name) || name.startsWith("delegate/");
  const isAllowed = isOfProtocol
    ? hasProtocol
    : name.endsWith("/*")
      ? rest.allowsServer(name.slice(0, -2))
      : rest.allowsTool(name) || (runtimeTools.includes(name) && rest.offers(name));
  if (isAllowed) return undefined;
  const why = isOfProtocol ? "no task that it concerns has protocol: actions" : "nothing allows it";
  return [`This denial has no effect: ${why}.`];
}

/** Of a list of patterns, those that name nothing. */
export function unknownPatterns(
  path: Path,
  patterns: readonly string[],
  check: ToolPatternCheck,
): Problem[] {
  return patterns.flatMap((pattern, index) => {
    const found = check(pattern);
    return found === undefined ? [] : [warning([...path, index], ...found)];
  });
}

export function patternsOf(permissions: Permissions | undefined): readonly string[] {
  return typeof permissions === "object" ? (permissions.tools ?? []) : [];
}

function relicsOf(entry: Entry, task: Task): readonly string[] {
  return task.relics ?? Object.keys(entry.relics ?? {});
}

function knowledgeWarnings(entry: Entry): Problem[] {
  const tasks = Object.values(entry.tasks).filter(({ protocol }) => protocol !== undefined);
  const relics = new Set(tasks.flatMap((task) => relicsOf(entry, task)));
  const monuments = new Set(
    tasks.flatMap((task) => task.monuments ?? Object.keys(entry.monuments ?? {})),
  );
  const hint = tasks.length === 0 ? "tasks with protocol: actions can use it" : undefined;
  return [
    ...Object.keys(entry.relics ?? {})
      .filter((name) => !relics.has(name))
      .map((name) => warning(["relics", name], "No task uses this relic.", hint)),
    ...Object.keys(entry.monuments ?? {})
      .filter((name) => !monuments.has(name))
      .map((name) => warning(["monuments", name], "No task uses this monument.", hint)),
  ];
}

function iterationWarnings({ tasks, limits }: Entry): Problem[] {
  const calls = limits?.modelCalls ?? defaultLimits.modelCalls;
  return Object.entries(tasks).flatMap(([name, { iterations }]) => {
    if (iterations === undefined || iterations <= calls) return [];
    const reason = `Each iteration is a model call, and the limit modelCalls is ${calls}.`;
    return [warning(["tasks", name, "iterations"], reason, "raise limits.modelCalls")];
  });
}

function commandWarnings(
  path: Path,
  tool: ToolDeclaration,
  hasCredential: (text: string) => boolean,
): Problem[] {
  const commands: (readonly [path: Path, command: readonly string[] | undefined])[] = [
    [[...path, "command"], "command" in tool ? tool.command : undefined],
    [[...path, "build", "command"], tool.build?.command],
  ];
  return commands.flatMap(([at, command = []]) => [
    ...(command.length === 1 ? shellWarnings([...at, 0], command[0] ?? "") : []),
    ...credentials(at, command, hasCredential),
  ]);
}

function serverWarnings(
  path: Path,
  server: McpServer,
  hasCredential: (text: string) => boolean,
): Problem[] {
  if ("command" in server) {
    const { command, args = [], env = {} } = server;
    return [
      ...(args.length === 0 ? shellWarnings([...path, "command"], command) : []),
      ...credentials([...path, "args"], args, hasCredential),
      ...valueWarnings([...path, "env"], env, hasCredential),
    ];
  }
  const { url, headers = {} } = server;
  const inUrl = hasCredential(url) ? [warning([...path, "url"], secret, "use headers")] : [];
  return [...inUrl, ...valueWarnings([...path, "headers"], headers, hasCredential)];
}

const secret = "This looks like a credential. Everybody who can read the file can read it.";

function credentials(
  path: Path,
  texts: readonly string[],
  hasCredential: (text: string) => boolean,
): Problem[] {
  return texts.flatMap((text, index) =>
    hasCredential(text) ? [warning([...path, index], secret, "pass it in a variable")] : [],
  );
}

function valueWarnings(
  path: Path,
  values: Readonly<Record<string, string>>,
  hasCredential: (text: string) => boolean,
): Problem[] {
  return Object.entries(values).flatMap(([name, value]) => {
    // With its name: only a header of this name says what its value is.
    const literal = value.replaceAll(/(?<=^|\s)env:\S*/g, "$$");
    if (hasCredential(`${name}: ${literal}`)) {
      return [
        warning([...path, name], secret, "write env:NAME, and pass the variable with --env NAME"),
      ];
    }
    const [, variable] =
      /^(?:Bearer )?\$\{{0,2}\s*(?:secrets\.|env\.)?([A-Za-z_]\w*)\s*\}{0,2}$/.exec(value) ?? [];
    if (variable === undefined) return [];
    const reason = "This text is passed as it is: variables are not inserted.";
    return [warning([...path, name], reason, `write env:${variable}`)];
  });
}

/** A program is started without a shell, which would take a line apart. */
function shellWarnings(path: Path, command: string): Problem[] {
  if (!/^[\w.-]+\s+\S/.test(command)) return [];
  const reason = "This is taken as the name of one program: no shell splits it into words.";
  return [warning(path, reason, "list its arguments separately")];
}

function isJobTool(name: string): boolean {
  return [...availableTools, ...reportTools].includes(name);
}

/** As in YAML, where a star has to be quoted. */
export function quoted(pattern: string): string {
  return /^[\w-]+$/.test(pattern) ? pattern : JSON.stringify(pattern);
}
