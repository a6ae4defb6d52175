/** The variables of a run. */
import { ordinaryValue } from "./params.ts";
import type { Found } from "./references.ts";

export class Variables {
  readonly #values = new Map<string, unknown>();

  find(name: string): Found {
    if (!this.#values.has(name)) return { kind: "none" };
    return { kind: "found", value: this.#values.get(name) };
  }

  /** Null deletes. */
  merge(changes: Readonly<Record<string, unknown>>): {
    readonly set: string[];
    readonly deleted: string[];
  } {
    const set: string[] = [];
    const deleted: string[] = [];
    for (const name of Object.keys(changes)) {
      const value = changes[name];
      if (value !== null) {
        this.#values.set(name, ordinaryValue(value));
        set.push(name);
      } else if (this.#values.delete(name)) deleted.push(name);
    }
    return { set, deleted };
  }

  /** Whether all would have at most `limit` characters after a merge. */
  fits(changes: Readonly<Record<string, unknown>>, limit: number): boolean {
    const merged = new Map([...this.#values, ...Object.entries(changes)]);
    let characters = 0;
    for (const [name, value] of merged) {
      if (value !== null) characters += name.length + JSON.stringify(value).length;
    }
    return characters <= limit;
  }
}
