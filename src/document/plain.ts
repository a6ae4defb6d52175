/** Everything works on the copy, so an input with getters or one that changes does no harm, and is never changed. */
import type { Path } from "./diagnostic.ts";
import { emptyObject } from "../text/guards.ts";

export const plainLimits = {
  nesting: 100,
  values: 1_000_000,
} as const;

export type PlainCopy =
  | { readonly kind: "copied"; readonly value: unknown }
  | { readonly kind: "rejected"; readonly path: Path; readonly reason: string };

class NotPlain extends Error {
  readonly path: Path;
  constructor(path: Path, reason: string) {
    super(reason);
    this.path = path;
  }
}

/** An undefined field is omitted; an item becomes null, as in JSON, or is omitted where `leavesOut` says so. */
export function plainCopy(
  value: unknown,
  leavesOut: (list: Path) => boolean = () => false,
): PlainCopy {
  const path: (string | number)[] = [];
  const open = new Set<object>();
  let values = 0;

  const copy = (one: unknown): unknown => {
    if (++values > plainLimits.values) {
      throw new NotPlain([], `Has more than ${plainLimits.values} values.`);
    }
    if (typeof one !== "object" || one === null) return one;
    if (open.has(one)) throw new NotPlain([...path], "Contains itself.");
    if (open.size >= plainLimits.nesting) {
      throw new NotPlain([...path], `Nested deeper than ${plainLimits.nesting} levels.`);
    }
    open.add(one);
    const copied = Array.isArray(one) ? copyList(one) : copyObject(one);
    open.delete(one);
    return copied;
  };
  const copyList = (list: readonly unknown[]): unknown[] => {
    const { length } = list;
    const copied: unknown[] = [];
    for (let index = 0; index < length; index++) {
      path.push(index);
      const item = copy(list[index]);
      path.pop();
      if (item !== undefined) copied.push(item);
      else if (!leavesOut(path)) copied.push(null);
    }
    return copied;
  };
  const copyObject = (object: object): unknown => {
    const kind = Object.prototype.toString.call(object).slice("[object ".length, -1);
    if (kind !== "Object") throw new NotPlain([...path], `Must be plain data, not a ${kind}.`);
    const copied = emptyObject();
    for (const key of Object.keys(object)) {
      path.push(key);
      const item = copy(Reflect.get(object, key));
      if (item !== undefined) copied[key] = item;
      path.pop();
    }
    return copied;
  };

  try {
    return { kind: "copied", value: copy(value) };
  } catch (error) {
    if (error instanceof NotPlain) {
      return { kind: "rejected", path: error.path, reason: error.message };
    }
    // A getter or a proxy of the caller's.
    const cause = error instanceof Error ? error.message : "unknown error";
    return { kind: "rejected", path: [...path], reason: `Cannot be read: ${cause}.` };
  }
}
