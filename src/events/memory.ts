/** The notes that a job keeps between its runs: a Markdown list in a file. Pure: `run/memory.ts` reads and writes it. */

export interface PlannedMemory {
  /** Relative to the working directory. */
  readonly file: string;
  readonly max: number;
  readonly text: string;
  /** Whether what tasks note is kept: not by a rehearsal, a part of a job, or a run that a stranger may have started. */
  readonly isKept: boolean;
}

export function noteEntry(note: string): string {
  return `- ${note.trim().replaceAll(/\r\n?|\n/g, "\n  ")}\n`;
}

/** The text before the first item stays; an item ends where the next one begins. */
function parts(text: string): { readonly head: string; readonly entries: readonly string[] } {
  const [head = "", ...entries] = text.split(/^(?=- )/m);
  return text.startsWith("- ") ? { head: "", entries: [head, ...entries] } : { head, entries };
}

/** How many bytes the notes can never have. */
export function headBytes(text: string): number {
  return bytesOf(parts(text).head);
}

/** The text with the notes that it doesn't have yet. If that is more than `max` bytes, the oldest items go. */
export function remember(text: string, notes: readonly string[], max: number): string {
  const { head, entries } = parts(lined(text));
  const all = [...new Set([...entries, ...notes.map(noteEntry)])];
  let bytes = bytesOf(head) + bytesOf(all.join(""));
  let from = 0;
  while (bytes > max && from < all.length) {
    bytes -= bytesOf(all[from] ?? "");
    from += 1;
  }
  return head + all.slice(from).join("");
}

export function memoryDiff(
  { text, max }: PlannedMemory,
  notes: readonly string[],
): readonly string[] {
  const before = parts(lined(text)).entries;
  const after = parts(remember(text, notes, max)).entries;
  const lines = (sign: string, entries: readonly string[], others: readonly string[]): string[] =>
    entries
      .filter((entry) => !others.includes(entry))
      .flatMap((entry) => entry.trimEnd().split("\n"))
      .map((line) => `${sign} ${line}`);
  return [...lines("-", before, after), ...lines("+", after, before)];
}

function lined(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
