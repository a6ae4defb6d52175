/** CHECK: `left op right`. An evaluation always ends, in time that grows with the texts. */
import type { ActivityOf, Check, Comparison } from "../model.ts";
import { isQuoted, namePattern, roleOf, unquote } from "../value.ts";
import { type Kind, failedWith, succeeded, unanswered } from "./kind.ts";
import { compileExpression } from "../../document/expression.ts";
import { suggest } from "../../document/diagnostic.ts";

export const check: Kind<ActivityOf<"check">> = {
  decides: "always",
  read({ text, at, problems }) {
    const read = parseCheck(text, (offset, reason, hint) => {
      problems.error(at(offset), reason, hint);
    });
    return read && { kind: "check", check: read };
  },
  uses: ({ check: { left, right } }) => [
    { as: "compared", text: left },
    { as: "operand", text: right },
  ],
  *run(activity, run) {
    const { left, operator, right } = activity.check;
    const leftText = yield* run.value(left);
    // A missing value fails the CHECK.
    if (typeof leftText !== "string") return failedWith(leftText);
    const rightText = yield* run.value(right, right);
    if (typeof rightText !== "string") return failedWith(rightText);
    const wanted = isQuoted(right) ? rightText : rightText.trim();
    const value = operators[operator](leftText, wanted);
    if (typeof value === "object") return unanswered(value.reason);
    return value ? succeeded : failedWith({ reason: `The check ${activity.id} doesn't hold.` });
  },
};

interface NoAnswer {
  readonly reason: string;
}

/** Equality and order look at the first line of the left side: models answer with a word and explain it below. */
export const operators: Readonly<
  Record<Comparison, (left: string, right: string) => boolean | NoAnswer>
> = {
  eq: (left, right) => isSame(firstLine(left), right.trim()),
  ne: (left, right) => !isSame(firstLine(left), right.trim()),
  contains: (left, right) => left.includes(right),
  matches,
  gt: (left, right) => compare(left, right) > 0,
  ge: (left, right) => compare(left, right) >= 0,
  lt: (left, right) => compare(left, right) < 0,
  le: (left, right) => compare(left, right) <= 0,
};
const list = "==, !=, CONTAINS, MATCHES, gt, ge, lt and le";

const words = ["eq", "ne", "contains", "matches", "gt", "ge", "lt", "le"] as const;
const comparisons = new Map<string, Comparison>([
  ...words.map((word) => [word, word] as const),
  ["==", "eq"],
  ["!=", "ne"],
  [">", "gt"],
  [">=", "ge"],
  ["<", "lt"],
  ["<=", "le"],
]);

type Fail = (offset: number, reason: string, hint?: string) => undefined;

export function parseCheck(text: string, fail: Fail): Check | undefined {
  const start = text.length - text.trimStart().length;
  if (start === text.length)
    return fail(0, "A CHECK needs an expression.", "such as RESULT == 'yes'");
  const quote = text.charAt(start);
  let at = start;
  if (quote === "'" || quote === '"') {
    const end = text.indexOf(quote, start + 1);
    if (end === -1) return fail(start, `The quote ${quote} is never closed.`);
    at = end + 1;
  }
  for (const { 0: word, index } of text.slice(at).matchAll(/\S+/g)) {
    const offset = at + index;
    const operator = offset === start ? undefined : comparisons.get(word.toLowerCase());
    if (operator === undefined) continue;
    const after = offset + word.length;
    const rest = text.slice(after);
    const right = rest.trim();
    if (right === "") return fail(after, `The right side of ${word} is missing.`);
    const rightOffset = after + rest.indexOf(right);
    const open = /^['"]/.exec(right)?.[0];
    if (open !== undefined && right.indexOf(open, 1) === -1)
      return fail(rightOffset, `The quote ${open} is never closed.`);
    const pattern = operator === "matches" ? constantPattern(right) : undefined;
    const compiled = pattern === undefined ? undefined : compileExpression(pattern);
    if (compiled?.kind === "refused") fail(rightOffset, compiled.reason, compiled.hint);
    return { left: text.slice(start, offset).trim(), operator, right };
  }
  return withoutOperator(text, start, at, fail);
}

function withoutOperator(text: string, start: number, after: number, fail: Fail): undefined {
  const glued = /[=!<>]=|[<>]/.exec(text.slice(after));
  if (glued !== null)
    return fail(after + glued.index, `There must be a space before and after ${glued[0]}.`);
  const [, word] = [...text.slice(start, start + 1_000).matchAll(/\S+/g)];
  const all = `the operators are ${list}`;
  if (word === undefined)
    return fail(start, "A CHECK compares two values: left, operator, right.", all);
  const meant = suggest(word[0], comparisons.keys());
  const hint = meant === undefined ? all : `did you mean ${meant}?`;
  return fail(start + word.index, `Unknown operator ${JSON.stringify(word[0])}.`, hint);
}

/** Undefined if it is known only when it runs. */
function constantPattern(right: string): string | undefined {
  const isName = namePattern.test(right) || roleOf(right) !== undefined;
  return isName || /^file:|\{\{/.test(right) ? undefined : unquote(right);
}

function matches(left: string, right: string): boolean | NoAnswer {
  const compiled = compileExpression(right);
  if (compiled.kind === "refused") return { reason: compiled.reason };
  const mismatch = compiled.expression.mismatch(left);
  // The text is too long for the expression.
  return mismatch?.startsWith("has ") === true
    ? { reason: `The text ${mismatch}.` }
    : mismatch === undefined;
}

/** People and models write an answer as they like: "Yes" and "YES." are the word yes. */
function isSame(left: string, right: string): boolean {
  const yesOrNo = /^(?:yes|no)$/i.test(right) ? /^(yes|no)[.!]?$/i.exec(left)?.[1] : undefined;
  return yesOrNo === undefined ? left === right : yesOrNo.toLowerCase() === right.toLowerCase();
}

function firstLine(text: string): string {
  const end = text.search(/[\r\n]/);
  return (end === -1 ? text : text.slice(0, end)).trim();
}

function compare(left: string, right: string): number {
  const a = firstLine(left);
  const b = right.trim();
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== undefined && y !== undefined) return x < y ? -1 : Number(x > y);
  return a < b ? -1 : Number(a > b);
}

function numberOf(text: string): number | undefined {
  if (text.length > 400 || !/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text))
    return undefined;
  return Number(text);
}
