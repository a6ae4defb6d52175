import { suggestion, type Path } from "../document/diagnostic.ts";
import { schemaCheck } from "../document/schema-check.ts";
import { compileValueCheck, type ValueCheck, type ValueProblem } from "../document/value-check.ts";
import type { ActionWaiting } from "../events/action.ts";
import { defined, isRecord } from "../text/guards.ts";
import { truncateUnredacted } from "../text/truncate.ts";
import { graceSeconds, toolSeconds } from "../tools/call.ts";
import {
  failed,
  type CallContext,
  type Relic,
  type Tool,
  type ToolCall,
  type ToolOutcome,
} from "../tools/tool.ts";
import { type ActionSpec, messageSchema } from "./message-schema.ts";
import type { ProblemCode } from "./read-message.ts";

const defaultLimits = {
  /** Calls at once, at least 1. Default: 8. */
  parallel: 8,
  /** Time limit of a call, unless its tool sets one. Default: 600. */
  toolSeconds,
  /** Time limit of another task, unless the delegation sets one. Default: 1,800. */
  delegateSeconds: 1800,
  /** How long a canceled call may take to stop before the executor goes on without it. Default: 10. */
  graceSeconds,
  /** The longest `wait` of the task manager. Default: 600. */
  waitSeconds: 600,
  /** A `wait` without `timeoutSeconds`. Default: 60. */
  defaultWaitSeconds: 60,
  /** Length of one result in a prompt. Default: 8,000. */
  resultCharacters: 8_000,
  /** Length of all results in a prompt together; each has at least 200. Default: 40,000. */
  deliveryCharacters: 40_000,
  /** Length of the params of an action, after references were replaced. Default: 1,000,000. */
  paramsCharacters: 1_000_000,
  /** Length of all variables, as JSON. Default: 1,000,000. */
  variablesCharacters: 1_000_000,
  /** Length of params, results and reasons in events. Default: 2,000. */
  eventCharacters: 2_000,
  /** Standing actions. Default: 8. */
  cards: 8,
  /** Time limit of a standing action, and of the excerpt of a relic. Default: 10. */
  cardSeconds: 10,
  /** Length of the output of a standing action. Default: 500. */
  cardTokens: 500,
  /** Length of the excerpt of a relic that has no `maxTokens`. Default: 2,000. */
  relicTokens: 2_000,
};

/** The bounds of an executor. All have defaults. */
export type ExecutorLimits = { readonly [Name in keyof typeof defaultLimits]: number };

export function limitsOf(limits: Partial<ExecutorLimits> = {}): ExecutorLimits {
  return { ...defaultLimits, ...defined(limits) };
}

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

export type Params = Readonly<Record<string, unknown>>;
type Run = (call: Pick<ToolCall, "id" | "params">, context: CallContext) => Promise<ToolOutcome>;

/** What an action calls, or a group. */
export interface Target {
  readonly kind: ActionWaiting["kind"];
  readonly name: string;
  /** The time limit of a call. */
  readonly seconds: number;
  /** Whether calls may overlap with other calls. */
  readonly isParallelSafe: boolean;
  readonly isReadOnly: (params: Params) => boolean;
  /** What the schema of documents can't say about its params. */
  readonly check: ValueCheck;
  /** The tasks that `delegate` may run. */
  readonly tasks?: readonly string[];
  readonly run: Run;
}

interface Unknown {
  readonly kind: "unknown";
  readonly code: ProblemCode;
  readonly message: string;
}

const reserved = ["task_manager", "trap_card", "delegate"] as const;

export function isReserved(name: string): boolean {
  return reserved.some((one) => one === name);
}

export interface Catalogue {
  readonly tools: readonly Tool[];
  readonly relics: ReadonlyMap<string, Relic>;
  resolve(action: ActionSpec): Target | Unknown;
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

/** The internal functions that work on the tables of an executor. */
export type Internals = Readonly<Record<Standard, Run>>;

interface ExecutorParts {
  readonly limits?: Partial<ExecutorLimits>;
  readonly internals?: Internals;
}

/** Throws if a name is used twice or reserved, or a schema is invalid; with `refuse`, such a tool is left out. */
export function createCatalogue(parts: CatalogueParts & ExecutorParts, refuse?: Refuse): Catalogue {
  const { relics = [], monuments = [], without = [], delegation, internals } = parts;
  const limits = limitsOf(parts.limits);
  const tools: Tool[] = [];
  const targets: Readonly<Record<ActionSpec["type"], Map<string, Target>>> = {
    tool: new Map(),
    internal: new Map(),
    relic: new Map(),
    monument: new Map(),
  };
  const add = (type: "tool" | "internal" | "relic", target: Target): void => {
    const { name } = target;
    if (targets[type].has(name)) throw new Error(`There are two ${type}s with the name "${name}".`);
    targets[type].set(name, target);
  };
  for (const tool of parts.tools) {
    const { name } = tool;
    try {
      if (isReserved(name)) throw new Error(`The name "${name}" is reserved. Rename the tool.`);
      add("tool", targetOfTool(tool, limits));
      tools.push(tool);
    } catch (error) {
      if (refuse === undefined) throw error;
      refuse(error instanceof Error ? error.message : String(error));
    }
  }
  for (const relic of relics) add("relic", targetOfRelic(relic, limits));
  const bundles = new Set<string>();
  for (const bundle of monuments) {
    if (bundles.has(bundle.name))
      throw new Error(`There are two monuments with the name "${bundle.name}".`);
    bundles.add(bundle.name);
    for (const type of ["relic", "tool"] as const)
      for (const name of bundle[`${type}s`]) {
        const target = targets[type].get(name);
        if (target !== undefined) targets.monument.set(`${bundle.name}.${name}`, target);
      }
  }
  for (const target of internalTargets(limits, internals, delegation)) {
    if (without.some((name) => name === target.name)) continue;
    add("tool", target);
    add("internal", target);
  }
  return {
    tools,
    relics: new Map(relics.map((relic) => [relic.name, relic])),
    resolve({ action: name, type, sub_actions: members }) {
      if (members !== undefined) return group;
      const target = targets[type].get(name);
      if (target !== undefined) return target;
      const known = [...targets[type].keys()];
      if (type === "internal") return unknown("unknown_internal", "internal function", name, known);
      if (type !== "monument") return unknown(`unknown_${type}`, type, name, known);
      const [bundle = ""] = name.split(".", 1);
      if (!bundles.has(bundle)) return unknown("unknown_monument", type, bundle, [...bundles]);
      const own = known.filter((member) => member.startsWith(`${bundle}.`));
      return unknown("unknown_member", "member of a monument", name, own);
    },
  };
}

export const group: Target = {
  kind: "group",
  name: "group",
  seconds: defaultLimits.toolSeconds,
  isParallelSafe: true,
  isReadOnly: () => true,
  check: () => [],
  run: () => Promise.resolve(failed("It can't be called here.")),
};

function targetOfTool(tool: Tool, { toolSeconds }: ExecutorLimits): Target {
  const { name, readOnly, parallelSafe, timeoutSeconds = toolSeconds } = tool;
  return {
    kind: "tool",
    name,
    seconds: timeoutSeconds,
    isParallelSafe: parallelSafe === true,
    isReadOnly: () => readOnly === true,
    check: tool.checksParams === true ? group.check : compile(name, tool.parameters),
    run: ({ id, params }, context) => tool.run({ id, tool: name, params }, context),
  };
}

function targetOfRelic(relic: Relic, { toolSeconds: seconds }: ExecutorLimits): Target {
  const { name } = relic;
  const run: Run = ({ params: { query } }, context) =>
    relic.read(typeof query === "string" ? query : undefined, context);
  return { ...group, kind: "relic", name, seconds, check: relicCheck, run };
}

function internalTargets(
  { waitSeconds, graceSeconds, toolSeconds, delegateSeconds }: ExecutorLimits,
  runs: Internals | undefined,
  delegation: Delegation | undefined,
): readonly Target[] {
  const internal = (kind: (typeof reserved)[number], own: Partial<Target>): Target => {
    const check = ownCheck({ $ref: `#/$defs/${kind}`, $defs: messageSchema.$defs });
    return { ...group, kind, name: kind, check, ...own };
  };
  const manager = internal("task_manager", {
    // Its waits end by themselves.
    seconds: waitSeconds + graceSeconds + 1,
    isReadOnly: ({ operation }) => operation !== "cancel",
    ...defined({ run: runs?.task_manager }),
  });
  const check: ValueCheck = (params) => [...manager.check(params), ...missingIds(params)];
  const card = internal("trap_card", {
    seconds: toolSeconds,
    isReadOnly: ({ operation }) => operation === "list",
    ...defined({ run: runs?.trap_card }),
  });
  if (delegation === undefined) return [{ ...manager, check }, card];
  const { tasks, timeoutSeconds = delegateSeconds } = delegation;
  const delegate = internal("delegate", {
    seconds: timeoutSeconds,
    isReadOnly: () => false,
    tasks,
    run({ id, params: { task, input } }, context) {
      if (typeof task === "string" && tasks.includes(task))
        return delegation.run({ id, task, input: String(input) }, context);
      return Promise.resolve(failed(`There is no task "${String(task)}".`));
    },
  });
  return [{ ...manager, check }, card, delegate];
}

const relicCheck = ownCheck({
  type: "object",
  properties: { query: { type: "string" } },
  additionalProperties: false,
});

function ownCheck(schema: object): ValueCheck {
  const check = schemaCheck(schema, "");
  return (params) => check.problems(params).map(({ path, reason }) => problemAt(path, reason));
}

function missingIds(params: unknown): readonly ValueProblem[] {
  if (!isRecord(params) || "ids" in params || "task_id" in params) return [];
  const operation = String(params["operation"]);
  if (!["get_status", "get_result", "cancel"].includes(operation)) return [];
  const reason = `This field is required for ${operation}.`;
  return [problemAt(["ids"], reason)];
}

function problemAt(path: Path, reason: string): ValueProblem {
  return { at: path, path, reason, ofShape: false, conditional: false };
}

function compile(name: string, schema: object): ValueCheck {
  const result = compileValueCheck(schema);
  if (result.kind === "compiled") return result.check;
  throw new Error(
    `The parameters of the tool "${name}" are not a valid JSON Schema: ${result.reason}`,
  );
}

function unknown(code: ProblemCode, kind: string, name: string, names: readonly string[]): Unknown {
  const { hint } = suggestion(name, names);
  const list = names.length === 0 ? "there is none" : `known: ${names.slice(0, 30).join(", ")}`;
  const shown = JSON.stringify(truncateUnredacted(name, 100, "…"));
  return { kind: "unknown", code, message: `Unknown ${kind} ${shown} (${hint ?? list}).` };
}
