import type { Path, Problem } from "../document/problem.ts";
import { didYouMean, suggest } from "../document/suggest.ts";
import { warning } from "./problems.ts";
import { availableTools, type DeclaredTools, type Entry, type Permissions } from "./model.ts";
import { allJobTools, protocolTools, runtimeTools } from "./known-tools.ts";

/** Whether permissions allow a tool, or with `NAME/*` a server. */
export type AllowsTool = (pattern: string) => boolean;

export interface ToolWarningChecks {
  readonly toolPermissions?: (permissions: Permissions) => AllowsTool;
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
          ...patternWarnings(entry, otherTools),
          ...permissionWarnings(entry, usesFlows, toolPermissions),
        ]),
    ...knowledgeWarnings(entry),
    ...programWarnings(entry, hasCredential),
  ];
}

/** Finds credentials in declarations, and text that only a shell would understand. */
export function programWarnings(
  { tools = {}, mcpServers = {} }: DeclaredTools,
  hasCredential: (text: string) => boolean = () => false,
): Problem[] {
  const credential = (path: Path, text: string): Problem[] => {
    if (!hasCredential(text.replaceAll(/(?<=^|\s)env:\S*/g, "$$"))) return [];
    const reason = "This looks like a credential. Everybody who can read the file can read it.";
    const hint = "pass it in a variable, with --env NAME; env and headers take env:NAME";
    return [warning(path, reason, hint)];
  };
  const words = (path: Path, all: readonly string[] = []): Problem[] =>
    all.flatMap((text, index) => credential([...path, index], text));
  const command = (path: Path, all: readonly string[] = []): Problem[] => [
    ...shellWarnings([...path, 0], all[0]),
    ...words(path, all),
  ];
  const values = (path: Path, all: Readonly<Record<string, string>> = {}): Problem[] =>
    Object.entries(all).flatMap(([name, value]) => {
      // The name of a header says what its value is.
      const found = credential([...path, name], `${name}: ${value}`);
      return found.length > 0 ? found : insertionWarnings([...path, name], value);
    });
  return [
    ...Object.entries(tools).flatMap(([name, tool]) => [
      ...command(["tools", name, "command"], "command" in tool ? tool.command : []),
      ...command(["tools", name, "build", "command"], tool.build?.command),
    ]),
    ...Object.entries(mcpServers).flatMap(([name, server]) => {
      const path = ["mcpServers", name];
      if ("url" in server)
        return [
          ...credential([...path, "url"], server.url),
          ...values([...path, "headers"], server.headers),
        ];
      return [
        ...shellWarnings([...path, "command"], server.command),
        ...words([...path, "args"], server.args),
        ...values([...path, "env"], server.env),
      ];
    }),
  ];
}

/** Finds criteria that can't hold, and tools and servers that no task may call. */
function permissionWarnings(
  { tasks, permissions: ofEntry = "read-only", tools = {}, mcpServers = {} }: Entry,
  usesFlows: boolean,
  of: (permissions: Permissions) => AllowsTool,
): Problem[] {
  const known = new Map<Permissions, AllowsTool>();
  const never = Object.entries(tasks).flatMap(([name, { permissions = ofEntry, criteria }]) => {
    const allows = known.get(permissions) ?? of(permissions);
    known.set(permissions, allows);
    return (criteria?.toolExecuted ?? []).flatMap((tool, index) => {
      if (allJobTools.includes(tool) || allows(tool)) return [];
      const path = ["tasks", name, "criteria", "toolExecuted", index];
      const reason = `The criteria can't hold, because the task may not call ${JSON.stringify(tool)}.`;
      return [warning(path, reason, `name it in permissions.tools: [${quoted(tool)}]`)];
    });
  });
  const all = [...known.values()];
  // A workflow has its own permissions.
  if (usesFlows || all.length === 0) return never;
  const declared = [
    ...Object.keys(tools).map((name) => [["tools", name], "call this tool", name] as const),
    ...Object.keys(mcpServers).map(
      (name) => [["mcpServers", name], "use this server", `${name}/*`] as const,
    ),
  ];
  const unreachable = declared
    .filter(([, , pattern]) => !all.some((allows) => allows(pattern)))
    .map(([path, what, pattern]) => {
      const hint = `name it in the permissions of a task: { tools: [${quoted(pattern)}] }`;
      return warning(path, `No task may ${what}: permissions.tools doesn't allow it.`, hint);
    });
  return [...unreachable, ...never];
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

function patternWarnings(entry: Entry, otherTools?: readonly string[]): Problem[] {
  const check = toolPatternCheck(entry, otherTools);
  const warn = (path: Path, permissions: Permissions | undefined): Problem[] =>
    unknownPatterns([...path, "tools"], patternsOf(permissions), check);
  return [
    ...warn(["permissions"], entry.permissions),
    ...Object.entries(entry.tasks).flatMap(([name, { permissions }]) =>
      warn(["tasks", name, "permissions"], permissions),
    ),
  ];
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

function insertionWarnings(path: Path, value: string): Problem[] {
  const [, variable] =
    /^(?:Bearer )?\$\{{0,2}\s*(?:secrets\.|env\.)?([A-Za-z_]\w*)\s*\}{0,2}$/.exec(value) ?? [];
  if (variable === undefined) return [];
  const reason = "This text is passed as it is: variables are not inserted.";
  return [warning(path, reason, `write env:${variable}`)];
}

/** Finds a line as a shell would split it: programs are started without a shell. */
function shellWarnings(path: Path, program = ""): Problem[] {
  if (!/^[\w.-]+\s+\S/.test(program)) return [];
  const reason = "This is taken as the name of one program: no shell splits it into words.";
  return [warning(path, reason, "list its arguments separately")];
}

/** Writes a pattern for YAML, where a star has to be quoted. */
export function quoted(pattern: string): string {
  return /^[\w-]+$/.test(pattern) ? pattern : JSON.stringify(pattern);
}
