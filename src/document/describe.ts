/** JSON Schemas whose types the compiler knows, so that one description checks a value and gives its type. */
import { isList, isRecord, isText } from "../text/guards.ts";
import { valueAt } from "./diagnostic.ts";

/** The type of what a schema accepts: one made by the functions below, or one written `as const`. */
export type SchemaType<S> = typeof described extends keyof S
  ? Exclude<S[typeof described], undefined>
  : S extends { readonly const: infer Value }
    ? Value
    : S extends { readonly enum: readonly (infer Value)[] }
      ? Value
      : S extends
            | { readonly anyOf: readonly (infer Case)[] }
            | { readonly properties?: never; readonly oneOf: readonly (infer Case)[] }
        ? SchemaType<Case>
        : S extends { readonly type: readonly (infer Name)[] }
          ? Named<Name, S>
          : S extends { readonly type: infer Name }
            ? Named<Name, S>
            : unknown;

declare const described: unique symbol;

export interface Described<out T> {
  readonly [described]?: T;
  readonly [keyword: string]: unknown;
}

export interface Optional<out T> {
  readonly optional: Described<T>;
}

export type Fields = Readonly<Record<string, Described<unknown> | Optional<unknown>>>;

export type TypeOf<S> = S extends Optional<infer T> ? T : SchemaType<S>;

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

type Named<Name, S> = Name extends "string"
  ? string
  : Name extends "integer" | "number"
    ? number
    : Name extends "boolean"
      ? boolean
      : Name extends "null"
        ? null
        : Name extends "array"
          ? readonly SchemaType<S extends { readonly items: infer Item } ? Item : unknown>[]
          : Name extends "object"
            ? ObjectType<S>
            : never;

type ObjectType<S> = S extends { readonly properties: infer Fields }
  ? Flat<
      {
        readonly [Name in keyof Fields as Extract<Name, Required<S>>]: SchemaType<Fields[Name]>;
      } & {
        readonly [Name in keyof Fields as Exclude<Name, Required<S>>]?: SchemaType<Fields[Name]>;
      }
    >
  : Readonly<
      Record<string, S extends { readonly additionalProperties: infer V } ? SchemaType<V> : unknown>
    >;

type Required<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never;
type Flat<T> = { [Name in keyof T]: T[Name] };

export const text: Described<string> = { type: "string" };
export const amount: Described<number> = { type: "number", minimum: 0 };
export const positive: Described<number> = { type: "number", exclusiveMinimum: 0 };
export const count = integer(0);
export const natural = integer(1);
export const flag: Described<boolean> = { type: "boolean" };
export const yes: Described<true> = { const: true };
export const anything: Described<unknown> = {};

function integer(minimum: number): Described<number> {
  return { type: "integer", minimum, maximum: Number.MAX_SAFE_INTEGER };
}

export function exactly<const Value extends number>(value: Value): Described<Value> {
  return { const: value };
}

export function words<const Word extends string>(
  ...known: readonly Word[]
): Described<Word> & { readonly enum: readonly Word[] } {
  return { type: "string", enum: known };
}

export function nameOf<Of extends object>(fields: Of): Described<keyof Of & string> {
  return { type: "string", enum: Object.keys(fields) };
}

export function nullable<T>(schema: Described<T>): Described<T | null> {
  return { anyOf: [schema, { type: "null" }] };
}

export function list<T>(items: Described<T>): Described<readonly T[]> {
  return { type: "array", items };
}

export function pair<A, B>(a: Described<A>, b: Described<B>): Described<readonly [A, B]> {
  return { type: "array", prefixItems: [a, b], minItems: 2, maxItems: 2 };
}

export function dictionary<T>(item: Described<T>): Described<Readonly<Record<string, T>>> {
  return { type: "object", additionalProperties: item };
}

export function optional<T>(schema: Described<T>): Optional<T> {
  return { optional: schema };
}

/** Fields that are not described may be there too. */
export function record<F extends Fields>(fields: F): Described<ObjectOf<F>> {
  return objectOf(fields);
}

function objectOf(fields: Fields): Readonly<Record<string, unknown>> {
  const all = Object.entries(fields);
  const properties = all.map(([name, field]) => [name, isOptional(field) ? field.optional : field]);
  const required = all.filter(([, field]) => !isOptional(field)).map(([name]) => name);
  return { type: "object", properties: Object.fromEntries(properties), required };
}

export function tagged<Tag extends string, Cases extends Readonly<Record<string, Fields>>>(
  tag: Tag,
  cases: Cases,
): Described<Tagged<Tag, Cases>> {
  return {
    type: "object",
    required: [tag],
    discriminator: { propertyName: tag },
    oneOf: Object.entries(cases).map(([word, fields]) =>
      objectOf({ [tag]: { const: word }, ...fields }),
    ),
  };
}

/** A union that was made by `tagged`, with fields that all its cases have. */
export function both<A, B>(union: Described<A>, fields: Described<B>): Described<A & B> {
  const rules: Readonly<Record<string, unknown>> = union;
  const { properties, required } = fields;
  return { ...rules, properties, required: [union["required"], required].flat() };
}

export function either<Cases extends readonly Described<unknown>[]>(
  ...anyOf: Cases
): Described<TypeOf<Cases[number]>> {
  return { anyOf };
}

/** Refers to a schema in the `$defs` of the whole schema. */
export function reference<T>(name: string): Described<T> {
  return { $ref: `#/$defs/${name}` };
}

/** Accepts unknown fields as well: a later version may have added some. */
export function open<T>(schema: object): Described<T> {
  const isClosing = (key: string, value: unknown): boolean =>
    key === "additionalProperties" && value === false;
  const opened: Described<T> = JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    isClosing(key, value) ? undefined : value,
  );
  return opened;
}

/** The words that a value may be, or that distinguish the cases of a union. */
export function wordsOf(field: Described<unknown> | Optional<unknown>): readonly string[] {
  if (isOptional(field)) return wordsOf(field.optional);
  const { enum: words, discriminator, oneOf } = field;
  if (isList(words)) return words.filter(isText);
  if (!isRecord(discriminator) || !isList(oneOf)) return [];
  const path = ["properties", String(discriminator["propertyName"]), "const"];
  return oneOf.map((one) => valueAt(one, path)).filter(isText);
}

export function isOptional(
  field: Described<unknown> | Optional<unknown>,
): field is Optional<unknown> {
  return "optional" in field;
}
