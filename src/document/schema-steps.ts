/**
 * Counts the steps that checking a value takes, and stops when they are too many: a schema can make ajv take
 * exponential time, such as alternatives that each refer to the whole schema.
 *
 * Invariant: nothing that ajv does for a value is left uncounted. Every schema counts itself before it looks at the
 * value; where a reference leads to what doesn't count, the schema is refused. Regular expressions run on an automaton
 * (`expression.ts`), and `uniqueItems` compares by texts: both count the characters that they see.
 */
import type { Ajv2020 } from "ajv/dist/2020.js";
import { ajvModule } from "./ajv.ts";
import { compileExpression, type CompiledExpression } from "./expression.ts";
import { isList, isRecord, isText } from "./guards.ts";
import { schemaPlaces } from "./schema-places.ts";

export class TooManySteps extends Error {}

interface Matcher {
  test(text: string): boolean;
  /** ajv uses it as the key of a matcher. */
  toString(): string;
}

const keyword = "steps:";

/**
 * Of a schema that the author of an entry wrote. Compiling takes the square of their number: a tenth of a second. V8 does
 * not even parse what ajv makes of 1,900 fields, so every value would be rejected.
 */
const mostParts = 1_000;
/** Of a schema that somebody else wrote, which is compiled during a run: a tenth of a second at most. */
const mostForeignParts = 200;
const mostForeignNesting = 50;
/** Of all regular expressions of a schema together. */
const mostInstructions = 10_000;
/** The same of a foreign schema, in characters: the others are not looked at. */
const mostForeignCharacters = 1_000;

/** The cost of a schema, in steps of a regular expression. */
const schemaSteps = 10;

/** The cost of comparing an item of a list with `uniqueItems` with all before it, in the same steps. */
const itemSteps = 20;

/** The values of these aren't schemas. */
const data = new Set(["enum", "const", "default", "examples", "required", "dependentRequired"]);

export class Steps {
  #left = 0;

  restart(steps: number): void {
    this.#left = steps;
  }

  take(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooManySteps();
  }

  /** `lenient`: an expression that can't be matched in linear time matches everything. */
  readonly expressions = (lenient: boolean): ((source: string) => Matcher) & { code: string } => {
    const known = new Map<string, CompiledExpression>();
    let instructions = 0;
    let characters = 0;
    const engine = (source: string): Matcher => {
      if (lenient && !known.has(source)) {
        characters += source.length;
        if (characters > mostForeignCharacters) return { test: () => true, toString: () => source };
      }
      const compiled = known.get(source) ?? compileExpression(source);
      if (!known.has(source) && compiled.kind === "compiled") {
        instructions += compiled.expression.size;
        if (instructions > mostInstructions)
          throw new Error("its regular expressions are too large");
      }
      known.set(source, compiled);
      if (compiled.kind === "refused") {
        if (lenient && isExpression(source)) return { test: () => true, toString: () => source };
        const { reason, hint } = compiled;
        throw new Error(hint === undefined ? reason : `${reason.replace(/\.$/, "")} (${hint})`);
      }
      const { expression } = compiled;
      return {
        test: (text) => {
          this.take(expression.size * text.length);
          return expression.matches(text);
        },
        toString: () => source,
      };
    };
    return Object.assign(engine, { code: "expression" });
  };

  addTo(ajv: Ajv2020): void {
    const { _ } = ajvModule();
    const count = (weight: number, value: unknown): void =>
      this.take(schemaSteps * (weight + sizeOf(value)));
    ajv.addKeyword({
      keyword,
      schemaType: "number",
      before: "$ref",
      // A keyword that validates would be compiled to ten times as much code, with errors that it doesn't have.
      code: ({ gen, schema, data: value }) => {
        gen.code(_`${gen.scopeValue("func", { ref: count })}(${schema}, ${value})`);
      },
    });
    ajv.removeKeyword("uniqueItems");
    ajv.addKeyword({
      keyword: "uniqueItems",
      type: "array",
      schemaType: "boolean",
      error: { message: "must not have equal items" },
      validate: (isUnique: boolean, list: readonly unknown[]) => {
        const plain = new Set<unknown>();
        const nested = new Set<string>();
        for (const item of isUnique ? list : []) {
          const isPlain = typeof item !== "object" || item === null;
          const text = isPlain ? "" : canonical(item);
          this.take(isPlain ? itemSteps : 2 * itemSteps + 4 * text.length);
          if (isPlain ? plain.has(item) : nested.has(text)) return false;
          if (isPlain) plain.add(item);
          else nested.add(text);
        }
        return true;
      },
    });
  }
}

export interface CountingOptions {
  /** Whether the schema is somebody else's, so that compiling it must not take long. */
  readonly foreign: boolean;
}

export interface CountedSchema {
  readonly schema: object;
  readonly parts: number;
}

/** A copy of the schema in which every schema counts. Throws if it is too large, or a reference leads elsewhere. */
export function counting(schema: object, { foreign }: CountingOptions): CountedSchema {
  const most = foreign ? mostForeignParts : mostParts;
  const copy = structuredClone(schema);
  const counted = new Set<unknown>();
  const anchors = new Set<string>();
  const references: string[] = [];
  let parts = 0;
  const left: { readonly value: unknown; readonly depth: number }[] = [{ value: copy, depth: 0 }];
  for (let at = left.pop(); at !== undefined; at = left.pop()) {
    const { value: one, depth } = at;
    const leave = (value: unknown): void => void left.push({ value, depth: depth + 1 });
    if (isList(one)) for (const item of one) leave(item);
    if (!isRecord(one) || counted.has(one)) continue;
    counted.add(one);
    parts += 1;
    if (foreign && depth > mostForeignNesting)
      throw new Error(`it is nested more than ${mostForeignNesting} levels deep`);
    let weight = 1;
    for (const [name, value] of Object.entries(one)) {
      // `dependencies` is older, and ajv still supports it: a map of schemas or of lists of names.
      const isMap = schemaPlaces.get(name) === "map" || name === "dependencies";
      if (isMap && isRecord(value)) {
        const below = Object.values(value);
        weight += below.length;
        for (const part of below) {
          if (isList(part)) parts += 1;
          leave(part);
        }
        continue;
      }
      if (isText(value) && /^\$(?:dynamic)?ref$/i.test(name)) references.push(value);
      else if (isText(value) && /^\$(?:dynamic)?anchor$/i.test(name)) anchors.add(`#${value}`);
      if (name === "dependentRequired" && isRecord(value)) parts += Object.keys(value).length;
      // What is under an unknown keyword is only reached by a reference.
      if (data.has(name)) weight += JSON.stringify(value).length >> 3;
      else leave(value);
    }
    if (parts > most) throw new Error(`it has more than ${most} parts`);
    // It would be the base of references, and nothing else refers to it.
    delete (one as Record<string, unknown>)["$id"];
    Object.assign(one, { [keyword]: weight });
  }
  for (const reference of new Set(references)) {
    const target =
      reference.startsWith("#/") || reference === "#" ? pointed(copy, reference) : copy;
    const isKnown =
      target === copy ? reference === "#" || anchors.has(reference) : counted.has(target);
    if (!isKnown && typeof target !== "boolean")
      throw new Error(`can't resolve reference ${reference}`);
  }
  return { schema: copy, parts };
}

function pointed(root: unknown, reference: string): unknown {
  let found = root;
  for (const part of decodeURIComponent(reference).split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (isList(found)) found = found[Number(key)];
    else found = isRecord(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
}

/** The cost of a value without the values in it, many small ones counted as one. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length >> 4;
  if (isList(value)) return value.length >> 6;
  return isRecord(value) ? Object.keys(value).length >> 1 : 0;
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    isRecord(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}

function isExpression(source: string): boolean {
  try {
    void new RegExp(source, "u");
    return true;
  } catch {
    return false;
  }
}
