/**
 * Many byte strings looked for in one pass (Aho–Corasick): a state for each prefix of a needle, and one table
 * look-up for each byte of the text, however many needles there are. The tables are open: a caller that walks over
 * bytes makes the step itself, `state = next[state + classes[byte]]` from 0 on.
 *
 * `depth` tells how many of the last bytes may still become a needle.
 */

export interface ByteAutomaton {
  /** Length of the shortest needle; Infinity without needles. */
  readonly shortest: number;
  /** Length of the longest one; 0 without needles. */
  readonly longest: number;
  readonly next: Int32Array;
  readonly classes: Uint8Array;
  /** 1 in a state in which a needle ends. */
  readonly ending: Uint8Array;
  /** Lengths of the needles that end in a state, the longest first. */
  readonly found: (state: number) => readonly number[];
  /** Length of the longest prefix of a needle that ends in a state. */
  readonly depth: (state: number) => number;
}

const none: readonly number[] = [];

/** A state is its row in `next`: a multiple of the number of classes. */
export function createByteAutomaton(needles: readonly Uint8Array[]): ByteAutomaton {
  const { classes, width } = classesOf(needles);
  const states = 1 + needles.reduce((sum, { length }) => sum + length, 0);
  const next = new Int32Array(states * width);
  const depth = new Int32Array(states);
  const ends = new Map<number, readonly number[]>();
  let free = width;
  for (const needle of needles) {
    let state = 0;
    for (const [index, byte] of needle.entries()) {
      const at = state + (classes[byte] ?? 0);
      if (next[at] === 0) {
        depth[free / width] = index + 1;
        next[at] = free;
        free += width;
      }
      state = next[at] ?? 0;
    }
    ends.set(state, [needle.length]);
  }
  linkSuffixes(next, width, ends);
  const ending = new Uint8Array(free);
  for (const state of ends.keys()) ending[state] = 1;
  return {
    shortest: needles.reduce((least, { length }) => Math.min(least, length), Infinity),
    longest: needles.reduce((most, { length }) => Math.max(most, length), 0),
    next,
    classes,
    ending,
    found: (state) => ends.get(state) ?? none,
    depth: (state) => depth[state / width] ?? 0,
  };
}

/** Bytes that occur in no needle are one class, 0: the table stays small. */
function classesOf(needles: readonly Uint8Array[]): {
  readonly classes: Uint8Array;
  readonly width: number;
} {
  const occurs = new Set<number>();
  for (const needle of needles) for (const byte of needle) occurs.add(byte);
  // UTF-8 does not use all 256 bytes, so every one that occurs has a class of its own.
  const classes = new Uint8Array(256);
  for (const [index, byte] of [...occurs].entries()) classes[byte] = index + 1;
  return { classes, width: occurs.size + 1 };
}

/** Makes the trie a finite automaton: where a needle does not go on, its longest suffix that begins one does. */
function linkSuffixes(next: Int32Array, width: number, ends: Map<number, readonly number[]>): void {
  const suffix = new Map<number, number>();
  const queue: number[] = [0];
  for (const state of queue) {
    const link = suffix.get(state) ?? 0;
    const inherited = state === 0 ? undefined : ends.get(link);
    if (inherited !== undefined) ends.set(state, [...(ends.get(state) ?? none), ...inherited]);
    for (let at = 0; at < width; at += 1) {
      const child = next[state + at] ?? 0;
      const other = state === 0 ? 0 : (next[link + at] ?? 0);
      if (child === 0) next[state + at] = other;
      else {
        suffix.set(child, other);
        queue.push(child);
      }
    }
  }
}
