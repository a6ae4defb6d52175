/** The tool calls of one session that run in this process: they end with its turn, and their progress is shown in it. */
type Listener = (toolCallId: string, text: string) => void;

export class OwnCalls {
  readonly #running = new Set<AbortController>();
  readonly #listeners = new Set<Listener>();

  add(call: AbortController): void {
    this.#running.add(call);
  }

  delete(call: AbortController): void {
    this.#running.delete(call);
  }

  abort(): void {
    for (const call of this.#running) call.abort("stopped");
  }

  tell(toolCallId: string, text: string): void {
    for (const listener of this.#listeners) listener(toolCallId, text);
  }

  follow(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
