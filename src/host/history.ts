import type { Clock } from "../platform/clock.ts";

interface Kept<T> {
  readonly value: T;
  /** Undefined while it lasts. */
  endedAt: number | undefined;
}

/** Old items are forgotten whenever it is used: a timer would keep the process alive, and what is not used doesn't grow. */
export class History<T> {
  readonly #clock: Clock;
  readonly #keptMs: number;
  readonly #forget: (value: T) => void;
  readonly #items = new Map<string, Kept<T>>();

  constructor(clock: Clock, keptMs: number, forget: (value: T) => void) {
    this.#clock = clock;
    this.#keptMs = keptMs;
    this.#forget = forget;
  }

  add(id: string, value: T): void {
    this.#forgetOld();
    this.#items.set(id, { value, endedAt: undefined });
  }

  end(id: string): void {
    const kept = this.#items.get(id);
    if (kept !== undefined) kept.endedAt ??= this.#clock.now();
  }

  get(id: string): T | undefined {
    this.#forgetOld();
    return this.#items.get(id)?.value;
  }

  get kept(): readonly Readonly<Kept<T>>[] {
    this.#forgetOld();
    return [...this.#items.values()];
  }

  clear(): void {
    for (const { value } of this.#items.values()) this.#forget(value);
    this.#items.clear();
  }

  #forgetOld(): void {
    const oldest = this.#clock.now() - this.#keptMs;
    for (const [id, { value, endedAt }] of this.#items) {
      if (endedAt === undefined || endedAt > oldest) continue;
      this.#items.delete(id);
      this.#forget(value);
    }
  }
}
