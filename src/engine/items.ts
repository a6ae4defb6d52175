import { plural } from "../text/numbers.ts";
import { isList } from "../text/guards.ts";
import { defaultAtMostItems, type EachWork, type ItemSource, type Work } from "../entry/model.ts";
import { isAmong } from "../entry/glob.ts";
import { allWorks, itemsText, leafWorks } from "../entry/work.ts";
import { withOutput } from "../text/truncate.ts";
import { errorMessage } from "../platform/system-error.ts";
import type { Past } from "./past.ts";
import { noWork, type Place } from "./place.ts";
import { runCommand } from "./run-command.ts";
import type { Items } from "./run-work.ts";
import type { JobContext } from "./task-context.ts";
import type { Clock } from "../platform/clock.ts";
import type { Release } from "../platform/waiting.ts";

export class EachItems {
  readonly #job: JobContext;
  readonly #slots: Slots;
  readonly #past: Past;
  readonly #known = new Map<EachWork<Work<number>>, Items>();
  /** Each `Each` that had no item, in a sentence. */
  readonly empty = new Set<string>();

  constructor(job: JobContext, slots: Slots, past: Past) {
    this.#job = job;
    this.#slots = slots;
    this.#past = past;
  }

  async prepare(
    work: Work<number>,
    place: Place,
  ): Promise<Exclude<Items, { kind: "found" }> | undefined> {
    // These can be counted before anything is paid for.
    const counted = ["values", "files", "changedFiles"];
    for (const each of allWorks(work)) {
      if (each.kind !== "Each" || !counted.some((field) => field in each.items)) continue;
      const items = await this.#find(each, place);
      if (items.kind !== "found") return items;
      this.#known.set(each, items);
    }
    return undefined;
  }

  async of(each: EachWork<Work<number>>, place: Place): Promise<Items> {
    const [first] = leafWorks(each.work);
    if (first === undefined) return { kind: "found", items: [] };
    const workId = first.workIdInJob;
    const before = this.#past.takeItems(workId, place)?.map((text, index) => ({ text, index }));
    const found = before
      ? ({ kind: "found", items: before } as const)
      : (this.#known.get(each) ?? (await this.#find(each, place)));
    if (found.kind !== "found") return found;
    if (found.items.length === 0) this.empty.add(noItems(each));
    if (before !== undefined) return found;
    const outerItems = place.items.map(({ text }) => text);
    this.#job.ports.emit({
      type: "items.listed",
      workId,
      items: found.items.map(({ text }) => text),
      ...(outerItems.length === 0 ? {} : { outerItems }),
    });
    return found;
  }

  async #find(each: EachWork<Work<number>>, place: Place): Promise<Items> {
    const values = await this.#valuesOf(each.items, place);
    if (values === undefined || place.scope.stopped !== undefined) return { kind: "stopped" };
    if (typeof values !== "string")
      return itemsFrom(each, values, (text) =>
        this.#job.ports.emit({ type: "decision", work: null, decision: { kind: "note", text } }),
      );
    return { kind: "unanswered", reason: `the items could not be listed: ${values}` };
  }

  /** A text is the reason why there are none. Undefined: the scope has stopped. */
  async #valuesOf(
    items: ItemSource,
    place: Place,
  ): Promise<readonly unknown[] | string | undefined> {
    const { spec, data } = this.#job;
    if ("values" in items) return items.values;
    if ("lines" in items) {
      const missing: string[] = [];
      const text = data.textOf(items.lines, place, (name) => missing.push(`$${name}`));
      return missing.length === 0 ? linesOf(text) : `no value for ${missing.join(", ")}`;
    }
    if ("run" in items) {
      const free = await this.#slots.take(place);
      if (free === undefined) return undefined;
      const step = { work: noWork(place), scope: place.scope };
      const end = await runCommand(this.#job, step, items, true).finally(free);
      if (end.kind === "stopped") return undefined;
      if (end.kind === "passed") return linesOf(end.output);
      return withOutput(`${end.name} failed (${end.how})`, end.tail);
    }
    if ("result" in items) {
      const result = data.result(items.result, noWork(place));
      if (result === undefined) return `task ${JSON.stringify(items.result)} has left no result`;
      return listAt(result.value, items.path ?? "");
    }
    if ("changedFiles" in items) {
      const { files = [] } = spec.change ?? {};
      const left = files.filter(({ status }) => status !== "deleted").map(({ path }) => path);
      return left.filter((path) => isAmong(items.changedFiles, path));
    }
    return (spec.workspace?.files(items.files) ?? Promise.resolve([])).catch(errorMessage);
  }
}

function itemsFrom(
  work: EachWork<Work<number>>,
  values: readonly unknown[],
  note: (text: string) => void,
): Items {
  const { atMost = defaultAtMostItems, sample = false } = work;
  const each = nameOf(work);
  const texts = values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  const different = [...new Set(texts)];
  const twice = texts.length - different.length;
  if (twice > 0)
    note(`${each}: ${plural(twice, "duplicate item is", "duplicate items are")} left out`);
  if (different.length === 0) note(noItems(work));
  if (different.length > atMost) {
    const reason = `${each} has ${different.length} items, and at most ${atMost} are allowed (atMost)`;
    if (!sample) {
      const advice = "Raise atMost, or set sample: true to take the first of them";
      return { kind: "unanswered", reason: `${reason}. ${advice}` };
    }
    note(`${reason}: the first ${atMost} are taken`);
  }
  const items = different.slice(0, atMost).map((text, index) => ({ text, index }));
  return { kind: "found", items };
}

function nameOf(each: EachWork<Work<number>>): string {
  return `Each ${itemsText(each)}`;
}

function noItems(each: EachWork<Work<number>>): string {
  return `${nameOf(each)}: there are no items`;
}

function linesOf(text: string): readonly string[] {
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim().replace(/^(?:[-*+•]|\d{1,9}[.)])(?:\s+|$)/, ""))
    .filter((line) => line !== "");
}

/** The list that a JSON pointer (RFC 6901) leads to. A text is the reason why there is none. */
function listAt(value: unknown, pointer: string): readonly unknown[] | string {
  let at = value;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key))
      return `it has nothing at ${pointer}`;
    at = Object.entries(at).find(([name]) => name === key)?.[1];
  }
  return isList(at) ? at : `${pointer === "" ? "it" : `what is at ${pointer}`} is not a list`;
}

interface Waiting {
  readonly branch: Place["branch"];
  readonly start: () => void;
}

/**
 * Bounds the running steps of `Par`s and parallel `Each`es: at most `limits.parallel` in a run. A step without a slot
 * has not started, so its task takes no time and has no session. A step that holds a slot waits for no other slot, so
 * there are no deadlocks. Free slots go to the steps in the order of the tree.
 */
export class Slots {
  #free: number;
  #isGranting = false;
  readonly #waiting: Waiting[] = [];
  readonly #clock: Clock;

  constructor(count: number, clock: Clock) {
    this.#free = count;
    this.#clock = clock;
  }

  /** Resolves with the way to free the slot, or with undefined if the scope stops before one is free. */
  async take({ branch, scope }: Place): Promise<Release | undefined> {
    if (scope.stopped !== undefined) return undefined;
    if (branch.length === 0) return () => {};
    const free = (): void => {
      this.#free += 1;
      void this.#grant();
    };
    if (this.#free > 0 && this.#waiting.length === 0) {
      this.#free -= 1;
      return free;
    }
    let leave: Release = () => {};
    const isStarted = await new Promise<boolean>((resolve) => {
      const waiting = { branch, start: () => resolve(true) };
      const next = this.#waiting.findLastIndex((other) => compare(other.branch, branch) <= 0) + 1;
      this.#waiting.splice(next, 0, waiting);
      leave = scope.onStop(() => {
        const at = this.#waiting.indexOf(waiting);
        if (at >= 0) this.#waiting.splice(at, 1);
        resolve(false);
      });
    });
    leave();
    return isStarted ? free : undefined;
  }

  /** The next step of the branch that freed a slot precedes later branches, so it may ask first. */
  async #grant(): Promise<void> {
    if (this.#isGranting || this.#waiting.length === 0) return;
    this.#isGranting = true;
    await this.#clock.sleep(0);
    this.#isGranting = false;
    for (; this.#free > 0 && this.#waiting.length > 0; this.#free -= 1)
      this.#waiting.shift()?.start();
  }
}

function compare(one: Place["branch"], other: Place["branch"]): number {
  const at = one.findIndex((index, depth) => index !== other[depth]);
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}
