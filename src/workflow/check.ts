/**
 * The expressions of CHECK: `left op right`. Both parts are total: a text that can't be read is a fault with its
 * offset, and an evaluation always ends, in time that grows with the texts.
 */
import { compileExpression } from "../document/expression.ts";
import { suggest } from "../document/suggest.ts";
import { namePattern, roleOf, unquote } from "./value.ts";

export type Comparison = "eq" | "ne" | "contains" | "matches" | "gt" | "ge" | "lt" | "le";

export interface Check {
  /** A name or a quoted constant. */
  readonly left: string;
  readonly operator: Comparison;
  /** A quoted constant, a name, or, if nothing has that name, itself. */
  readonly right: string;
}

export interface CheckFault {
  readonly offset: number;
  readonly reason: string;
  readonly hint?: string;
}

export type ReadCheck =
  | { readonly kind: "read"; readonly check: Check; readonly rightOffset: number }
  | { readonly kind: "fault"; readonly fault: CheckFault };

const operators: ReadonlyMap<string, Comparison> = new Map([
  ["==", "eq"],
  ["!=", "ne"],
  [">", "gt"],
  [">=", "ge"],
  ["<", "lt"],
  ["<=", "le"],
  ...(["eq", "ne", "contains", "matches", "gt", "ge", "lt", "le"] as const).map(
    (name) => [name, name] as const,
  ),
]);
const list = "==, !=, CONTAINS, MATCHES, gt, ge, lt and le";

export function parseCheck(text: string): ReadCheck {
  const start = text.length - text.trimStart().length;
  if (start === text.length)
    return fault(0, "A CHECK needs an expression.", "such as RESULT == 'yes'");
  const quote = text.charAt(start);
  let at = start;
  if (quote === "'" || quote === '"') {
    const end = text.indexOf(quote, start + 1);
    if (end === -1) return fault(start, `The quote ${quote} is never closed.`);
    at = end + 1;
  }
  for (const word of text.slice(at).matchAll(/\S+/g)) {
    const offset = at + word.index;
    const operator = offset === start ? undefined : operators.get(word[0].toLowerCase());
    if (operator === undefined) continue;
    const left = text.slice(start, offset).trim();
    const after = offset + word[0].length;
    const right = text.slice(after).trim();
    if (right === "") return fault(after, `The right side of ${word[0]} is missing.`);
    const rightOffset = after + (text.length - after - text.slice(after).trimStart().length);
    const open = /^['"]/.exec(right)?.[0];
    if (open !== undefined && right.indexOf(open, 1) === -1) {
      return fault(rightOffset, `The quote ${open} is never closed.`);
    }
    return { kind: "read", check: { left, operator, right }, rightOffset };
  }
  return withoutOperator(text, start, at);
}

function withoutOperator(text: string, start: number, after: number): ReadCheck {
  const glued = /[=!<>]=|[<>]/.exec(text.slice(after));
  if (glued !== null) {
    const offset = after + glued.index;
    return fault(offset, `There must be a space before and after ${glued[0]}.`);
  }
  const [, word] = [...text.slice(start, start + 1_000).matchAll(/\S+/g)];
  if (word === undefined) {
    const reason = "A CHECK compares two values: left, operator, right.";
    return fault(start, reason, `the operators are ${list}`);
  }
  const meant = suggest(word[0], operators.keys());
  const hint = meant === undefined ? `the operators are ${list}` : `did you mean ${meant}?`;
  return fault(start + word.index, `Unknown operator ${JSON.stringify(word[0])}.`, hint);
}

function fault(offset: number, reason: string, hint?: string): ReadCheck {
  return {
    kind: "fault",
    fault: hint === undefined ? { offset, reason } : { offset, reason, hint },
  };
}

/** Why the right side of MATCHES can't be matched; undefined if it can, or if it is known only when it runs. */
export function patternFault(check: Check): Pick<CheckFault, "reason" | "hint"> | undefined {
  const { operator, right } = check;
  const isName = namePattern.test(right) || roleOf(right) !== undefined;
  if (operator !== "matches" || isName || /^file:|\{\{/.test(right)) return undefined;
  const compiled = compileExpression(unquote(right));
  if (compiled.kind === "compiled") return undefined;
  const { reason, hint } = compiled;
  return hint === undefined ? { reason } : { reason, hint };
}

export type Evaluation =
  | { readonly kind: "evaluated"; readonly holds: boolean }
  | { readonly kind: "failed"; readonly reason: string };

/**
 * Equality and order look at the first line of the left side, because models answer with a word and explain it
 * below. CONTAINS and MATCHES look at all of it.
 */
export function evaluateCheck(operator: Comparison, left: string, right: string): Evaluation {
  switch (operator) {
    case "eq":
      return evaluated(firstLine(left) === right.trim());
    case "ne":
      return evaluated(firstLine(left) !== right.trim());
    case "contains":
      return evaluated(left.includes(right));
    case "matches": {
      const compiled = compileExpression(right);
      if (compiled.kind === "refused") return { kind: "failed", reason: compiled.reason };
      const mismatch = compiled.expression.mismatch(left);
      // The text is too long for the expression.
      if (mismatch?.startsWith("has ") === true)
        return { kind: "failed", reason: `The text ${mismatch}.` };
      return evaluated(mismatch === undefined);
    }
    case "gt":
      return evaluated(compare(left, right) > 0);
    case "ge":
      return evaluated(compare(left, right) >= 0);
    case "lt":
      return evaluated(compare(left, right) < 0);
    case "le":
      return evaluated(compare(left, right) <= 0);
  }
}

function evaluated(holds: boolean): Evaluation {
  return { kind: "evaluated", holds };
}

function firstLine(text: string): string {
  const end = text.search(/[\r\n]/);
  return (end === -1 ? text : text.slice(0, end)).trim();
}

function compare(left: string, right: string): number {
  const a = firstLine(left);
  const b = right.trim();
  const numbers = [a, b].map(numberOf);
  const [x, y] = numbers;
  if (x !== undefined && y !== undefined) return x < y ? -1 : Number(x > y);
  return a < b ? -1 : Number(a > b);
}

function numberOf(text: string): number | undefined {
  if (text.length > 400 || !/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text))
    return undefined;
  return Number(text);
}
