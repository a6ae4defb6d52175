/** Descriptions of JSON values: a shape checks a value, and `TypeOf` makes its type. One description is both. */
import { isRecord } from "../text/guards.ts";

export interface Shape<out T> {
  /** What is wrong, beginning with its place: `.path must be …`. Undefined if the value fits. */
  fault(value: unknown): string | undefined;
  /** What the value is, for those who describe it to people: the words that it may be, or the cases of a union. */
  readonly is: ShapeKind;
  /** Never there: it ties the shape to its type. */
  readonly type?: T;
}

export type ShapeKind = "text" | "number" | "other" | readonly string[];

export interface Optional<out T> {
  readonly optional: Shape<T>;
}

export type Fields = Readonly<Record<string, Shape<unknown> | Optional<unknown>>>;

export type TypeOf<S> = S extends Optional<infer T> ? T : S extends Shape<infer T> ? T : never;

/** Mapped over keys, without `as`, so that the library's declarations keep the docstrings of the fields. */
export type ObjectOf<F> = { readonly [Name in keyof Members<F>]: Members<F>[Name] };
type Members<F> = { [Name in Needed<F>]: TypeOf<F[Name]> } & {
  [Name in Exclude<keyof F, Needed<F>>]?: TypeOf<F[Name]>;
};
type Needed<F> = {
  [Name in keyof F]: F[Name] extends Optional<unknown> ? never : Name;
}[keyof F];

export type Tagged<Tag extends string, Cases> = {
  [Word in keyof Cases]: Flat<{ readonly [Name in Tag]: Word } & ObjectOf<Cases[Word]>>;
}[keyof Cases];

type Flat<T> = { [Name in keyof T]: T[Name] };

/** Deeper than any entry may be nested. */
const MAX_DEPTH = 1000;

export const text = simple<string>("text", "a text", (value) => typeof value === "string");
export const amount = simple<number>("number", "a number of 0 or more", isAmount);
export const positive = simple<number>(
  "number",
  "a number greater than 0",
  (value) => isAmount(value) && value > 0,
);
export const count = simple<number>("number", "a whole number of 0 or more", isCount);
export const natural = simple<number>(
  "number",
  "a whole number greater than 0",
  (value) => isCount(value) && value > 0,
);
export const flag = simple<boolean>(
  "other",
  "true or false",
  (value) => typeof value === "boolean",
);
export const yes = simple<true>("other", "true", (value) => value === true);
export const anything = simple<unknown>("other", "anything", () => true);

export function exactly<const Value extends number>(value: Value): Shape<Value> {
  return simple("number", String(value), (found) => found === value);
}

export function words<const Word extends string>(
  ...is: readonly Word[]
): Shape<Word> & { readonly is: readonly Word[] } {
  const known = simple<Word>(is, is.join(" or "), (value) => is.some((word) => word === value));
  return { ...known, is };
}

export function nameOf<Of extends object>(fields: Of): Shape<keyof Of & string> {
  return words(...Object.keys(fields).filter((name): name is keyof Of & string => name in fields));
}

export function nullable<T>(shape: Shape<T>): Shape<T | null> {
  return other((value) => (value === null ? undefined : shape.fault(value)));
}

export function list<T>(item: Shape<T>): Shape<readonly T[]> {
  return other((value) =>
    Array.isArray(value) ? faultOfItems(item, value.entries()) : " must be a list",
  );
}

export function pair<A, B>(a: Shape<A>, b: Shape<B>): Shape<readonly [A, B]> {
  return other((value) =>
    Array.isArray(value) && value.length === 2
      ? (a.fault(value[0]) ?? b.fault(value[1]))
      : " must be a list of two",
  );
}

export function dictionary<T>(item: Shape<T>): Shape<Readonly<Record<string, T>>> {
  return other((value) =>
    isRecord(value) ? faultOfItems(item, Object.entries(value)) : " must be an object",
  );
}

export function optional<T>(shape: Shape<T>): Optional<T> {
  return { optional: shape };
}

/** Fields that are not described may be there too. */
export function record<F extends Fields>(fields: F): Shape<ObjectOf<F>> {
  const described = Object.entries(fields);
  return other((value) =>
    isRecord(value) ? faultOfFields(described, value) : " must be an object",
  );
}

export function tagged<Tag extends string, Cases extends Readonly<Record<string, Fields>>>(
  tag: Tag,
  cases: Cases,
): Shape<Tagged<Tag, Cases>> {
  const known = new Map(
    Object.entries(cases).map(([word, fields]) => [word, Object.entries(fields)]),
  );
  const fault = (value: unknown): string | undefined => {
    if (!isRecord(value)) return " must be an object";
    const word = own(value, tag);
    const fields = typeof word === "string" ? known.get(word) : undefined;
    return fields === undefined
      ? `.${tag} ${JSON.stringify(word) ?? "is missing and"} is not known`
      : faultOfFields(fields, value);
  };
  return { is: [...known.keys()], fault };
}

export function both<A, B>(a: Shape<A>, b: Shape<B>): Shape<A & B> {
  return { is: a.is, fault: (value) => a.fault(value) ?? b.fault(value) };
}

/** `b` says what is wrong with an object. */
export function either<A, B>(a: Shape<A>, b: Shape<B>): Shape<A | B> {
  return other((value) => {
    const fault = a.fault(value);
    const last = fault && b.fault(value);
    return last === undefined || isRecord(value) ? last : fault;
  });
}

export function nested<T>(shape: () => Shape<T>): Shape<T> {
  let depth = 0;
  return other((value) => {
    if (depth === MAX_DEPTH) return ` is nested deeper than ${MAX_DEPTH} levels`;
    depth += 1;
    const fault = shape().fault(value);
    depth -= 1;
    return fault;
  });
}

export function fits<T>(shape: Shape<T>, value: unknown): value is T {
  return shape.fault(value) === undefined;
}

/** What is wrong with a value, for people: `path must be …`. */
export function faultOf(shape: Shape<unknown>, value: unknown): string | undefined {
  const fault = shape.fault(value);
  return fault?.startsWith(" ") === true ? `it${fault}` : fault?.replace(/^\./, "");
}

function simple<T>(is: ShapeKind, what: string, fitting: (value: unknown) => boolean): Shape<T> {
  return { is, fault: (value) => (fitting(value) ? undefined : ` must be ${what}`) };
}

function other<T>(fault: Shape<T>["fault"]): Shape<T> {
  return { is: "other", fault };
}

function faultOfItems(
  item: Shape<unknown>,
  items: Iterable<readonly [string | number, unknown]>,
): string | undefined {
  for (const [key, one] of items) {
    const fault = item.fault(one);
    if (fault !== undefined) return `[${JSON.stringify(key)}]${fault}`;
  }
  return undefined;
}

function faultOfFields(
  fields: readonly (readonly [string, Shape<unknown> | Optional<unknown>])[],
  value: object,
): string | undefined {
  for (const [name, field] of fields) {
    const item = own(value, name);
    const isOptional = "optional" in field;
    if (isOptional && item === undefined) continue;
    const fault = (isOptional ? field.optional : field).fault(item);
    if (fault !== undefined) return `.${name}${fault}`;
  }
  return undefined;
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isCount(value: unknown): value is number {
  return isAmount(value) && Number.isSafeInteger(value);
}

function own(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}
