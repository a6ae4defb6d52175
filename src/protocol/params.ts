/** Params against the schema of what is called, before and after references are replaced. */
import { isList, isRecord } from "../document/guards.ts";
import type { Path } from "../document/problem.ts";
import type { ValueCheck, ValueProblem } from "../document/value-check.ts";
import type { Target } from "./catalogue.ts";
import { referencesIn } from "./references.ts";

export interface ParamProblem {
  readonly path: Path;
  readonly reason: string;
}

type Params = Readonly<Record<string, unknown>>;

/**
 * What is wrong whatever the references will be replaced by. The value of a reference is unknown, so a problem with
 * it, or with what contains it, only counts if it doesn't depend on the value.
 */
export function checkTemplate(check: ValueCheck, target: Target, params: Params): ParamProblem[] {
  const open = openPaths(templateOf(target, params));
  const certain = check(ordinary(params)).filter((problem) => {
    if (open.length === 0) return true;
    if (problem.conditional) return false;
    const related = open.filter((path) => isWithin(problem.at, path) || isWithin(path, problem.at));
    return (
      related.length === 0 ||
      (shapeOnly(problem) && !open.some((path) => isWithin(problem.at, path)))
    );
  });
  return [...certain, ...checkOperation(target, params)];
}

export function checkFinal(check: ValueCheck, target: Target, params: Params): ParamProblem[] {
  return [...check(params), ...checkOperation(target, params)];
}

/** The part in which references are replaced when the action is dispatched: not what a card holds for later. */
export function templateOf(target: Target, params: Params): Params {
  if (target.kind !== "trap_card" || !("action" in params)) return params;
  return Object.fromEntries(
    Object.keys(params)
      .filter((key) => key !== "action")
      .map((key) => [key, params[key]]),
  );
}

/** As ordinary objects: schemas and tools expect their prototypes. */
export function ordinary(params: Params): Params {
  const copied = ordinaryValue(params);
  return isRecord(copied) ? copied : {};
}

export function ordinaryValue(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

export function idsOfOperation(params: Params): string[] {
  const { ids, task_id: single } = params;
  const list = [isList(ids) ? ids : [], single ?? []].flat();
  return [...new Set(list.filter((id) => typeof id === "string"))];
}

function checkOperation(target: Target, params: Params): ParamProblem[] {
  const operation = params["operation"];
  if (target.kind !== "task_manager" || typeof operation !== "string") return [];
  const needsIds = ["get_status", "get_result", "cancel"].includes(operation);
  if (!needsIds || "ids" in params || "task_id" in params) return [];
  return [{ path: ["ids"], reason: `This field is required for ${operation}.` }];
}

function openPaths(params: Params): Path[] {
  const paths = new Map<string, Path>();
  for (const { path } of referencesIn(params)) paths.set(JSON.stringify(path), path);
  return [...paths.values()];
}

const shapeKeywords = new Set([
  "required",
  "type",
  "additionalProperties",
  "propertyNames",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
]);

/** Whether a problem is about which fields or how many elements there are, not about their values. */
function shapeOnly({ keyword }: ValueProblem): boolean {
  return shapeKeywords.has(keyword);
}

function isWithin(inner: Path, outer: Path): boolean {
  return outer.every((key, index) => String(key) === String(inner[index]));
}
