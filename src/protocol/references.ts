/**
 * References in params: `${{variables.NAME…}}`, `${{results.ID…}}`, `${{tasks.ID.status}}`. `$${{` stands for a
 * literal `${{`.
 *
 * A value is read once: what a reference inserts is never searched for references. Only own, enumerable properties
 * are found, so that nothing of a prototype and no length of a list can be named. The inserted text is counted while
 * it is assembled, so that references to large results can't fill the memory.
 */
import { isList, isRecord } from "../document/guards.ts";
import type { Path } from "../document/problem.ts";
import { clipWords } from "../events/cut.ts";

export type Reference =
  | { readonly root: "variables"; readonly name: string; readonly path: readonly string[] }
  | { readonly root: "results"; readonly name: string; readonly path: readonly string[] }
  | { readonly root: "tasks"; readonly name: string; readonly path: readonly [] };

export type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "reference"; readonly reference: Reference; readonly source: string }
  | { readonly kind: "invalid"; readonly source: string };

/** Both forms of the beginning, the longer one first. */
const opening = /\$?\$\{\{/g;

export function partsOf(template: string): readonly Part[] {
  const parts: Part[] = [];
  let at = 0;
  // Kept from one opening to the next, so that a text full of openings is searched only once.
  let end = template.indexOf("}}");
  const text = (to: number): void => {
    if (to > at) parts.push({ kind: "text", text: template.slice(at, to) });
  };
  for (;;) {
    opening.lastIndex = at;
    const found = opening.exec(template);
    if (found === null) break;
    text(found.index);
    at = found.index + found[0].length;
    if (found[0].length === 4) {
      parts.push({ kind: "text", text: "${{" });
      continue;
    }
    if (end !== -1 && end < at) end = template.indexOf("}}", at);
    const next = template.indexOf("${{", at);
    if (end === -1 || (next !== -1 && next < end)) {
      parts.push({ kind: "invalid", source: template.slice(found.index, found.index + 40) });
      continue;
    }
    const source = template.slice(found.index, end + 2);
    const reference = referenceOf(template.slice(at, end));
    parts.push(
      reference === undefined
        ? { kind: "invalid", source: clipWords(source, 100) }
        : { kind: "reference", reference, source },
    );
    at = end + 2;
  }
  text(template.length);
  return parts;
}

function referenceOf(inner: string): Reference | undefined {
  const [root, name, ...path] = inner.trim().split(".");
  if (name === undefined || [name, ...path].some((key) => key.trim() === "")) return undefined;
  switch (root) {
    case "variables":
    case "results":
      return { root, name, path };
    case "tasks":
      return path.length === 1 && path[0] === "status" ? { root, name, path: [] } : undefined;
    default:
      return undefined;
  }
}

export interface FoundPart {
  readonly path: Path;
  readonly part: Exclude<Part, { kind: "text" }>;
}

/** All references in the texts of a value, and what looks like one. Keys are not searched. */
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

export function isTemplate(value: unknown): boolean {
  if (typeof value === "string") return value.includes("${{");
  if (isList(value)) return value.some(isTemplate);
  return isRecord(value) && Object.values(value).some(isTemplate);
}

export type Found = { readonly kind: "found"; readonly value: unknown } | { readonly kind: "none" };

export interface Names {
  variable(name: string): Found;
  /** The value of an action that succeeded. */
  result(id: string): Found;
  status(id: string): Found;
}

export type Interpolated =
  | { readonly kind: "interpolated"; readonly value: unknown }
  | { readonly kind: "unresolved"; readonly reason: string };

class Unresolved extends Error {}

/** A copy of `value` with its references replaced, as ordinary objects with at most `limit` characters of text. */
export function interpolate(value: unknown, names: Names, limit: number): Interpolated {
  let rest = limit;
  const spend = (text: string): string => {
    rest -= text.length;
    if (rest < 0) throw new Unresolved(`The params are larger than ${limit} characters.`);
    return text;
  };
  const insert = (reference: Reference, source: string): unknown => {
    const found = lookUp(reference, names);
    if (found.kind === "none") throw new Unresolved(`Nothing is at ${source}.`);
    return found.value;
  };
  const textOf = (inserted: unknown): string =>
    typeof inserted === "string" ? inserted : JSON.stringify(inserted);
  const replace = (template: string): unknown => {
    if (!template.includes("${{")) return spend(template);
    const parts = partsOf(template);
    const [only] = parts;
    if (parts.length === 1 && only?.kind === "reference") {
      const inserted = insert(only.reference, only.source);
      const text = spend(JSON.stringify(inserted));
      return JSON.parse(text);
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

function lookUp(reference: Reference, names: Names): Found {
  switch (reference.root) {
    case "variables":
      return within(names.variable(reference.name), reference.path);
    case "results":
      return within(names.result(reference.name), reference.path);
    case "tasks":
      return names.status(reference.name);
  }
}

function within(found: Found, path: readonly string[]): Found {
  if (found.kind === "none") return found;
  let { value } = found;
  for (const key of path) {
    if (typeof value !== "object" || value === null) return { kind: "none" };
    if (!Object.prototype.propertyIsEnumerable.call(value, key)) return { kind: "none" };
    value = Reflect.get(value, key);
  }
  return { kind: "found", value };
}
