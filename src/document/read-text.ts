/** What `read-document.ts` and the readers of the two formats share. */
import type { Path } from "./problem.ts";

export interface Limits {
  readonly bytes: number;
  readonly nesting: number;
}

export interface TextFault {
  readonly offset: number;
  readonly reason: string;
  readonly hint?: string;
}

export type ReadText =
  | {
      readonly kind: "read";
      readonly value: unknown;
      /** May be slow once, and is fast from then on. */
      readonly offsetOf: (path: Path) => number;
    }
  | { readonly kind: "rejected"; readonly faults: readonly TextFault[] };

/**
 * An object whose every key is its own: nothing is inherited, and `__proto__` is a key like any other.
 * (Its prototype is an empty object without prototype: V8 keeps such objects fast, which it doesn't
 * for those that have none at all.)
 */
export function emptyObject(): Record<string, unknown> {
  return Object.create(nothing);
}

const nothing: object = Object.freeze(Object.create(null));
