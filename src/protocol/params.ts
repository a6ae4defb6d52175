/**
 * References are `${{variables.NAME…}}`, `${{results.ID…}}`, `${{tasks.ID.status}}`; `$${{` is a literal `${{`. What one
 * inserts is never searched for references. Only own, enumerable properties are found, so nothing of a prototype. The
 * text is counted while it is assembled, so that references to large results can't fill the memory.
 */
import { isList, isRecord } from "../text/guards.ts";
import type { Path } from "../document/diagnostic.ts";
import type { ValueProblem } from "../document/value-check.ts";
import { truncateUnredacted } from "../text/truncate.ts";
import type { Params, Target } from "./catalogue.ts";
import type { ExecutorLimits } from "./catalogue.ts";

interface Reference {
  readonly root: "variables" | "results" | "tasks";
  readonly name: string;
  readonly path: readonly string[];
}

type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "reference"; readonly reference: Reference; readonly source: string }
  | { readonly kind: "invalid"; readonly source: string };

export function partsOf(template: string): readonly Part[] {
  const [first = "", ...rest] = template.split(/(\$?\$\{\{)/);
  const parts: Part[] = [{ kind: "text", text: first }];
  for (const [nth, after] of rest.entries()) {
    if (nth % 2 === 0) continue;
    const end = after.indexOf("}}");
    if (rest[nth - 1] === "$${{") parts.push({ kind: "text", text: `\${{${after}` });
    else if (end === -1) {
      const source = truncateUnredacted(`\${{${after}`, 40, "…");
      parts.push({ kind: "invalid", source });
    } else {
      const source = `\${{${after.slice(0, end + 2)}`;
      const reference = referenceOf(after.slice(0, end));
      parts.push(
        reference === undefined
          ? { kind: "invalid", source: truncateUnredacted(source, 100, "…") }
          : { kind: "reference", reference, source },
        { kind: "text", text: after.slice(end + 2) },
      );
    }
  }
  return parts.filter((part) => part.kind !== "text" || part.text !== "");
}

function referenceOf(inner: string): Reference | undefined {
  const [root, name, ...path] = inner.trim().split(".");
  if (name === undefined || [name, ...path].some((key) => key.trim() === "")) return undefined;
  switch (root) {
    case "variables":
    case "results":
      return { root, name, path };
    case "tasks":
      return path.join(".") === "status" ? { root, name, path: [] } : undefined;
    default:
      return undefined;
  }
}

export interface FoundPart {
  readonly path: Path;
  readonly part: Exclude<Part, { kind: "text" }>;
}

export function referencesIn(value: unknown): FoundPart[] {
  const found: FoundPart[] = [];
  const visit = (one: unknown, path: Path): void => {
    if (typeof one === "string") {
      if (!one.includes("${{")) return;
      for (const part of partsOf(one)) if (part.kind !== "text") found.push({ path, part });
    } else if (isList(one)) one.forEach((item, index) => visit(item, [...path, index]));
    else if (isRecord(one)) for (const key of Object.keys(one)) visit(one[key], [...path, key]);
  };
  visit(value, []);
  return found;
}

export interface Names {
  variable(name: string): unknown;
  result(id: string): unknown;
  status(id: string): string | undefined;
}

type Interpolated =
  | { readonly kind: "interpolated"; readonly value: unknown }
  | { readonly kind: "unresolved"; readonly reason: string };

class Unresolved extends Error {}

export function interpolate(value: unknown, names: Names, limit: number): Interpolated {
  let rest = limit;
  const spend = (text: string): string => {
    rest -= text.length;
    if (rest < 0) throw new Unresolved(`The params are larger than ${limit} characters.`);
    return text;
  };
  const insert = (reference: Reference, source: string): unknown => {
    const found = lookUp(reference, names);
    if (found === undefined) throw new Unresolved(`Nothing is at ${source}.`);
    return found;
  };
  const textOf = (inserted: unknown): string =>
    typeof inserted === "string" ? inserted : JSON.stringify(inserted);
  const replace = (template: string): unknown => {
    if (!template.includes("${{")) return spend(template);
    const parts = partsOf(template);
    const [only] = parts;
    if (parts.length === 1 && only?.kind === "reference") {
      return JSON.parse(spend(JSON.stringify(insert(only.reference, only.source))));
    }
    return parts
      .map((part) => {
        switch (part.kind) {
          case "text":
            return spend(part.text);
          case "reference":
            return spend(textOf(insert(part.reference, part.source)));
          case "invalid":
            throw new Unresolved(`${part.source} is not a reference.`);
        }
      })
      .join("");
  };
  const copy = (one: unknown): unknown => {
    if (typeof one === "string") return replace(one);
    if (isList(one)) return one.map(copy);
    if (!isRecord(one)) return one;
    return Object.fromEntries(Object.keys(one).map((key) => [spend(key), copy(one[key])]));
  };
  try {
    return { kind: "interpolated", value: copy(value) };
  } catch (error) {
    if (error instanceof Unresolved) return { kind: "unresolved", reason: error.message };
    throw error;
  }
}

function lookUp({ root, name, path }: Reference, names: Names): unknown {
  if (root === "tasks") return names.status(name);
  let value = root === "variables" ? names.variable(name) : names.result(name);
  for (const key of path) {
    if (typeof value !== "object" || value === null) return undefined;
    if (!Object.prototype.propertyIsEnumerable.call(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

/** The value of a reference is unknown: a problem with it, or around it, only counts if it doesn't depend on it. */
export function checkTemplate(target: Target, params: Params): readonly ValueProblem[] {
  const open = referencesIn(templateOf(target, params)).map((found) => found.path);
  return target
    .check(ordinary(params))
    .filter(
      ({ at, ofShape, conditional }) =>
        open.length === 0 ||
        (!conditional && !open.some((one) => isWithin(at, one) || (!ofShape && isWithin(one, at)))),
    );
}

export interface ParamPorts {
  readonly limits: ExecutorLimits;
  readonly names: Names;
}

export function finalParams(
  target: Target,
  template: Params,
  { limits, names }: ParamPorts,
): Params | string {
  const result = interpolate(templateOf(target, template), names, limits.paramsCharacters);
  if (result.kind === "unresolved") return result.reason;
  const params = { ...ordinary(template), ...Object(result.value) };
  const [problem] = target.check(params);
  if (problem === undefined) return params;
  return `Invalid params: ${["params", ...problem.path].join(".")}: ${problem.reason}`;
}

export function templateOf(target: Target, params: Params): Params {
  if (target.kind !== "trap_card") return params;
  const { action: _card, ...template } = params;
  return template;
}

function ordinary(params: Params): Params {
  const copied = ordinaryValue(params);
  return isRecord(copied) ? copied : {};
}

export function ordinaryValue(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function isWithin(inner: Path, outer: Path): boolean {
  return outer.every((key, index) => String(key) === String(inner[index]));
}
