/** Columns for people, as wide as their widest cell. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const widths = head.map((title, column) =>
    rows.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), title.length),
  );
  return [head, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
