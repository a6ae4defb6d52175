/** Where lines of one version of a file are in another one. */

/** The first line in `head` of the lines that `seen` has from `line` to `endLine`; undefined if they aren't there. */
export function mapBlock(
  seen: readonly string[],
  line: number,
  endLine: number,
  head: readonly string[],
): number | undefined {
  const isAt = (start: number): boolean => {
    for (let offset = 0; line + offset <= endLine; offset += 1)
      if (head[start - 1 + offset] !== seen[line - 1 + offset]) return false;
    return true;
  };
  const isSame = seen.length === head.length && isAt(line);
  const start = isSame ? line : mapLine(seen, line, head);
  return start !== undefined && isAt(start) ? start : undefined;
}

/**
 * The line of `head` that has the text of `line` in `seen`; undefined if there is none, or if the text and its
 * neighbors don't tell which one it is.
 */
function mapLine(
  seen: readonly string[],
  line: number,
  head: readonly string[],
): number | undefined {
  const text = seen[line - 1];
  if (text === undefined) return undefined;
  const around = (lines: readonly string[], at: number): number =>
    Number(lines[at - 2] === seen[line - 2]) + Number(lines[at] === seen[line]);
  let best: number | undefined;
  let score = -1;
  let isAmbiguous = false;
  for (const [index, one] of head.entries()) {
    if (one !== text) continue;
    const found = around(head, index + 1);
    isAmbiguous = found === score || (isAmbiguous && found < score);
    if (found > score) [best, score, isAmbiguous] = [index + 1, found, false];
  }
  return isAmbiguous ? undefined : best;
}
