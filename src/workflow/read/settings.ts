import { defined } from "../../text/guards.ts";
import {
  type Diagnostic,
  toDiagnostics,
  type Locate,
  type Problem,
} from "../../document/diagnostic.ts";
import { schemaCheck } from "../../document/schema-check.ts";
import { entrySchema } from "../../entry/entry-schema.ts";
import { entryCheck, warning } from "../../entry/problems.ts";
import type { DeclaredTools, Model, Permissions } from "../../entry/model.ts";
import { prepareDeclarations } from "../../entry/prepare.ts";
import { toolPatternProblem } from "../../entry/permissions.ts";
import { declarations, toolName } from "../../entry/tool-declarations.ts";
import { quoted, toolPatternCheck, type WarningChecks } from "../../entry/warnings.ts";
import type { Problems } from "./problems.ts";
import type { WorkflowSettings } from "../model.ts";

interface FrontMatter extends Omit<WorkflowSettings, "model" | "answers"> {
  readonly model?: string | Model;
  readonly answers?: Readonly<Record<string, string | readonly string[]>>;
}

const name = { type: "string", minLength: 1 } as const;
const { permissions, limits, model, namedModel, provider, tool, mcpServer } = entrySchema.$defs;

const settingsSchema = {
  type: "object",
  properties: {
    model: { oneOf: [name, { $ref: "#/$defs/model" }] },
    models: { type: "object", additionalProperties: { $ref: "#/$defs/namedModel" } },
    provider: { $ref: "#/$defs/provider" },
    permissions: { $ref: "#/$defs/permissions" },
    agentTools: { type: "array", items: name },
    tools: declarations("tool", toolName, "Commands and modules, by name."),
    mcpServers: declarations("mcpServer", toolName, "MCP servers, by name."),
    limits: { $ref: "#/$defs/limits" },
    answers: {
      type: "object",
      additionalProperties: {
        oneOf: [{ type: "string" }, { type: "array", items: { type: "string" }, minItems: 1 }],
      },
    },
  },
  additionalProperties: false,
  $defs: { model, namedModel, provider, permissions, limits, tool, mcpServer },
} as const;

const check = schemaCheck<FrontMatter>(settingsSchema, "");

export interface SettingsContext {
  readonly checks?: WarningChecks;
  /** The model categories of the entry that uses the workflow. */
  readonly categories?: readonly string[];
  readonly declared?: DeclaredTools;
  /** The permissions of the run. Default: those of the front matter, which the run may still change. */
  readonly permissions?: Permissions | ((settings: WorkflowSettings) => Permissions) | undefined;
}

export function readSettings(
  value: unknown,
  place: { readonly file: string; readonly locate: Locate },
  problems: Problems,
  context: SettingsContext,
): WorkflowSettings {
  if (!check.accepts(value)) {
    problems.include(check.diagnose(value, place).map(withoutRoot));
    return {};
  }
  const { model: written, models, answers, permissions: rules, limits: bounds, agentTools } = value;
  const { provider, tools, mcpServers } = value;
  const { categories = [], checks = {} } = context;
  const declared = defined({ permissions: rules, tools, mcpServers });
  const usable = {
    tools: { ...context.declared?.tools, ...tools },
    mcpServers: { ...context.declared?.mcpServers, ...mcpServers },
  };
  const parts = prepareDeclarations(declared, { ...place, checks, known: usable });
  problems.include(parts.diagnostics.map(withoutRoot));
  const known = [...Object.keys(models ?? {}), ...categories];
  const naming = (text: string): Model =>
    known.includes(text) ? { category: text } : { id: text };
  const chosen = typeof written === "string" ? naming(written) : written;
  if (chosen !== undefined && "category" in chosen && !known.includes(chosen.category)) {
    const { line, column } = place.locate(["model"]);
    const reason = `There is no model category ${JSON.stringify(chosen.category)} in models.`;
    const hint = problems.meant(chosen.category, known);
    problems.error({ file: place.file, at: { line, column } }, reason, hint);
  }
  const settings = {
    ...defined({ model: chosen, models, provider, permissions: rules, agentTools }),
    ...parts.declarations,
    ...defined({ limits: bounds }),
    ...(answers && {
      answers: Object.fromEntries(
        Object.entries(answers).map(([id, given]) => [id, [given].flat()]),
      ),
    }),
  };
  if (parts.declarations !== undefined) {
    const effective = permissionsOfRun(settings, context) ?? rules ?? "read-only";
    const found = agentToolProblems(value, usable, checks, effective);
    problems.include(toDiagnostics(found, place).map(withoutRoot));
  }
  return settings;
}

export function permissionsOfRun(
  settings: WorkflowSettings,
  { permissions }: SettingsContext,
): Permissions | undefined {
  return typeof permissions === "function" ? permissions(settings) : permissions;
}

/** Unknown names, and tools that no agent may call or is offered. Only for valid permissions. */
function agentToolProblems(
  { agentTools = [], tools = {}, mcpServers = {} }: FrontMatter,
  known: Required<DeclaredTools>,
  { toolPermissions, otherTools }: WarningChecks,
  effective: Permissions,
): readonly Problem[] {
  const malformed = agentTools.flatMap((pattern, index): Problem[] => {
    const reason = toolPatternProblem(pattern.replace(/^!/, ""));
    const path = ["agentTools", index];
    const codePath = entryCheck.codePath(path);
    return reason === undefined
      ? []
      : [{ path, codePath, reason: `Is not a valid pattern: ${reason}.` }];
  });
  if (malformed.length > 0) return malformed;
  const check = toolPatternCheck(known, otherTools);
  const unknown = agentTools.flatMap((pattern, index) => {
    const found = check(pattern);
    return found === undefined ? [] : [warning(["agentTools", index], ...found)];
  });
  if (toolPermissions === undefined) return unknown;
  const allowed = toolPermissions(effective);
  const offered = toolPermissions({ tools: agentTools });
  const isDeclared = (name: string): boolean =>
    Object.hasOwn(known.tools, name) || (name.includes("/") && check(name) === undefined);
  const denied = agentTools.flatMap((name, index) => {
    if (!isDeclared(name) || allowed(name)) return [];
    const reason = `The agents may not call ${JSON.stringify(name)}: permissions.tools doesn't allow it.`;
    const hint = `name it in permissions: { tools: [${quoted(name)}] }`;
    return [warning(["agentTools", index], reason, hint)];
  });
  const own = [
    ...Object.keys(tools).map((name) => ["tools", name, name, "tool"] as const),
    ...Object.keys(mcpServers).map((name) => ["mcpServers", name, `${name}/*`, "server"] as const),
  ];
  const unoffered = own
    .filter(([, , pattern]) => !offered(pattern))
    .map(([field, name, pattern, what]) => {
      const hint = `name it in agentTools: [${quoted(pattern)}]`;
      return warning([field, name], `No agent is offered this ${what}.`, hint);
    });
  return [...unknown, ...denied, ...unoffered];
}

/** `entry.permissions` and `.permissions` are the field `permissions`. */
function withoutRoot(diagnostic: Diagnostic): Diagnostic {
  return { ...diagnostic, codePath: diagnostic.codePath.replace(/^(?:entry)?\.?/, "") };
}
