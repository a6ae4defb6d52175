/**
 * The order of the actions of one document, as a graph. Each action has a start and an end. An edge means "not
 * before": a dependency leads from the end of the producer to the start of its consumer, a group starts before its
 * members and ends after them.
 */

export class ActionOrder {
  /** Node 2i is the start of action i, 2i + 1 its end. */
  readonly #next: readonly number[][];

  /** `groups`: of each action, the index of the group that it is in. */
  constructor(groups: readonly (number | undefined)[]) {
    this.#next = groups.flatMap((_, action) => [[2 * action + 1], []]);
    for (const [member, group] of groups.entries()) {
      if (group === undefined) continue;
      this.#edge(2 * group, 2 * member);
      this.#edge(2 * member + 1, 2 * group + 1);
    }
  }

  after(later: number, earlier: number): void {
    this.#edge(2 * earlier + 1, 2 * later);
  }

  /** Whether `later` can't start before `earlier` has ended. */
  isAfter(later: number, earlier: number): boolean {
    return this.#reaches(2 * earlier + 1, 2 * later);
  }

  /** Whether the start of `action` waits for itself. */
  isCyclic(action: number): boolean {
    const start = 2 * action;
    return (this.#next[start] ?? []).some((next) => this.#reaches(next, start));
  }

  #edge(from: number, to: number): void {
    this.#next[from]?.push(to);
  }

  #reaches(from: number, to: number): boolean {
    const seen = new Set([from]);
    for (const node of seen) {
      if (node === to) return true;
      for (const next of this.#next[node] ?? []) seen.add(next);
    }
    return false;
  }
}
