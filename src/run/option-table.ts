/**
 * The one table of options: what each is called and means, how it is read, and where it exists. The command line, its
 * help, action.yml, the checks of the library, and the tables of docs/action.md are made from it. Its rows are in
 * `option-rows.ts`, by what they are about. Options of a single edge stand there, in rows of the same form:
 * `cli/options.ts`, `action/inputs.ts`.
 */
import type * as kind from "./option-kinds.ts";
import type { Edge, Option, Rows } from "./option-kinds.ts";
import { boundOptions, inputOptions, modelOptions, outputOptions } from "./option-rows.ts";

export type { Edge, Option };

export const optionTable = {
  ...inputOptions,
  ...modelOptions,
  ...boundOptions,
  ...outputOptions,
} as const satisfies Rows;

export type Value<O> = O extends { readonly kind: kind.Flag }
  ? boolean
  : O extends { readonly kind: kind.Kind<infer T> }
    ? T
    : never;

type OptionsOn<E extends Edge> = {
  readonly [
    Name in keyof typeof optionTable as E extends (typeof optionTable)[Name]["on"][number]
      ? Name
      : never
  ]: (typeof optionTable)[Name];
};

/** The values of the options on an edge. */
export type FieldsOn<E extends Edge> = {
  readonly [Name in keyof OptionsOn<E>]?: Value<OptionsOn<E>[Name]> | undefined;
};

export function optionsOn<E extends Edge>(edge: E): OptionsOn<E>;
export function optionsOn(edge: Edge): Readonly<Record<string, Option>> {
  const rows: Rows = optionTable;
  return Object.fromEntries(Object.entries(rows).filter(([, { on }]) => on.includes(edge)));
}

/** Picks the values of options that exist on the edge. */
export function valuesOn<E extends Edge, V extends object>(
  edge: E,
  values: V,
): Pick<V, keyof V & keyof OptionsOn<E>>;
export function valuesOn(edge: Edge, values: object): object {
  const options = optionsOn(edge);
  return Object.fromEntries(
    Object.entries(values).filter(([name]) => Object.hasOwn(options, name)),
  );
}

/** `max-parallel` for `maxParallel`. */
export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
