import { defined } from "../../text/guards.ts";
import { compileExpression, type Expression } from "../../document/expression.ts";
import type { ConditionField } from "./fields.ts";
import { truncate, truncateStart } from "../../text/truncate.ts";

export interface TextCondition {
  readonly contains: readonly string[];
  readonly excludes: readonly string[];
  readonly equals?: string;
  readonly matches?: Expression;
}

export function toCondition(
  field: ConditionField,
): TextCondition | { readonly problem: string; readonly hint?: string } {
  if (typeof field === "string") return { contains: [field], excludes: [] };
  const { contains = [], excludes = [], equals, matches } = field;
  const compiled = matches === undefined ? undefined : compileExpression(matches);
  if (compiled?.kind === "refused") {
    const { reason, hint } = compiled;
    return { problem: reason, ...defined({ hint }) };
  }
  return {
    contains: [contains].flat(),
    excludes: [excludes].flat(),
    ...defined({ equals }),
    ...(compiled === undefined ? {} : { matches: compiled.expression }),
  };
}

/** Why the text does not meet the condition, as the predicate of a sentence; undefined if it does. */
export function mismatch(
  condition: TextCondition,
  text: string,
  fill: (template: string) => string,
): string | undefined {
  for (const needle of condition.contains) {
    if (!text.includes(block(fill(needle)))) return `does not contain ${quote(fill(needle))}`;
  }
  for (const needle of condition.excludes) {
    if (text.includes(block(fill(needle)))) {
      return `contains ${quote(fill(needle))}, which it must not`;
    }
  }
  const { equals, matches } = condition;
  if (equals !== undefined && fill(equals).trimEnd() !== text.trimEnd()) {
    return `is not equal to ${quote(fill(equals))}`;
  }
  return matches?.mismatch(text);
}

export function describeCondition({ contains, excludes, equals, matches }: TextCondition): string {
  const parts = [
    ...contains.map((needle) => `contains ${quote(needle)}`),
    ...excludes.map((needle) => `does not contain ${quote(needle)}`),
    ...(equals === undefined ? [] : [`equals ${quote(equals)}`]),
    ...(matches === undefined ? [] : [`matches /${matches.source}/`]),
  ];
  return parts.join(" and ");
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
