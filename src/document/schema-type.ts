/** The type of what a schema written `as const` accepts; only the keywords that our schemas use. */
export type SchemaType<S> = typeof described extends keyof S
  ? Exclude<S[typeof described], undefined>
  : S extends { readonly const: infer Value }
    ? Value
    : S extends { readonly enum: readonly (infer Value)[] }
      ? Value
      : S extends { readonly anyOf: readonly (infer Case)[] }
        ? SchemaType<Case>
        : S extends { readonly type: readonly (infer Name)[] }
          ? Named<Name, S>
          : S extends { readonly type: infer Name }
            ? Named<Name, S>
            : unknown;

declare const described: unique symbol;

export interface Described<T> {
  readonly [described]?: T;
  readonly [keyword: string]: unknown;
}

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
