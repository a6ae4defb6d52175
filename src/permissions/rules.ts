import { isAbsolute } from "node:path";
import { defined, isRecord, isText } from "../text/guards.ts";
import { readGlob } from "../entry/glob.ts";
import {
  type PermissionPreset,
  type PermissionRules,
  type Permissions,
  type SandboxMode,
  sandboxModes,
} from "../entry/model.ts";
import {
  isToolWildcard,
  runtimeTools,
  toolPatternMatches,
  toolPatternProblem,
} from "../entry/permissions.ts";
import { isPrivate } from "../platform/private-files.ts";

/** Model families know the same ability under different names: all of them, the runtime picks. */
const searchTools: readonly string[] = ["grep", "rg"];
const readTools = ["view", ...searchTools, "glob"];
const writeTools: readonly string[] = ["create", "edit", "apply_patch"];
const shellTools = [
  "bash",
  "read_bash",
  "stop_bash",
  "list_bash",
  "powershell",
  "read_powershell",
  "stop_powershell",
  "list_powershell",
];
const workspaceTools = [...readTools, ...writeTools, ...shellTools];

export interface Split {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** Everything that a preset allows. What is not listed is denied. */
interface Grants {
  /** A ceiling lets through what is not above it. */
  readonly rank: number;
  /** Any file, address, tool and request that no rule denies. */
  readonly everything: boolean;
  /** Files under the working directory, but private ones. */
  readonly writes: boolean;
  readonly shell: boolean;
  readonly tools: readonly string[];
}

export interface RuleSet extends Pick<Grants, "everything" | "writes"> {
  readonly preset: PermissionPreset;
  readonly read: Split;
  readonly write: Split;
  readonly shell: { readonly allow: true | readonly string[]; readonly deny: readonly string[] };
  readonly url: Split;
  readonly hosts: Split;
  readonly tools: Split;
}

const grants: Readonly<Record<PermissionPreset, Grants>> = {
  "read-only": { rank: 0, everything: false, writes: false, shell: false, tools: [] },
  workspace: {
    rank: 1,
    everything: false,
    writes: true,
    shell: true,
    tools: [...writeTools, ...shellTools],
  },
  all: {
    rank: 2,
    everything: true,
    writes: true,
    shell: true,
    tools: [
      ...writeTools,
      ...shellTools,
      "web_fetch",
      "sql",
      "task",
      "read_agent",
      "list_agents",
      "write_agent",
    ],
  },
};

/** A session asks about the same permissions many times. */
const ruleSets = new WeakMap<object, RuleSet>();

export function ruleSet(permissions: Permissions): RuleSet {
  if (typeof permissions !== "object" || permissions === null) return makeRuleSet(permissions);
  const rules = ruleSets.get(permissions) ?? makeRuleSet(permissions);
  ruleSets.set(permissions, rules);
  return rules;
}

function makeRuleSet(permissions: Permissions): RuleSet {
  const rules = inFull(permissions);
  const { preset } = rules;
  const granted = grants[preset];
  const shell = split(rules.shell === true ? [] : rules.shell);
  return {
    preset,
    everything: granted.everything,
    writes: granted.writes,
    read: checked("read", split(rules.read), globProblem),
    write: checked("write", split(rules.write), globProblem),
    shell: {
      allow:
        granted.shell || rules.shell === true || shell.allow.includes("*") ? true : shell.allow,
      deny: shell.deny,
    },
    url: split(rules.url),
    hosts: split(rules.hosts),
    tools: checked("tools", split(rules.tools), toolPatternProblem),
  };
}

/**
 * A task's own permissions replace the entry's, but for a `sandbox` that they leave out; the option is a ceiling, or
 * applies where neither says anything. `declared`: the names of the entry's own tools.
 */
export function effectivePermissions(
  entry: Permissions | undefined,
  task: Permissions | undefined,
  option: PermissionPreset | undefined,
  declared: readonly string[] = [],
): Permissions {
  // Invalid permissions are reported even if others replace them.
  for (const one of [entry, task, option]) if (one !== undefined) inFull(one);
  const stated = task === undefined ? entry : withSandbox(task, entry);
  if (stated === undefined) return option ?? "read-only";
  return option === undefined ? stated : ceilPermissions(stated, option, declared);
}

export function withSandbox(task: Permissions, entry: Permissions | undefined): Permissions {
  const { sandbox } = typeof entry === "object" ? entry : {};
  if (sandbox === undefined) return task;
  return typeof task === "string" ? { preset: task, sandbox } : { sandbox, ...task };
}

/** Every denial stays. A `declared` tool is a command of the repository: it stays where any command may run, a tool of a server doesn't. */
export function ceilPermissions(
  permissions: Permissions,
  ceiling: PermissionPreset,
  declared: readonly string[] = [],
): Permissions {
  const rules = inFull(permissions);
  const { rank, everything, writes, shell: anyCommand } = grants[inFull(ceiling).preset];
  if (everything) return permissions;
  const preset = grants[rules.preset].rank <= rank ? rules.preset : ceiling;
  const lists = {
    // A preset reads the working directory only; so nothing that a pattern adds to it is left.
    read: denials(rules.read),
    write: writes
      ? [...(rules.write ?? []).filter(isInside), ...denials(rules.write)]
      : denials(rules.write),
    url: denials(rules.url),
    hosts: denials(rules.hosts),
    tools: anyCommand
      ? [
          ...(rules.tools ?? []).filter((name) => workspaceTools.includes(name)),
          ...declared
            .filter((name) => rules.tools?.some((pattern) => toolPatternMatches(pattern, name)))
            .map((name) => `./${name}`),
          ...denials(rules.tools),
        ]
      : denials(rules.tools),
  };
  const shell = anyCommand ? rules.shell : denials(rules.shell === true ? [] : rules.shell);
  return {
    preset,
    ...Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)),
    ...(shell === undefined || (shell !== true && shell.length === 0) ? {} : { shell }),
    ...defined({ sandbox: rules.sandbox }),
  };
}

export function sandboxMode(permissions: Permissions, option: SandboxMode = "off"): SandboxMode {
  const { sandbox: stated = "auto" } = typeof permissions === "string" ? {} : permissions;
  return sandboxModes.findLast((mode) => mode === stated || mode === option) ?? stated;
}

/** A write pattern that can't leave the working directory or match what the preset denies. */
function isInside(glob: string): boolean {
  return (
    !glob.startsWith("!") &&
    !isAbsolute(glob) &&
    !isPrivate(glob) &&
    !/(?:^|[\\/{,(])\.\.(?:[\\/},)]|$)/.test(glob)
  );
}

function denials(patterns: readonly string[] | undefined): string[] {
  return (patterns ?? []).filter((pattern) => pattern.startsWith("!"));
}

/** Returns an object with its preset. Checks its input, because types don't protect callers in JavaScript. */
function inFull(permissions: Permissions): PermissionRules & { readonly preset: PermissionPreset } {
  const rules = typeof permissions === "object" ? permissions : { preset: permissions };
  const { preset = "read-only" }: PermissionRules = isRecord(rules) ? rules : {};
  if (!isRecord(rules) || !isText(preset) || !Object.hasOwn(grants, preset))
    throw new Error(
      `Unknown preset of permissions: ${JSON.stringify(isRecord(rules) ? preset : rules)}. Use read-only, workspace or all.`,
    );
  return { ...rules, preset };
}

/** An invalid pattern would neither allow nor deny what its author intended. */
function checked(
  field: "read" | "write" | "tools",
  patterns: Split,
  problemOf: (pattern: string) => string | undefined,
): Split {
  for (const pattern of [...patterns.allow, ...patterns.deny]) {
    const reason = problemOf(pattern);
    if (reason !== undefined)
      throw new Error(`The pattern ${JSON.stringify(pattern)} of permissions.${field}: ${reason}.`);
  }
  return patterns;
}

function globProblem(glob: string): string | undefined {
  const read = readGlob(glob);
  return typeof read === "string" ? read : undefined;
}

function split(patterns: readonly string[] | undefined): Split {
  const list = patterns ?? [];
  return {
    allow: list.filter((pattern) => !pattern.startsWith("!")),
    deny: denials(list).map((pattern) => pattern.slice(1)),
  };
}

/** One that is not the runtime's. A wildcard never covers the name of a tool of the runtime; a denial wins. */
export function allowsTool(permissions: Permissions, name: string): boolean {
  const { everything, tools } = ruleSet(permissions);
  return toolVerdict({ everything, tools }, name) === "allowed";
}

export function toolVerdict(
  { everything, tools }: Pick<RuleSet, "everything" | "tools">,
  name: string,
): "allowed" | "denied" | "unnamed" {
  if (tools.deny.some((pattern) => toolPatternMatches(pattern, name))) return "denied";
  if (everything) return "allowed";
  const patterns = runtimeTools.includes(name)
    ? tools.allow.filter((pattern) => !isToolWildcard(pattern))
    : tools.allow;
  return patterns.some((pattern) => toolPatternMatches(pattern, name)) ? "allowed" : "unnamed";
}

export function allowsServer(permissions: Permissions, server: string): boolean {
  const { everything, tools } = ruleSet(permissions);
  if (tools.deny.some((pattern) => pattern === "*" || pattern === `${server}/*`)) return false;
  return (
    everything || tools.allow.some((pattern) => pattern === "*" || pattern.startsWith(`${server}/`))
  );
}

/** A tool is offered if all of these allow it: the permissions, and the patterns that select among what they allow. */
export function boundsOf(
  permissions: Permissions,
  only: readonly string[] | undefined,
): readonly Permissions[] {
  return only === undefined ? [permissions] : [permissions, { tools: only }];
}

/** For the SDK's `availableTools`. The job tools are always there; sub-agents, `sql` and the web are not, unless named. */
export function toolsFor(permissions: Permissions): string[] {
  const rules = ruleSet(permissions);
  // The runtime's own tools only have plain names.
  const hidden = new Set(rules.tools.deny.filter(isPlainName));
  if (rules.everything && hidden.size === 0) return ["builtin:*", "mcp:*", "custom:*"];
  const names = new Set([...readTools, ...grants[rules.preset].tools]);
  const add = (more: readonly string[]): void => more.forEach((name) => names.add(name));
  if (rules.write.allow.length > 0) add(writeTools);
  if (rules.shell.allow === true || rules.shell.allow.length > 0) add(shellTools);
  if (rules.url.allow.length > 0) add(["web_fetch"]);
  add(rules.tools.allow.filter(isPlainName));
  return [
    ...[...names].filter((name) => !hidden.has(name)).map((name) => `builtin:${name}`),
    "custom:*",
  ];
}

function isPlainName(pattern: string): boolean {
  return !/[*/]/.test(pattern);
}

export function mayReadPrivateFiles(permissions: Permissions): boolean {
  const { everything, read } = ruleSet(permissions);
  return everything || read.allow.some(isPrivate);
}

export function allowsCommands(permissions: Permissions): boolean {
  const { preset, shell } = inFull(permissions);
  return grants[preset].shell || shell === true || split(shell).allow.length > 0;
}

export function listsCommands(permissions: Permissions): boolean {
  return ruleSet(permissions).shell.allow !== true;
}

export function canStartProcesses(permissions: Permissions): boolean {
  const harmless = new Set([...readTools, ...writeTools].map((name) => `builtin:${name}`));
  return toolsFor(permissions).some((name) => !harmless.has(name) && name !== "custom:*");
}

/**
 * Allowed if `permissions.tools` names it, by more than `*`: another task may have all permissions. Otherwise only if the
 * other task can do nothing that the caller can't: it must not be a way around the permissions.
 */
export function mayDelegate(caller: Permissions, task: string, other: Permissions): boolean {
  const own = ruleSet(caller);
  const covers = (pattern: string): boolean =>
    pattern === "delegate" || toolPatternMatches(pattern, `delegate/${task}`);
  if (own.tools.deny.some(covers)) return false;
  const isNamed = own.tools.allow.some((pattern) => pattern !== "*" && covers(pattern));
  return isNamed || isCertainlyWithin(other, caller);
}

function isCertainlyWithin(inner: Permissions, outer: Permissions): boolean {
  if (isUnconfined(inner) && !isUnconfined(outer)) return false;
  const less = ruleSet(inner);
  const more = ruleSet(outer);
  if (JSON.stringify(less) === JSON.stringify(more)) return true;
  const { read, write, shell, url, hosts, tools } = more;
  if (
    more.everything &&
    [read, write, shell, url, hosts, tools].every(({ deny }) => deny.length === 0)
  )
    return true;
  const offered = toolsFor(outer);
  const offersAll =
    offered.includes("builtin:*") || toolsFor(inner).every((name) => offered.includes(name));
  return onlyReads(less) && read.deny.length === 0 && offersAll;
}

function isUnconfined(permissions: Permissions): boolean {
  return typeof permissions === "object" && permissions.sandbox === "off";
}

/** In the working directory, without anything that the rules add. */
function onlyReads({ preset, read, write, shell, url, hosts, tools }: RuleSet): boolean {
  return (
    preset === "read-only" &&
    [read, write, url, hosts, tools, shell].every(
      ({ allow }) => allow !== true && allow.length === 0,
    )
  );
}
