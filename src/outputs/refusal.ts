/** Checks of what a model hands in; each refusal is a sentence that the model can act on. */
import type { Checked } from "../engine/ports.ts";

export class Refused extends Error {}

/** The check, whose `Refused` is a value. */
export function asChecked<Asked extends readonly unknown[], Value>(
  check: (...asked: Asked) => Promise<Value>,
): (...asked: Asked) => Promise<Checked<Value>> {
  return async (...asked) => {
    try {
      return { kind: "accepted", value: await check(...asked) };
    } catch (error) {
      if (error instanceof Refused) return { kind: "refused", reason: error.message };
      throw error;
    }
  };
}

export type Given = Readonly<Record<string, unknown>>;

export function requiredText(value: Given, name: string, limit: number): string {
  const text = optionalText(value, name, limit);
  if (text === undefined || text.trim() === "")
    throw new Refused(`\`${name}\` is required, and must not be empty.`);
  return text;
}

export function optionalText(value: Given, name: string, limit: number): string | undefined {
  const text = value[name];
  if (text === undefined || text === null) return undefined;
  if (typeof text !== "string") throw new Refused(`\`${name}\` must be a string.`);
  if (text.length > limit)
    throw new Refused(`\`${name}\` has ${text.length} characters; at most ${limit} are allowed.`);
  return text;
}
