/**
 * Many words looked for in one pass (Aho–Corasick): a state for each prefix of a word, and one table look-up for each
 * character of the text, however many words there are. Characters are UTF-16 units.
 *
 * A state is the offset of its row in the table. An entry of the table is the next state, doubled, and 1 if a word
 * ends there.
 */
export class WordAutomaton<T> {
  /** Of each character its column; 0: it is in no word. */
  readonly #columns = new Uint16Array(0x10000);
  readonly #width: number;
  readonly #next: Int32Array;
  /** By number of the state: the words that end there, the longest first. */
  readonly #ends: Ended<T>[][] = [[]];
  /** By number of the state: how many of the last characters may still become a word. */
  readonly #depths: number[] = [0];

  constructor(words: readonly (readonly [word: string, item: T])[]) {
    let width = 1;
    let length = 0;
    for (const [word] of words) {
      length += word.length;
      for (let at = 0; at < word.length; at += 1) {
        const code = word.charCodeAt(at);
        if (this.#columns[code] === 0) this.#columns[code] = width++;
      }
    }
    this.#width = width;
    const trie = new Int32Array((length + 1) * width);
    for (const [word, item] of words) this.#add(trie, word, item);
    this.#next = trie.slice(0, this.#ends.length * width);
    this.#link();
  }

  /** Calls `found` for every word in the text. Returns how many of its last characters may still become one. */
  scan(text: string, found: (item: T, at: number) => void): number {
    const columns = this.#columns;
    const next = this.#next;
    let state = 0;
    for (let at = 0; at < text.length; at += 1) {
      const entry = next[state + (columns[text.charCodeAt(at)] ?? 0)] ?? 0;
      state = entry >> 1;
      if ((entry & 1) === 0) continue;
      for (const { item, length } of this.#ends[state / this.#width] ?? []) {
        found(item, at + 1 - length);
      }
    }
    return this.#depths[state / this.#width] ?? 0;
  }

  #add(trie: Int32Array, word: string, item: T): void {
    let state = 0;
    for (let at = 0; at < word.length; at += 1) {
      const entry = state * this.#width + (this.#columns[word.charCodeAt(at)] ?? 0);
      if (trie[entry] === 0) {
        trie[entry] = this.#ends.length;
        this.#ends.push([]);
        this.#depths.push(at + 1);
      }
      state = trie[entry] ?? 0;
    }
    this.#ends[state]?.push({ item, length: word.length });
  }

  /** Makes an automaton of the trie: where a word does not go on, its longest suffix that begins one does. */
  #link(): void {
    const width = this.#width;
    const next = this.#next;
    const suffixes = new Int32Array(this.#ends.length);
    const queue = [0];
    for (const state of queue) {
      const suffix = suffixes[state] ?? 0;
      if (state !== 0) this.#ends[state]?.push(...(this.#ends[suffix] ?? []));
      for (let column = 0; column < width; column += 1) {
        const child = next[state * width + column] ?? 0;
        // Shorter states have their entries already.
        const other = state === 0 ? 0 : (next[suffix * width + column] ?? 0);
        if (child === 0) next[state * width + column] = other;
        else {
          suffixes[child] = other;
          queue.push(child);
        }
      }
    }
    const entries = this.#ends.map((ends, state) => state * width * 2 + (ends.length > 0 ? 1 : 0));
    for (let at = 0; at < next.length; at += 1) next[at] = entries[next[at] ?? 0] ?? 0;
  }
}

interface Ended<T> {
  readonly item: T;
  readonly length: number;
}
