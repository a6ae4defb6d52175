/**
 * A terminal as far as our output needs one: lines, wrapping, scrolling, and the sequences that move and
 * erase. Anything else in the output is an error.
 */
export class Screen {
  readonly isTTY = true;
  columns: number;
  rows: number;
  /** The argument of each `write`. */
  readonly writes: string[] = [];
  #lines: string[] = [""];
  #row = 0;
  #column = 0;

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
  }

  /** Everything, what scrolled away included, without blanks at the ends of lines and below the cursor. */
  text(): string {
    const lines = this.#lines.map((line) => line.trimEnd());
    const last = lines.findLastIndex((line) => line !== "");
    return lines.slice(0, Math.max(last, this.#row) + 1).join("\n");
  }

  /** The lines in the window. */
  window(): string[] {
    return this.#lines.slice(-this.rows).map((line) => line.trimEnd());
  }

  /** Reflows, as most terminals do, with the cursor after the last line. */
  resize(columns: number, rows: number): void {
    const width = this.columns;
    this.columns = columns;
    this.rows = rows;
    const wrapped: string[] = [];
    for (const line of this.#lines) {
      const text = line.trimEnd();
      for (let from = 0; from === 0 || from < text.length; from += columns) {
        wrapped.push(text.slice(from, from + columns));
      }
    }
    if (width === columns) return;
    this.#lines = wrapped;
    this.#row = wrapped.length - 1;
    this.#column = 0;
  }

  write(text: string): void {
    this.writes.push(text);
    let rest = text;
    while (rest !== "") {
      const sequence = rest.startsWith("\u001B") ? /^.\[(\??)([\d;]*)([A-Za-z])/.exec(rest) : null;
      if (sequence !== null) {
        const [whole, question, number, letter] = sequence;
        rest = rest.slice(whole.length);
        if (question === "")
          this.#control(letter ?? "", number === "" ? undefined : Number(number));
        else if (number !== "2026") throw new Error(`unknown mode ${whole.slice(1)}`);
        continue;
      }
      const character = String.fromCodePoint(rest.codePointAt(0) ?? 0);
      rest = rest.slice(character.length);
      this.#put(character);
    }
  }

  #control(letter: string, number: number | undefined): void {
    const top = Math.max(0, this.#lines.length - this.rows);
    switch (letter) {
      case "A":
        this.#row = Math.max(top, this.#row - (number ?? 1));
        return;
      case "J":
        this.#lines.length = this.#row + 1;
        this.#lines[this.#row] = "";
        return;
      case "m":
        return;
      default:
        throw new Error(`unknown sequence ${letter}`);
    }
  }

  #line(): string {
    return this.#lines[this.#row] ?? "";
  }

  #put(character: string): void {
    if (character < " " && character !== "\n")
      throw new Error(`control ${JSON.stringify(character)}`);
    if (character === "\n" || this.#column >= this.columns) {
      this.#row += 1;
      this.#column = 0;
      if (this.#row === this.#lines.length) this.#lines.push("");
      if (character === "\n") return;
    }
    const line = this.#line().padEnd(this.#column);
    this.#lines[this.#row] = line.slice(0, this.#column) + character + line.slice(this.#column + 1);
    this.#column += 1;
  }
}

/** Time stands still until `pass`. */
export class ManualClock {
  #now = 0;
  #sleepers: (() => void)[] = [];

  now(): number {
    return this.#now;
  }

  get sleeping(): number {
    return this.#sleepers.length;
  }

  sleep(_milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== wake);
        resolve();
      };
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      signal?.addEventListener("abort", wake, { once: true });
      this.#sleepers.push(wake);
    });
  }

  /** Wakes whoever sleeps, after so much time. */
  async pass(milliseconds: number): Promise<void> {
    this.#now += milliseconds;
    const sleepers = this.#sleepers;
    this.#sleepers = [];
    for (const wake of sleepers) wake();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
