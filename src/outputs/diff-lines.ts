/** Which lines of the head a diff shows: only those can have a comment. */

export type LinesInDiff = (path: string, from: number, to: number) => boolean;

/** `patch`: the hunks of one file, as GitHub gives them. */
export function linesInDiff(
  files: readonly { readonly path: string; readonly patch: string | undefined }[],
): LinesInDiff {
  const hunks = new Map(files.map(({ path, patch = "" }) => [path, hunksOf(patch)]));
  return (path, from, to) =>
    hunks.get(path)?.some(([first, last]) => first <= from && to <= last) === true;
}

function hunksOf(patch: string): readonly (readonly [first: number, last: number])[] {
  return patch.split("\n").flatMap((line) => {
    // Lines of a file begin with a space, a plus or a minus.
    const [, start, count = "1"] = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    return start === undefined ? [] : [[Number(start), Number(start) + Number(count) - 1] as const];
  });
}
