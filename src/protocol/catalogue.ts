import { suggestion } from "../document/diagnostic.ts";
import { compileValueCheck, type ValueCheck } from "../document/value-check.ts";
import type { CallContext, Relic, Tool, ToolOutcome } from "../tools/tool.ts";
import { truncateUnredacted } from "../text/truncate.ts";
import { type ActionSpec, messageSchema } from "./message-schema.ts";
import type { ProblemCode } from "./read-message.ts";

/** A named bundle of tools and relics. A member is addressed as `bundle.member`. */
export interface Monument {
  /** Unique among monuments. */
  readonly name: string;
  /** Names of tools. */
  readonly tools: readonly string[];
  /** Names of relics. */
  readonly relics: readonly string[];
}

/** Runs another task. */
export interface Delegation {
  /** The tasks that may be run. */
  readonly tasks: readonly string[];
  /** The time limit of a run. Default: `limits.delegateSeconds`. */
  readonly timeoutSeconds?: number;
  /** Runs one of `tasks` to its end; the value is its answer. */
  run(
    call: { readonly id: string; readonly task: string; readonly input: string },
    context: CallContext,
  ): Promise<ToolOutcome>;
}

export type Target =
  | { readonly kind: "group" }
  | { readonly kind: "tool"; readonly tool: Tool }
  | { readonly kind: "relic"; readonly relic: Relic }
  | { readonly kind: "task_manager" }
  | { readonly kind: "trap_card" }
  | { readonly kind: "delegate"; readonly delegation: Delegation };

interface Unknown {
  readonly kind: "unknown";
  readonly code: ProblemCode;
  readonly message: string;
}

export function isReserved(name: string): boolean {
  return ["task_manager", "trap_card", "delegate"].includes(name);
}

export interface Catalogue {
  readonly tools: readonly Tool[];
  readonly relics: ReadonlyMap<string, Relic>;
  resolve(action: ActionSpec): Target | Unknown;
  check(target: Target): ValueCheck;
}

export interface CatalogueParts {
  /** All of them may be called. */
  readonly tools: readonly Tool[];
  /** Relics that documents may choose and query. */
  readonly relics?: readonly Relic[];
  /** Bundles of these tools and relics. */
  readonly monuments?: readonly Monument[];
  /** Absent: there is no `delegate`. */
  readonly delegation?: Delegation;
  /** Internal functions that can't be called. Default: none. */
  readonly without?: readonly Standard[];
}

/** Internal functions that are available unless they are denied. */
export type Standard = "task_manager" | "trap_card";

export type Refuse = (reason: string) => void;

/** Throws if a name is used twice or reserved, or a schema is invalid; with `refuse`, such a tool is left out. */
export function createCatalogue(parts: CatalogueParts, refuse?: Refuse): Catalogue {
  const tools = new Map<string, Tool>();
  const checks = new Map<string, ValueCheck>();
  for (const tool of parts.tools) {
    const { name } = tool;
    try {
      if (isReserved(name)) throw new Error(`The name "${name}" is reserved. Rename the tool.`);
      if (tools.has(name)) throw new Error(`There are two tools with the name "${name}".`);
      checks.set(name, compiled(tool));
      tools.set(name, tool);
    } catch (error) {
      if (refuse === undefined) throw error;
      refuse(error instanceof Error ? error.message : String(error));
    }
  }
  const relics = byName("relic", parts.relics ?? []);
  const monuments = byName("monument", parts.monuments ?? []);
  const without = new Set<string>(parts.without);
  const standard = (["task_manager", "trap_card"] as const).filter((name) => !without.has(name));
  const internals = new Map<string, Target>(standard.map((kind) => [kind, { kind }]));
  const { delegation } = parts;
  if (delegation !== undefined) internals.set("delegate", { kind: "delegate", delegation });
  const resolve = (action: ActionSpec): Target | Unknown => {
    const { action: name, type } = action;
    if (action.sub_actions !== undefined) return { kind: "group" };
    switch (type) {
      case "tool": {
        const tool = tools.get(name);
        if (tool !== undefined) return { kind: "tool", tool };
        const internal = internals.get(name);
        if (internal !== undefined) return internal;
        return unknown("unknown_tool", "tool", name, [...tools.keys(), ...internals.keys()]);
      }
      case "internal": {
        const internal = internals.get(name);
        if (internal !== undefined) return internal;
        return unknown("unknown_internal", "internal function", name, [...internals.keys()]);
      }
      case "relic": {
        const relic = relics.get(name);
        if (relic !== undefined) return { kind: "relic", relic };
        return unknown("unknown_relic", "relic", name, [...relics.keys()]);
      }
      case "monument":
        return member(name);
    }
  };
  const member = (address: string): Target | Unknown => {
    const dot = address.indexOf(".");
    const bundle = dot === -1 ? address : address.slice(0, dot);
    const name = dot === -1 ? "" : address.slice(dot + 1);
    const monument = monuments.get(bundle);
    if (monument === undefined) {
      return unknown("unknown_monument", "monument", bundle, [...monuments.keys()]);
    }
    const tool = monument.tools.includes(name) ? tools.get(name) : undefined;
    if (tool !== undefined) return { kind: "tool", tool };
    const relic = monument.relics.includes(name) ? relics.get(name) : undefined;
    if (relic !== undefined) return { kind: "relic", relic };
    const members = [
      ...monument.tools.filter((one) => tools.has(one)),
      ...monument.relics.filter((one) => relics.has(one)),
    ].map((one) => `${bundle}.${one}`);
    return unknown("unknown_member", "member of a monument", address, members);
  };
  return {
    tools: [...tools.values()],
    relics,
    resolve,
    check: (target) => {
      if (target.kind === "tool") return checks.get(target.tool.name) ?? noProblems;
      return builtIn[target.kind];
    },
  };
}

export function isReadOnly(target: Target, params: Readonly<Record<string, unknown>>): boolean {
  switch (target.kind) {
    case "tool":
      return target.tool.readOnly === true;
    case "group":
    case "relic":
      return true;
    case "task_manager":
      return params["operation"] !== "cancel";
    case "trap_card":
      return params["operation"] === "list";
    case "delegate":
      return false;
  }
}

/** Internals only look at the executor's own tables. */
export function isParallelSafe(target: Target): boolean {
  return target.kind !== "tool" || target.tool.parallelSafe === true;
}

const noProblems: ValueCheck = () => [];
const { $defs } = messageSchema;
const builtIn: Readonly<Record<Exclude<Target["kind"], "tool">, ValueCheck>> = {
  group: noProblems,
  relic: ownCheck({
    type: "object",
    properties: { query: { type: "string" } },
    additionalProperties: false,
  }),
  task_manager: ownCheck({ $ref: "#/$defs/task_manager", $defs }),
  trap_card: ownCheck({ $ref: "#/$defs/trap_card", $defs }),
  delegate: ownCheck({ $ref: "#/$defs/delegate", $defs }),
};

function ownCheck(schema: object): ValueCheck {
  let check: ValueCheck | undefined;
  return (value) => (check ??= compile("built-in", schema))(value);
}

function compiled(tool: Tool): ValueCheck {
  return tool.checksParams === true ? noProblems : compile(tool.name, tool.parameters);
}

function compile(name: string, schema: object): ValueCheck {
  const result = compileValueCheck(schema);
  if (result.kind === "compiled") return result.check;
  throw new Error(
    `The parameters of the tool "${name}" are not a valid JSON Schema: ${result.reason}`,
  );
}

function byName<T extends { readonly name: string }>(
  kind: string,
  list: readonly T[],
): ReadonlyMap<string, T> {
  const map = new Map<string, T>();
  for (const one of list) {
    if (map.has(one.name)) throw new Error(`There are two ${kind}s with the name "${one.name}".`);
    map.set(one.name, one);
  }
  return map;
}

function unknown(code: ProblemCode, kind: string, name: string, names: readonly string[]): Unknown {
  const { hint } = suggestion(name, names);
  const list = names.length === 0 ? "there is none" : `known: ${names.slice(0, 30).join(", ")}`;
  const shown = JSON.stringify(truncateUnredacted(name, 100, "…"));
  return { kind: "unknown", code, message: `Unknown ${kind} ${shown} (${hint ?? list}).` };
}
