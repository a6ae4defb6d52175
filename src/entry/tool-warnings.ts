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
import { allJobTools, protocolTools, runtimeTools } from "./known-tools.ts";

export interface ToolPermissions {
  readonly allowsTool: (name: string) => boolean;
  readonly allowsServer: (name: string) => boolean;
  readonly offers: (name: string) => boolean;
}

export interface ToolWarningChecks {
  readonly toolPermissions?: (permissions: Permissions) => ToolPermissions;
  readonly otherTools?: readonly string[];
  readonly hasCredential?: (text: string) => boolean;
}

/** More suggestions would take longer than reading the file. */
const mostSuggestions = 100;

export function toolWarnings(
  entry: Entry,
  usesFlows: boolean,
  { toolPermissions, otherTools, hasCredential }: ToolWarningChecks,
): Problem[] {
  return [
    ...(toolPermissions === undefined
      ? []
      : [
          ...patternWarnings(entry, otherTools, toolPermissions),
          ...callWarnings(entry, usesFlows, toolPermissions),
        ]),
    ...knowledgeWarnings(entry),
    ...iterationWarnings(entry),
    ...programWarnings(entry, hasCredential),
  ];
}

/** Of the programs and addresses of tools and servers. */
export function programWarnings(
  { tools = {}, mcpServers = {} }: DeclaredTools,
  hasCredential: (text: string) => boolean = () => false,
): Problem[] {
  return [
    ...Object.entries(tools).flatMap(([name, tool]) =>
      commandWarnings(["tools", name], tool, hasCredential),
    ),
    ...Object.entries(mcpServers).flatMap(([name, server]) =>
      serverWarnings(["mcpServers", name], server, hasCredential),
    ),
  ];
}

function callWarnings(
  { tasks, permissions: ofEntry = "read-only", tools = {}, mcpServers = {}, relics = {} }: Entry,
  usesFlows: boolean,
  of: (permissions: Permissions) => ToolPermissions,
): Problem[] {
  const known = new Map<Permissions, ToolPermissions>();
  const never = Object.entries(tasks).flatMap(([name, { permissions = ofEntry, criteria }]) => {
    const rules = known.get(permissions) ?? of(permissions);
    known.set(permissions, rules);
    return (criteria?.toolExecuted ?? []).flatMap((tool, index) => {
      if (allJobTools.includes(tool) || rules.allowsTool(tool)) return [];
      const path = ["tasks", name, "criteria", "toolExecuted", index];
      const reason = `The criteria can't hold, because the task may not call ${JSON.stringify(tool)}.`;
      return [warning(path, reason, `name it in permissions.tools: [${quoted(tool)}]`)];
    });
  });
  const all = [...known.values()];
  const [toolNames, servers] = [Object.keys(tools), Object.keys(mcpServers)];
  const isCallable = ({ allowsTool, allowsServer }: ToolPermissions): boolean =>
    toolNames.some((name) => allowsTool(name)) || servers.some((name) => allowsServer(name));
  const declares = toolNames.length + servers.length > 0;
  // Where no task may call anything, the tools are what is warned about.
  const others = declares ? all.some(isCallable) : Object.keys(tasks).length === 1;
  const idle = Object.entries(tasks).flatMap(([name, { permissions = ofEntry, ...task }]) => {
    const rules = known.get(permissions);
    const { protocol, relics: own = Object.keys(relics) } = task;
    if (protocol === undefined || !others || rules === undefined || isCallable(rules)) return [];
    if (!declares && own.length > 0) return [];
    const reason = "This task may call no tool, so its model has no actions to choose from.";
    const hint = declares ? "name tools in its permissions.tools" : "declare tools in the entry";
    return [warning(["tasks", name, "protocol"], reason, hint)];
  });
  if (usesFlows || all.length === 0) return [...idle, ...never];
  const unreachable = (path: Path, what: string, pattern: string): Problem =>
    warning(
      path,
      `No task may ${what}: permissions.tools doesn't allow it.`,
      `name it in the permissions of a task: { tools: [${quoted(pattern)}] }`,
    );
  return [
    ...toolNames
      .filter((name) => !all.some((rules) => rules.allowsTool(name)))
      .map((name) => unreachable(["tools", name], "call this tool", name)),
    ...servers
      .filter((name) => !all.some((rules) => rules.allowsServer(name)))
      .map((name) => unreachable(["mcpServers", name], "use this server", `${name}/*`)),
    ...idle,
    ...never,
  ];
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
  otherTools: readonly string[] = [],
  of: (permissions: Permissions) => ToolPermissions,
): Problem[] {
  const check = toolPatternCheck(entry, otherTools);
  const warn = (path: Path, permissions: Permissions | undefined, users: readonly Task[]) => {
    const usesProtocol = users.some(({ protocol }) => protocol !== undefined);
    const patterns = patternsOf(permissions);
    const vain: ToolPatternCheck = (pattern) => {
      if (typeof permissions !== "object" || !pattern.startsWith("!")) return undefined;
      if (otherTools.includes(pattern.slice(1))) return undefined;
      const tools = patterns.filter((one) => one !== pattern);
      return vainDenial(pattern.slice(1), of({ ...permissions, tools }), usesProtocol);
    };
    return unknownPatterns([...path, "tools"], patterns, (one) => check(one) ?? vain(one));
  };
  const { permissions: ofEntry, tasks } = entry;
  const heirs = Object.values(tasks).filter(({ permissions }) => permissions === undefined);
  return [
    ...warn(["permissions"], ofEntry, heirs),
    ...Object.entries(tasks).flatMap(([name, task]) =>
      warn(["tasks", name, "permissions"], task.permissions, [task]),
    ),
  ];
}

/** Why a denial takes nothing away from what the rest of the permissions allows; undefined if it does. */
function vainDenial(
  pattern: string,
  rest: ToolPermissions,
  usesProtocol: boolean,
): readonly [reason: string] | undefined {
  if (pattern === "*") return undefined;
  if (allJobTools.includes(pattern))
    return ["This denial has no effect: job tools can't be denied."];
  const name = pattern.replace(/^\.\//, "");
  if (name.startsWith("delegate/") || protocolTools.some((one) => one === name)) {
    const why = "no task that it concerns has protocol: actions";
    return usesProtocol ? undefined : [`This denial has no effect: ${why}.`];
  }
  const isAllowed = name.endsWith("/*")
    ? rest.allowsServer(name.slice(0, -2))
    : rest.allowsTool(name) || (runtimeTools.includes(name) && rest.offers(name));
  return isAllowed ? undefined : ["This denial has no effect: nothing allows it."];
}

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

function knowledgeWarnings({ tasks, relics = {}, monuments = {} }: Entry): Problem[] {
  const users = Object.values(tasks).filter(({ protocol }) => protocol !== undefined);
  const hint = users.length === 0 ? "tasks with protocol: actions can use it" : undefined;
  const unused = (field: "relics" | "monuments", declared: object, what: string): Problem[] => {
    const used = new Set(users.flatMap((task) => task[field] ?? Object.keys(declared)));
    return Object.keys(declared)
      .filter((name) => !used.has(name))
      .map((name) => warning([field, name], `No task uses this ${what}.`, hint));
  };
  return [...unused("relics", relics, "relic"), ...unused("monuments", monuments, "monument")];
}

function iterationWarnings({ tasks, limits }: Entry): Problem[] {
  const calls = limits?.modelCalls ?? defaultLimits.modelCalls;
  return Object.entries(tasks).flatMap(([name, { iterations = 0 }]) => {
    if (iterations <= calls) return [];
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

/** As in YAML, where a star has to be quoted. */
export function quoted(pattern: string): string {
  return /^[\w-]+$/.test(pattern) ? pattern : JSON.stringify(pattern);
}
