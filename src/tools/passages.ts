export interface Passage {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

const longestPassage = 2_000;
const longestQuery = 1_000;
const mostWords = 32;

export function wordsOf(query: string): readonly string[] {
  return [...new Set(tokens(query.slice(0, longestQuery)))].slice(0, mostWords);
}

export class PassageSearch {
  readonly #words: readonly string[];
  readonly #found: { readonly passage: Passage; readonly words: ReadonlySet<string> }[] = [];
  #passages = 0;

  constructor(words: readonly string[]) {
    this.#words = words;
  }

  /** A passage also has the words of its file's name, and of the headings that it is below. */
  add(file: string, text: string): void {
    const ofFile = this.#wordsIn(file);
    let headings: readonly string[] = [];
    let above: readonly string[] = [];
    for (const passage of passagesOf(file, text)) {
      this.#passages += 1;
      for (const [, { length } = "", title = ""] of passage.text.matchAll(headingLines)) {
        headings = [...headings.slice(0, length - 1), title];
        above = this.#wordsIn(headings.join("\n"));
      }
      const words = new Set([...ofFile, ...above, ...this.#wordsIn(passage.text)]);
      if (words.size > 0) this.#found.push({ passage, words });
    }
  }

  /** The best first: those with the most words, of which rare ones count more. */
  ranked(): readonly Passage[] {
    const spread = (word: string): number =>
      this.#found.filter(({ words }) => words.has(word)).length;
    const worth = new Map(
      this.#words.map((word) => [word, Math.log(1 + this.#passages / spread(word))]),
    );
    return this.#found
      .map(({ passage, words }) => ({
        passage,
        score: [...words].reduce((sum, word) => sum + (worth.get(word) ?? 0), 0),
      }))
      .toSorted((a, b) => b.score - a.score)
      .map(({ passage }) => passage);
  }

  /** A word of the query also counts where a longer word begins with it. */
  #wordsIn(text: string): readonly string[] {
    const all = new Set(tokens(text));
    return this.#words.filter(
      (word) => all.has(word) || (word.length >= 4 && [...all].some((one) => one.startsWith(word))),
    );
  }
}

function tokens(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}

const headingLines = /^(#{1,6})\s(.*)/gm;

export function passagesOf(file: string, text: string): readonly Passage[] {
  const passages: Passage[] = [];
  let lines: string[] = [];
  let first = 1;
  let length = 0;
  let hasText = false;
  const end = (): void => {
    const passage = lines.join("\n").trimEnd();
    if (passage !== "") passages.push({ file, line: first, text: passage });
    lines = [];
    length = 0;
    hasText = false;
  };
  for (const [number, line] of shortLines(text)) {
    const isBlank = line.trim() === "";
    const isHeading = /^#{1,6}\s/.test(line);
    if ((hasText && (isBlank || isHeading)) || length + line.length > longestPassage) end();
    if (lines.length === 0) first = number;
    if (isBlank && lines.length === 0) continue;
    hasText ||= !isBlank && !isHeading;
    lines.push(line);
    length += line.length + 1;
  }
  end();
  return passages;
}

function* shortLines(text: string): Iterable<readonly [number: number, line: string]> {
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    for (let at = 0; at === 0 || at < line.length; at += longestPassage) {
      yield [index + 1, line.slice(at, at + longestPassage)];
    }
  }
}
