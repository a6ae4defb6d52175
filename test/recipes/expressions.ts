/** `${{ … }}` as GitHub evaluates it, with GitHub's own library; a step's status functions are ours. */
import { data, Evaluator, Lexer, Parser } from "@actions/expressions";

export type Contexts = Readonly<Record<string, unknown>>;

export interface Status {
  readonly failed: boolean;
  readonly cancelled: boolean;
}

const statusFunctions = ["success", "failure", "cancelled", "always"];

/** A text with expressions in it. One that is an expression and nothing else has its value as text, too. */
export function interpolate(text: string, contexts: Contexts, status: Status): string {
  return text.replaceAll(/\$\{\{(.*?)\}\}/gs, (_, expression: string) =>
    evaluate(expression, contexts, status).coerceString(),
  );
}

/** The condition of a job or step, with or without braces; an absent one is `success()`. */
export function holds(condition: unknown, contexts: Contexts, status: Status): boolean {
  if (condition === undefined) return !status.failed && !status.cancelled;
  if (typeof condition !== "string") throw new Error("A condition is a text.");
  const text = condition.replace(/^\s*\$\{\{(.*)\}\}\s*$/s, "$1");
  const named = new RegExp(`\\b(?:${statusFunctions.join("|")})\\s*\\(`);
  const whole = named.test(text) ? text : `success() && (${text})`;
  const value = evaluate(whole, contexts, status);
  return !["", "0", "false"].includes(value.coerceString());
}

function evaluate(text: string, contexts: Contexts, status: Status): data.ExpressionData {
  const values: Readonly<Record<string, boolean>> = {
    success: !status.failed && !status.cancelled,
    failure: status.failed,
    cancelled: status.cancelled,
    always: true,
  };
  const functions = statusFunctions.map((name) => ({
    name,
    minArgs: 0,
    maxArgs: 0,
    call: () => new data.BooleanData(values[name] === true),
  }));
  const { tokens } = new Lexer(text.trim()).lex();
  // Names the parser does not know are errors: a recipe may use no other context than these.
  const tree = new Parser(tokens, Object.keys(contexts), functions).parse();
  const pairs = Object.entries(contexts).map(([key, value]) => ({ key, value: dataOf(value) }));
  const called = new Map(functions.map((definition) => [definition.name, definition]));
  return new Evaluator(tree, new data.Dictionary(...pairs), called).evaluate();
}

function dataOf(value: unknown): data.ExpressionData {
  // The reviver makes expression data of every value, which the type of JSON.parse does not say.
  const parsed: unknown = JSON.parse(JSON.stringify(value), data.reviver);
  if (!isData(parsed)) throw new Error("No expression data.");
  return parsed;
}

function isData(value: unknown): value is data.ExpressionData {
  return typeof value === "object" && value !== null && "coerceString" in value;
}
