/** Descriptions of JSON values: a shape checks a value, and `TypeOf` makes its type. One description is both. */
import { isRecord } from "../document/guards.ts";

export interface Shape<out T> {
  /** What is wrong, as `path must be …`; undefined if the value fits. */
  fault(value: unknown, path: string, depth: number): string | undefined;
  /** What the value is, for those who describe it to people. */
  readonly is: ShapeKind;
  /** Never there: it ties the shape to its type. */
  readonly type?: T;
}

export type ShapeKind = "text" | "number" | "other" | readonly string[];

export interface Optional<out T> {
  readonly optional: Shape<T>;
}

export type Fields = Readonly<Record<string, Shape<unknown> | Optional<unknown>>>;

/** The type that a shape describes. */
export type TypeOf<S> = S extends Optional<infer T> ? T : S extends Shape<infer T> ? T : never;

/**
 * The type of an object with these fields. The mapped types keep the docstrings of the fields, for readers of the
 * library's declarations: they map over keys, without `as`.
 */
export type ObjectOf<F> = Flat<Given<F, Needed<F>> & Possible<F, Exclude<keyof F, Needed<F>>>>;
type Given<F, Name extends keyof F> = { readonly [Key in Name]: TypeOf<F[Key]> };
type Possible<F, Name extends keyof F> = { readonly [Key in Name]?: TypeOf<F[Key]> };
type Needed<F> = {
  [Name in keyof F]: F[Name] extends Optional<unknown> ? never : Name;
}[keyof F];

/** A union whose cases differ by the word in `Tag`. */
export type Tagged<Tag extends string, Cases> = {
  [Word in keyof Cases]: Flat<{ readonly [Name in Tag]: Word } & ObjectOf<Cases[Word]>>;
}[keyof Cases];

type Flat<T> = { [Name in keyof T]: T[Name] };

/** Deeper than any entry may be nested. */
const MAX_DEPTH = 1000;

export const text: Shape<string> = simple("text", "a text", (value) => typeof value === "string");
export const amount: Shape<number> = simple("number", "a number of 0 or more", isAmount);
export const positive: Shape<number> = simple(
  "number",
  "a number greater than 0",
  (value) => isAmount(value) && value > 0,
);
/** A whole number from 0. */
export const count: Shape<number> = simple(
  "number",
  "a whole number of 0 or more",
  (value) => isAmount(value) && Number.isSafeInteger(value),
);
/** A whole number from 1. */
export const natural: Shape<number> = simple(
  "number",
  "a whole number greater than 0",
  (value) => isAmount(value) && Number.isSafeInteger(value) && value > 0,
);
export const flag: Shape<boolean> = simple(
  "other",
  "true or false",
  (value) => typeof value === "boolean",
);
export const yes: Shape<true> = simple("other", "true", (value) => value === true);
export const anything: Shape<unknown> = simple("other", "anything", () => true);

export function exactly<const Value extends number>(value: Value): Shape<Value> {
  return simple("number", String(value), (found) => found === value);
}

export interface Words<out Word extends string> extends Shape<Word> {
  readonly is: readonly Word[];
}

/** One of these words. */
export function words<const Word extends string>(...is: readonly Word[]): Words<Word> {
  const known = simple<Word>(is, is.join(" or "), (value) => is.some((word) => word === value));
  return { ...known, is };
}

/** The name of one of these fields. */
export function nameOf<Of extends object>(fields: Of): Words<keyof Of & string> {
  return words(...Object.keys(fields).filter((name): name is keyof Of & string => name in fields));
}

export function nullable<T>(shape: Shape<T>): Shape<T | null> {
  return {
    is: "other",
    fault: (value, path, depth) => (value === null ? undefined : shape.fault(value, path, depth)),
  };
}

export function list<T>(item: Shape<T>): Shape<readonly T[]> {
  return {
    is: "other",
    fault(value, path, depth) {
      if (!Array.isArray(value)) return `${path} must be a list`;
      return first(value.entries(), ([index, one]) => item.fault(one, `${path}[${index}]`, depth));
    },
  };
}

export function pair<A, B>(a: Shape<A>, b: Shape<B>): Shape<readonly [A, B]> {
  return {
    is: "other",
    fault(value, path, depth) {
      if (!Array.isArray(value) || value.length !== 2) return `${path} must be a list of two`;
      return a.fault(value[0], `${path}[0]`, depth) ?? b.fault(value[1], `${path}[1]`, depth);
    },
  };
}

export function dictionary<T>(item: Shape<T>): Shape<Readonly<Record<string, T>>> {
  return {
    is: "other",
    fault(value, path, depth) {
      if (!isRecord(value)) return `${path} must be an object`;
      return first(Object.entries(value), ([name, one]) =>
        item.fault(one, `${path}[${JSON.stringify(name)}]`, depth),
      );
    },
  };
}

export function optional<T>(shape: Shape<T>): Optional<T> {
  return { optional: shape };
}

/** Fields that are not described may be there too. */
export function record<F extends Fields>(fields: F): Shape<ObjectOf<F>> {
  const described = Object.entries(fields);
  return {
    is: "other",
    fault: (value, path, depth) =>
      isRecord(value)
        ? first(described, ([name, field]) => fieldFault(value, path, depth, name, field))
        : `${path || "it"} must be an object`,
  };
}

/** As `record`, where an object of other fields alone is something else. */
export function partial<F extends Fields>(fields: F): Shape<ObjectOf<F>> {
  const shape = record(fields);
  const known = Object.keys(fields);
  return {
    is: "other",
    fault(value, path, depth) {
      const found = isRecord(value) ? Object.keys(value) : [];
      const isOther = found.length > 0 && !found.some((name) => known.includes(name));
      return isOther
        ? `${path || "it"} must have one of ${known.join(", ")}`
        : shape.fault(value, path, depth);
    },
  };
}

/** A union whose cases differ by a word in the field `tag`; the cases describe the other fields. */
export function tagged<Tag extends string, Cases extends Readonly<Record<string, Fields>>>(
  tag: Tag,
  cases: Cases,
): Shape<Tagged<Tag, Cases>> {
  const known = new Map(
    Object.entries(cases).map(([word, fields]) => [word, Object.entries(fields)]),
  );
  return {
    is: "other",
    fault(value, path, depth) {
      if (!isRecord(value)) return `${path || "it"} must be an object`;
      const word = own(value, tag);
      const fields = typeof word === "string" ? known.get(word) : undefined;
      const at = path === "" ? tag : `${path}.${tag}`;
      if (fields === undefined)
        return `${at} ${JSON.stringify(word) ?? "is missing and"} is not known`;
      return first(fields, ([name, field]) => fieldFault(value, path, depth, name, field));
    },
  };
}

export function both<A, B>(a: Shape<A>, b: Shape<B>): Shape<A & B> {
  return {
    is: "other",
    fault: (value, path, depth) => a.fault(value, path, depth) ?? b.fault(value, path, depth),
  };
}

/** `b` says what is wrong with an object. */
export function either<A, B>(a: Shape<A>, b: Shape<B>): Shape<A | B> {
  return {
    is: "other",
    fault(value, path, depth) {
      const fault = a.fault(value, path, depth);
      if (fault === undefined) return undefined;
      const other = b.fault(value, path, depth);
      return other === undefined || isRecord(value) ? other : fault;
    },
  };
}

/** For a shape that contains itself. */
export function nested<T>(shape: () => Shape<T>): Shape<T> {
  return {
    is: "other",
    fault: (value, path, depth) =>
      depth >= MAX_DEPTH
        ? `${path.slice(0, 60)}… is nested deeper than ${MAX_DEPTH} levels`
        : shape().fault(value, path, depth + 1),
  };
}

/** Narrows the value of which `fault` has found nothing wrong. */
export function fits<T>(shape: Shape<T>, value: unknown): value is T {
  return shape.fault(value, "", 0) === undefined;
}

function simple<T>(is: ShapeKind, what: string, fitting: (value: unknown) => boolean): Shape<T> {
  return {
    is,
    fault: (value, path) => (fitting(value) ? undefined : `${path || "it"} must be ${what}`),
  };
}

function fieldFault(
  value: object,
  path: string,
  depth: number,
  name: string,
  field: Shape<unknown> | Optional<unknown>,
): string | undefined {
  const item = own(value, name);
  const at = path === "" ? name : `${path}.${name}`;
  if (!("optional" in field)) return field.fault(item, at, depth);
  return item === undefined ? undefined : field.optional.fault(item, at, depth);
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function own(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}

function first<T>(items: Iterable<T>, fault: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = fault(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
