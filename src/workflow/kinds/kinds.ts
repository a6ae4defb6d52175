/** All kinds of activities. A new one begins in `model.ts` and has a file here; the compiler leads to the rest. */
import type { Activity, ActivityOf } from "../model.ts";
import { ask } from "./ask.ts";
import { assign, set } from "./assign.ts";
import { call } from "./call.ts";
import { check } from "./check.ts";
import { execute } from "./execute.ts";
import type { Facts, Kind } from "./kind.ts";
import { failed, on, start, success } from "./marks.ts";
import { prompt } from "./prompt.ts";

export type ActivityKind = Activity["kind"];

/** In the order in which people are told. */
const kinds: { readonly [K in ActivityKind]: Kind<ActivityOf<K>> } = {
  start,
  set,
  assign,
  check,
  prompt,
  ask,
  execute,
  call,
  success,
  failed,
  on,
};

const nothing: Facts = { label: "", uses: [] };

export function kindOf(kind: ActivityKind): Kind<Activity> {
  return kinds[kind];
}

export function factsOf(activity: Activity): Facts {
  return kindOf(activity.kind).facts?.(activity) ?? nothing;
}

export function isActivityKind(word: string): word is ActivityKind {
  return Object.hasOwn(kinds, word);
}

export const activityKinds = Object.keys(kinds).filter(isActivityKind);

export function decides({ kind, other }: Activity): boolean {
  const how = kindOf(kind).decides;
  return how === "always" || (how === "with-edge" && other !== undefined);
}
