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
