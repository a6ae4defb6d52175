/** The passages of texts that answer a query best. Simple and always the same: words, not meanings. Pure. */

export interface Passage {
  readonly file: string;
  /** Of its first line, from 1. */
  readonly line: number;
  readonly text: string;
}

interface Candidate extends Passage {
  /** How often each word of the query occurs; in a heading or the name of the file it counts as several times. */
  readonly counts: ReadonlyMap<string, number>;
}

/** A longer paragraph is taken apart. */
const longestPassage = { lines: 40, characters: 2_000 };
const longestQuery = 1_000;
const mostWords = 32;
const longestWord = 64;
const longestHeading = 100;
const headingWeight = 3;
/** More of the same word says no more. */
const mostCounted = 6;

/** The different words of a query, in lower case. */
export function wordsOf(query: string): readonly string[] {
  const words = tokens(query.slice(0, longestQuery));
  const long = words.filter((word) => word.length > 1);
  return [...new Set(long.length > 0 ? long : words)].slice(0, mostWords);
}

/** Collects passages file by file, and ranks them at the end. */
export class PassageSearch {
  readonly #words: ReadonlySet<string>;
  readonly #lengths: readonly number[];
  readonly #candidates: Candidate[] = [];
  /** In how many passages a word occurs. */
  readonly #spread = new Map<string, number>();
  #passages = 0;

  constructor(words: readonly string[]) {
    this.#words = new Set(words);
    this.#lengths = [...new Set(words.map(({ length }) => length))];
  }

  add(file: string, text: string): void {
    const ofFile = this.#count(file, headingWeight);
    let headings: readonly string[] = [];
    let above = new Map<string, number>();
    for (const passage of passagesOf(file, text)) {
      this.#passages += 1;
      const before = headings;
      headings = headingsAt(before, passage.text);
      if (headings !== before) above = this.#count(headings.join("\n"), headingWeight);
      const counts = this.#count(passage.text, 1);
      for (const more of [above, ofFile]) {
        for (const [word, count] of more) counts.set(word, (counts.get(word) ?? 0) + count);
      }
      if (counts.size === 0) continue;
      for (const word of counts.keys()) this.#spread.set(word, (this.#spread.get(word) ?? 0) + 1);
      this.#candidates.push({ ...passage, counts });
    }
  }

  /** The best first. */
  ranked(): readonly Passage[] {
    const score = ({ counts }: Candidate): number => {
      let sum = 0;
      for (const [word, count] of counts) {
        const rarity = Math.log(1 + this.#passages / (this.#spread.get(word) ?? 1));
        sum += rarity * (1 + Math.log(Math.min(count, mostCounted)));
      }
      return sum;
    };
    return this.#candidates
      .map((candidate) => ({ candidate, score: score(candidate) }))
      .sort((a, b) => b.score - a.score || byPlace(a.candidate, b.candidate))
      .map(({ candidate: { file, line, text } }) => ({ file, line, text }));
  }

  /** A word of the query also counts where a longer word begins with it. */
  #count(text: string, weight: number): Map<string, number> {
    const counts = new Map<string, number>();
    for (const token of tokens(text)) {
      for (const length of this.#lengths) {
        if (token.length !== length && (length < 4 || token.length < length)) continue;
        const word = token.slice(0, length);
        if (this.#words.has(word)) counts.set(word, (counts.get(word) ?? 0) + weight);
      }
    }
    return counts;
  }
}

function byPlace(a: Passage, b: Passage): number {
  return a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1;
}

function tokens(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).map((token) =>
    token.slice(0, longestWord),
  );
}

/** Paragraphs, each with the heading right above it. */
export function passagesOf(file: string, text: string): readonly Passage[] {
  const passages: Passage[] = [];
  let lines: string[] = [];
  let first = 1;
  let characters = 0;
  /** Whether all lines up to now are headings. */
  let onlyHeadings = true;
  const end = (next: number): void => {
    while (lines.at(-1)?.trim() === "") lines.pop();
    if (lines.length > 0) passages.push({ file, line: first, text: lines.join("\n") });
    lines = [];
    first = next;
    characters = 0;
    onlyHeadings = true;
  };
  for (const [index, line] of shortLines(text)) {
    const isBlank = line.trim() === "";
    if (isBlank && (lines.length === 0 || !onlyHeadings)) {
      end(index + 2);
      continue;
    }
    const isHeading = headingLevel(line) > 0;
    if (isHeading && !onlyHeadings) end(index + 1);
    if (!isBlank && !isHeading) onlyHeadings = false;
    const isTooLong =
      lines.length >= longestPassage.lines || characters + line.length > longestPassage.characters;
    if (isTooLong && lines.length > 0) {
      end(index + 1);
      onlyHeadings = isHeading;
    }
    lines.push(line);
    characters += line.length + 1;
  }
  end(0);
  return passages;
}

/** The lines of a text with their indexes; a very long line is taken apart. */
function* shortLines(text: string): Iterable<readonly [index: number, line: string]> {
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.length <= longestPassage.characters) yield [index, line];
    else {
      for (let at = 0; at < line.length; at += longestPassage.characters) {
        yield [index, line.slice(at, at + longestPassage.characters)];
      }
    }
  }
}

/** The headings that a passage is below, its own included: of each level the last one. */
function headingsAt(before: readonly string[], text: string): readonly string[] {
  if (headingLevel(text) === 0) return before;
  const headings = [...before];
  for (const line of text.split("\n")) {
    const level = headingLevel(line);
    if (level === 0 && line.trim() !== "") break;
    if (level === 0) continue;
    headings.length = Math.min(headings.length, level - 1);
    headings[level - 1] = line.slice(level, longestHeading).trim();
  }
  return headings;
}

/** Of a Markdown heading, 1 to 6; 0 for any other line. */
function headingLevel(line: string): number {
  return /^(#{1,6})\s/.exec(line)?.[1]?.length ?? 0;
}
