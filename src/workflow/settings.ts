/** The front matter of a workflow: its schema, and what it means. */
import "../document/ajv-compiler.ts";
import type { Diagnostic } from "../document/diagnostic.ts";
import type { Locate } from "../document/problem.ts";
import { compileSchema } from "../document/schema-check.ts";
import type { Model, Permissions } from "../entry/model.ts";
import { preparePlain } from "../entry/prepare.ts";
import { runtimeTools } from "../entry/reserved-names.ts";
import type { CommandPatternCheck } from "../entry/warnings.ts";
import { validate as isSettings } from "../generated/settings-accepts.ts";
import type { Findings } from "./findings.ts";
import type { WorkflowSettings } from "./model.ts";
import { settingsSchema } from "./settings-schema.ts";

interface FrontMatter extends Omit<WorkflowSettings, "model" | "answers"> {
  readonly model?: string | Model;
  readonly answers?: Readonly<Record<string, string | readonly string[]>>;
}

const check = compileSchema<FrontMatter>(settingsSchema, "", isSettings);

export function readSettings(
  value: unknown,
  place: { readonly file: string; readonly locate: Locate },
  findings: Findings,
  checkCommandPattern: CommandPatternCheck | undefined,
  categories: readonly string[] = [],
): WorkflowSettings {
  if (!check.accepts(value)) {
    findings.include(check.diagnose(value, place).map(withoutRoot));
    return {};
  }
  const { model: written, models, answers, permissions: rules, limits: bounds, agentTools } = value;
  if (rules !== undefined) {
    findings.include(permissionProblems(rules, place, checkCommandPattern));
  }
  const known = [...Object.keys(models ?? {}), ...categories];
  const chosen = typeof written === "string" ? named(written, known) : written;
  if (chosen !== undefined && "category" in chosen && !known.includes(chosen.category)) {
    const { line, column } = place.locate(["model"]);
    const reason = `There is no model category ${JSON.stringify(chosen.category)} in models.`;
    const hint = findings.meant(chosen.category, () => known);
    findings.error({ file: place.file, at: { line, column } }, reason, hint);
  }
  for (const [index, tool] of (agentTools ?? []).entries()) {
    if (runtimeTools.includes(tool)) continue;
    const { line, column } = place.locate(["agentTools", index]);
    const reason = `There is no tool ${JSON.stringify(tool)}.`;
    const hint = findings.meant(tool, () => runtimeTools);
    findings.warn({ file: place.file, at: { line, column } }, reason, hint);
  }
  return {
    ...(chosen === undefined ? {} : { model: chosen }),
    ...(models === undefined ? {} : { models }),
    ...(rules === undefined ? {} : { permissions: rules }),
    ...(agentTools === undefined ? {} : { agentTools }),
    ...(bounds === undefined ? {} : { limits: bounds }),
    ...(answers === undefined
      ? {}
      : {
          answers: Object.fromEntries(
            Object.entries(answers).map(([id, given]) => [id, [given].flat()]),
          ),
        }),
  };
}

function named(text: string, categories: readonly string[]): Model {
  return categories.includes(text) ? { category: text } : { id: text };
}

/** As those of an entry, which has the same permissions. */
function permissionProblems(
  rules: Permissions,
  place: { readonly file: string; readonly locate: Locate },
  checkCommandPattern: CommandPatternCheck | undefined,
): readonly Diagnostic[] {
  const entry = {
    models: { driving: "model" },
    tasks: { task: { model: { category: "driving" }, prompt: "prompt" } },
    jobs: { job: { work: { kind: "Ref", taskId: "task" } } },
    permissions: rules,
  };
  const prepared = preparePlain(entry, {
    ...place,
    ...(checkCommandPattern === undefined ? {} : { checks: { checkCommandPattern } }),
  });
  return (prepared.kind === "prepared" ? prepared.warnings : prepared.diagnostics).map(withoutRoot);
}

/** `entry.permissions` and `.permissions` are the field `permissions`. */
function withoutRoot(diagnostic: Diagnostic): Diagnostic {
  return { ...diagnostic, codePath: diagnostic.codePath.replace(/^(?:entry)?\.?/, "") };
}
