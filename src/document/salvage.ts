import { isList, isRecord } from "./guards.ts";
import { type Path, type Problem, valueAt } from "./problem.ts";

/**
 * A `T` without the values that its schema rejects: any field may be absent, but the remaining fields are
 * valid.
 */
export type Salvaged<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null
    ? T
    : T extends readonly unknown[]
      ? { readonly [Index in keyof T]: Salvaged<T[Index]> | undefined }
      : { readonly [Key in keyof T]?: Salvaged<T[Key]> | undefined };

/** Takes out, in place, every value that a problem is about; undefined if it is no object at all. */
export function salvage<T>(value: unknown, problems: readonly Problem[]): Salvaged<T> | undefined {
  for (const { path } of problems) remove(value, path);
  return isSalvaged<T>(value) ? value : undefined;
}

function remove(root: unknown, path: Path): void {
  const parent = valueAt(root, path.slice(0, -1));
  const last = path.at(-1);
  if (last === undefined) return;
  // An element leaves a hole, so that the others keep their indexes.
  if (isList(parent)) Reflect.set(parent, last, undefined);
  else if (isRecord(parent)) Reflect.deleteProperty(parent, last);
}

/** The schema has checked this. The cast is for the compiler. */
function isSalvaged<T>(value: unknown): value is Salvaged<T> {
  return isRecord(value);
}
