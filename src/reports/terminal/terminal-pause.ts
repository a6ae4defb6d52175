/** Lets a question to a person have the terminal: the live view is gone until the answer, and the log waits. */
export class TerminalPause {
  #paused = false;
  #listener: ((paused: boolean) => void) | undefined;

  /** One reporter draws on a terminal. */
  onChange(listener: (paused: boolean) => void): void {
    this.#listener = listener;
  }

  pause(): void {
    this.#change(true);
  }

  resume(): void {
    this.#change(false);
  }

  #change(paused: boolean): void {
    if (paused === this.#paused) return;
    this.#paused = paused;
    this.#listener?.(paused);
  }
}

/** Nobody wants to read more than this after a long question. */
const MAX_HELD = 256 * 1024;

/** The lines that are printed during a pause. */
export class HeldLines {
  #lines: string[] = [];
  #length = 0;
  #omitted = 0;

  add(line: string): void {
    if (this.#length + line.length > MAX_HELD) {
      this.#omitted += 1;
      return;
    }
    this.#lines.push(line);
    this.#length += line.length;
  }

  take(): readonly string[] {
    const omitted =
      this.#omitted === 0 ? [] : [`… ${this.#omitted} more lines, which are not shown`];
    const lines = [...this.#lines, ...omitted];
    this.#lines = [];
    this.#length = 0;
    this.#omitted = 0;
    return lines;
  }
}
