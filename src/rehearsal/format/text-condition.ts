import { compileExpression, type Expression } from "../../document/expression.ts";
import { truncate, truncateStart } from "../../text/truncate.ts";
import type { Condition } from "./expect.ts";

type Parts = Exclude<Condition, string>;

export type Fill = (template: string) => string;

/** Why the text does not meet the condition, as the predicate of a sentence; undefined if it does. */
export function mismatch(condition: Condition, text: string, fill: Fill): string | undefined {
  const parts = partsOf(condition);
  const { contains = [], excludes = [], equals } = parts;
  for (const needle of [contains].flat())
    if (!text.includes(block(fill(needle)))) return `does not contain ${quote(fill(needle))}`;
  for (const needle of [excludes].flat())
    if (text.includes(block(fill(needle))))
      return `contains ${quote(fill(needle))}, which it must not`;
  if (equals !== undefined && fill(equals).trimEnd() !== text.trimEnd())
    return `is not equal to ${quote(fill(equals))}`;
  return expressionOf(parts)?.mismatch(text);
}

export function describeCondition(condition: Condition): string {
  const { contains = [], excludes = [], equals, matches } = partsOf(condition);
  return [
    ...[contains].flat().map((needle) => `contains ${quote(needle)}`),
    ...[excludes].flat().map((needle) => `does not contain ${quote(needle)}`),
    ...(equals === undefined ? [] : [`equals ${quote(equals)}`]),
    ...(matches === undefined ? [] : [`matches /${matches}/`]),
  ].join(" and ");
}

function partsOf(condition: Condition): Parts {
  return typeof condition === "string" ? { contains: condition } : condition;
}

/** A condition is checked on each event of a run, and compiling its expression takes longer than that. */
const compiled = new WeakMap<Parts, Expression>();

function expressionOf(parts: Parts): Expression | undefined {
  if (parts.matches === undefined) return undefined;
  const known = compiled.get(parts);
  if (known !== undefined) return known;
  const made = compileExpression(parts.matches);
  // The loader has refused others.
  if (made.kind === "refused") throw new Error(made.reason);
  compiled.set(parts, made.expression);
  return made.expression;
}

const SHOWN = 160;

/** On one line, shortened in the middle, because both ends identify a prompt. */
export function quote(text: string): string {
  if (text.length <= SHOWN) return JSON.stringify(text);
  const half = SHOWN / 2;
  return `${JSON.stringify(truncate(text, half))} … ${JSON.stringify(truncateStart(text, half))} (${text.length} characters)`;
}

/** A YAML block ends with a line break that is not part of the condition. */
function block(needle: string): string {
  return needle.replace(/(?<!\n)\n+$/, "");
}
