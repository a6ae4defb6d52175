/** Longer words are not compared, because the time is quadratic. */
const longestWord = 64;

/** The candidate that `word` is most likely a misspelling or the beginning of, if there is one. */
export function suggest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > longestWord) return undefined;
  const typed = word.toLowerCase();
  let best: string | undefined;
  const longer: string[] = [];
  // One slip in three letters; of a single letter only the case may be wrong.
  let bestDistance = (word.length === 2 ? 1 : Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    if (candidate.length > longestWord) continue;
    if (typed.length > 2 && candidate.toLowerCase().startsWith(typed)) longer.push(candidate);
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(typed, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best ?? (longer.length === 1 ? longer[0] : undefined);
}

export function suggestion(word: string, candidates: Iterable<string>): { hint?: string } {
  const best = suggest(word, candidates);
  return best === undefined ? {} : { hint: didYouMean(best) };
}

export function didYouMean(candidate: string): string {
  return `did you mean ${JSON.stringify(candidate)}?`;
}

/** Insertions, deletions, replacements, and swaps of neighbors. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let distance = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        distance = Math.min(distance, at(beforeLast, column - 2) + 1);
      }
      current.push(distance);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
