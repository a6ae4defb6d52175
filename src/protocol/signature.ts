/** What makes two actions the same: what is called, with which params. Not when, nor how it is shown. */
import { isList, isRecord } from "../document/guards.ts";
import type { ActionSpec } from "./model.ts";

export function signatureOf(spec: ActionSpec): string {
  return JSON.stringify(sorted(essence(spec)));
}

function essence({ action, type, params = {}, sub_actions: members }: ActionSpec): unknown {
  return { action, type, params, members: members?.map(essence) ?? null };
}

function sorted(value: unknown): unknown {
  if (isList(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.keys(value)
    .sort()
    .map((key) => [key, sorted(value[key])]);
}
