import type { Path, Position } from "./diagnostic.ts";

export function textPositions(text: string): (offset: number) => Position {
  return linePositions(() => text.split("\n").map(({ length }) => length));
}

/** Positions in lines of these lengths, by binary search. `lengths` is called on first use. */
export function linePositions(lengths: () => readonly number[]): (offset: number) => Position {
  let starts: number[] | undefined;
  return (offset) => {
    starts ??= startsOf(lengths());
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}

function startsOf(lengths: readonly number[]): number[] {
  let start = 0;
  return lengths.map((length) => (start += length + 1) - length - 1);
}

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
      readonly offsetOf: (path: Path, isField?: boolean) => number;
    }
  | { readonly kind: "rejected"; readonly faults: readonly TextFault[] };
