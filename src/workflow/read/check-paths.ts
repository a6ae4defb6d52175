/** The checks that follow the edges of a workflow. Each takes time that grows with the number of edges. */
import type { Problems, Place } from "./problems.ts";
import { isResult } from "../kinds/kind.ts";
import { factsOf, kindOf, promptRole } from "../kinds/kinds.ts";
import type { Activity, ActivityOf } from "../model.ts";
import type { ReadFile } from "./sections.ts";

/** Of one file. `all`: the files of the workflow, the first one first. */
export function checkPaths(file: ReadFile, all: readonly ReadFile[], problems: Problems): void {
  const reached = reachedIn(file);
  // Without a START everything would be unreachable.
  if (reached === undefined) return;
  for (const one of file.activities.values()) {
    if (reached.has(one) || one.kind === "success" || one.kind === "failed") continue;
    problems.warn(placeOf(file, one), `${one.id} can't be reached.`);
  }
  const others = all.filter((other) => other !== file);
  const asksElsewhere = others.some(({ activities }) => [...activities.values()].some(asks));
  reportUnasked(file, reached, asksElsewhere, problems);
  reportEmptyResults(file, file === all[0], problems);
}

function reachedIn({ activities }: ReadFile): ReadonlySet<Activity> | undefined {
  const queue = [...activities.values()].filter(({ kind }) => kind === "start" || kind === "on");
  if (!queue.some(({ kind }) => kind === "start")) return undefined;
  const reached = new Set(queue);
  for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
    for (const id of [one.next, one.other]) {
      const to = id === undefined ? undefined : activities.get(id);
      if (to === undefined || reached.has(to)) continue;
      reached.add(to);
      queue.push(to);
    }
  }
  return reached;
}

function asks(one: Activity): boolean {
  return promptRole(one) === "user";
}

/** Agents that are never asked. Walks backwards from every prompt that asks, up to where an agent starts. */
function reportUnasked(
  file: ReadFile,
  reached: ReadonlySet<Activity>,
  asksElsewhere: boolean,
  problems: Problems,
): void {
  const all = [...file.activities.values()];
  const on = (event: "success" | "failed"): string | undefined =>
    all.find((one) => one.kind === "on" && one.event === event)?.id;
  const [onSuccess, onFailed] = [on("success"), on("failed")];
  const before = new Map<string, Activity[]>();
  for (const one of all) {
    const next = one.next ?? (one.kind === "failed" ? onFailed : onSuccess);
    for (const id of [
      next,
      one.other ?? (kindOf(one.kind).decides === undefined ? undefined : onFailed),
    ]) {
      const those = before.get(id ?? "");
      if (those === undefined) before.set(id ?? "", [one]);
      else those.push(one);
    }
  }
  const queue = all.filter((one) => asks(one) || (one.kind === "call" && asksElsewhere));
  const asked = new Set<Activity>();
  for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
    for (const previous of before.get(one.id) ?? []) {
      if (asked.has(previous)) continue;
      asked.add(previous);
      if (promptRole(previous) !== "system") queue.push(previous);
    }
  }
  for (const one of reached) {
    if (promptRole(one) !== "system" || asked.has(one)) continue;
    const reason = `${one.id} starts an agent that is never asked: no PROMPT with a User prompt follows.`;
    problems.warn(placeOf(file, one), reason);
  }
}

/** Where RESULT may come from when an activity begins, as bits. */
const INPUT = 1;
const EMPTIED = 2;
const SET = 4;

/** Activities that use RESULT before anything can have set it. */
function reportEmptyResults(file: ReadFile, isMain: boolean, problems: Problems): void {
  const { activities } = file;
  const sources = new Map<Activity, number>();
  const queue: Activity[] = [];
  const come = (id: string | undefined, from: number): void => {
    const one = id === undefined ? undefined : activities.get(id);
    const known = (one && sources.get(one)) ?? 0;
    if (one === undefined || (known | from) === known) return;
    sources.set(one, known | from);
    queue.push(one);
  };
  for (const { kind, id } of activities.values()) {
    if (kind === "start") come(id, isMain ? INPUT : SET);
    else if (kind === "on") come(id, SET);
  }
  for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
    const before = sources.get(one) ?? 0;
    const after = { kept: before, emptied: EMPTIED, set: SET }[factsOf(one).result];
    come(one.next, after);
    // A prompt that fails leaves RESULT as it was.
    come(one.other, one.kind === "prompt" ? before | after : after);
  }
  for (const [one, from] of sources) {
    if (from >= SET || !usesResult(one, file)) continue;
    const place = placeOf(file, one);
    const hint = "write {{USER_INPUT}} for the user input of the run";
    if (from === EMPTIED) {
      const reason = `RESULT is empty in ${one.id}: a System prompt has emptied it, and nothing has set it since.`;
      problems.warn(place, reason, one.kind === "prompt" ? hint : undefined);
    } else if (one.kind === "prompt") {
      const reason = `RESULT in ${one.id} is not an answer yet: it is the user input of the run, or what a CALL passes.`;
      problems.warn(place, reason, hint);
    }
  }
}

function usesResult(one: Activity, { prompts }: ReadFile): boolean {
  return factsOf(one).uses.some(({ as, text }) => {
    if (as === "prompt") return contains(prompts.get(text)?.text ?? text);
    if (as === "operand") return false;
    const isName = as === "assigned" || as === "value" || as === "compared";
    return (isName && isResult(text)) || (as !== "compared" && contains(text));
  });
}

function contains(text: string): boolean {
  return /\{\{(?:RESULT|CONTENT)\}\}/.test(text);
}

function placeOf({ file }: ReadFile, { at }: Activity): Place {
  return { file, at };
}

/** A walk in depth, with a stack of its own, because calls may be nested deeply. */
export function reportCycles(all: readonly ReadFile[], problems: Problems): void {
  const byId = new Map(all.map((file) => [file.id, file]));
  const calls = (file: ReadFile): ActivityOf<"call">[] =>
    [...file.activities.values()].filter((one) => one.kind === "call").toReversed();
  const done = new Set<string>();
  for (const root of all) {
    if (done.has(root.id)) continue;
    const open = new Set([root.id]);
    const stack = [{ file: root, rest: calls(root) }];
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const call = top.rest.pop();
      if (call === undefined) {
        open.delete(top.file.id);
        done.add(top.file.id);
        stack.pop();
        continue;
      }
      if (open.has(call.target)) {
        const ids = [...open];
        const cycle = [...ids.slice(ids.indexOf(call.target)), call.target].join(" → ");
        const place = { file: top.file.file, at: call.at };
        problems.error(place, `The workflow calls itself: ${cycle}.`);
        continue;
      }
      const file = byId.get(call.target);
      if (file === undefined || done.has(file.id)) continue;
      open.add(file.id);
      stack.push({ file, rest: calls(file) });
    }
  }
}
