import { plural } from "../text/numbers.ts";
import { isList } from "../text/guards.ts";
import {
  defaultAtMostItems,
  type Command,
  type EachWork,
  type ItemSource,
  type Prompt,
  type Work,
} from "../entry/model.ts";
import { isAmong } from "../entry/glob.ts";
import { allWorks, itemsText, leafWorks } from "../entry/work.ts";
import { withOutput } from "../text/truncate.ts";
import type { ChangedFile } from "../events/plan.ts";
import type { Past } from "./past.ts";
import type { EnginePorts, Workspace } from "./ports.ts";
import type { CommandResult } from "./run-command.ts";
import type { Scope } from "./scope.ts";

export interface Place {
  /** A crash stops this: the job, or the part of it that may crash alone. */
  readonly scope: Scope;
  readonly items: readonly Item[];
  /** The index of the member in each `Par` and parallel `Each` around this place, from the outside. */
  readonly branch: readonly number[];
}

export interface Item {
  readonly text: string;
  readonly index: number;
}

interface Found {
  readonly kind: "found";
  readonly items: readonly Item[];
}

export type Items =
  | Found
  | { readonly kind: "unanswered" | "skipped"; readonly reason: string }
  | { readonly kind: "stopped" };

export interface EachItemsOptions {
  readonly workspace: Workspace | undefined;
  readonly changed: readonly ChangedFile[] | undefined;
  readonly note: (text: string) => void;
  readonly past: Pick<Past, "takeItems">;
  readonly emit: EnginePorts["emit"];
  readonly textOf: (prompt: Prompt, place: Place, onMissing: (name: string) => void) => string;
  readonly resultOf: (task: string, place: Place) => { readonly value: unknown } | undefined;
  readonly run: (command: Command, place: Place) => Promise<CommandResult | undefined>;
}

export class EachItems {
  readonly #options: EachItemsOptions;
  readonly #known = new Map<EachWork<Work<number>>, Items>();
  /** Each `Each` that had no item, in a sentence. */
  readonly empty = new Set<string>();

  constructor(options: EachItemsOptions) {
    this.#options = options;
  }

  async prepare(work: Work<number>, place: Place): Promise<Exclude<Items, Found> | undefined> {
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
    const { past, emit } = this.#options;
    const { workIdInJob: workId } = first;
    const before = past.takeItems(workId, place)?.map((text, index) => ({ text, index }));
    const found = before
      ? ({ kind: "found", items: before } as const)
      : (this.#known.get(each) ?? (await this.#find(each, place)));
    if (found.kind !== "found") return found;
    if (found.items.length === 0) this.empty.add(noItems(each));
    if (before !== undefined) return found;
    const outerItems = place.items.map(({ text }) => text);
    emit({
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
    if (typeof values !== "string") return itemsFrom(each, values, this.#options.note);
    const reason = `the items could not be listed: ${values}`;
    return { kind: "unanswered", reason };
  }

  /** A text is the reason why there are none. Undefined: the scope has stopped. */
  async #valuesOf(
    items: ItemSource,
    place: Place,
  ): Promise<readonly unknown[] | string | undefined> {
    const { workspace, changed = [], textOf, resultOf, run } = this.#options;
    if ("values" in items) return items.values;
    if ("lines" in items) {
      const missing: string[] = [];
      const text = textOf(items.lines, place, (name) => missing.push(`$${name}`));
      return missing.length === 0 ? linesOf(text) : `no value for ${missing.join(", ")}`;
    }
    if ("run" in items) {
      const end = await run(items, place);
      if (end === undefined || end.kind === "stopped") return undefined;
      if (end.kind === "passed") return linesOf(end.output);
      return withOutput(`${end.name} failed (${end.how})`, end.tail);
    }
    if ("result" in items) {
      const result = resultOf(items.result, place);
      if (result === undefined) return `task ${JSON.stringify(items.result)} has left no result`;
      return listAt(result.value, items.path ?? "");
    }
    if ("changedFiles" in items) {
      const left = changed.filter(({ status }) => status !== "deleted").map(({ path }) => path);
      return left.filter((path) => isAmong(items.changedFiles, path));
    }
    try {
      return (await workspace?.files(items.files)) ?? [];
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
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

/** For a prompt: as it is where it is one line that can be printed, else as a JSON string. */
export function itemInPrompt(text: string): string {
  return /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+$/u.test(text) && text.trim() === text
    ? text
    : JSON.stringify(text);
}
