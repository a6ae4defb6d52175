import { suggestion } from "../../document/suggest.ts";
import { decisionFields } from "../../events/decision.ts";
import { isOptional, wordsOf, type Described, type Optional } from "../../document/describe.ts";
import { text, whole, type ConditionField } from "./schema-parts.ts";

/** By its kind and the fields of that kind; without a kind, a condition for its text. */
export interface DecisionFields {
  readonly kind?: string;
  readonly task?: string;
  readonly workId?: number;
  readonly iteration?: number;
  readonly contains?: string | readonly string[];
  readonly excludes?: string | readonly string[];
  readonly equals?: string;
  readonly matches?: string;
  readonly [field: string]: ConditionField | readonly string[] | number | undefined;
}

const ofWork = ["task", "workId", "iteration"];
const ofText = ["contains", "excludes", "equals", "matches"];

/** The properties of an item of `expect.decisions`, next to those of a condition on its text. */
export function decisionProperties(condition: (description: string) => object): object {
  const names = new Set(Object.values(decisionFields).flatMap((fields) => Object.keys(fields)));
  const fields = [...names].map((name) => {
    const having = Object.entries(decisionFields).flatMap(([kind, fields]) => {
      const field = fields[name];
      return field === undefined ? [] : [{ kind, field }];
    });
    const description = `Of ${having.map(({ kind }) => kind).join(", ")}.`;
    const words = having.flatMap(({ field }) => wordsOf(field));
    if (words.length > 0) return [name, { type: "string", enum: [...new Set(words)], description }];
    const isNumber = having[0] !== undefined && isNumeric(having[0].field);
    return [name, isNumber ? { type: "number", description } : condition(description)];
  });
  return {
    kind: {
      type: "string",
      enum: Object.keys(decisionFields),
      description: "The kind of the decision. Further fields are those of this kind.",
    },
    task: text("The task that it is about."),
    workId: whole(0, "The work that it is about."),
    iteration: whole(1, "The iteration of that step, in a loop."),
    ...Object.fromEntries(fields),
  };
}

export interface FieldProblem {
  readonly name: string;
  readonly reason: string;
  readonly hint?: string;
}

export function fieldProblems(fields: DecisionFields): FieldProblem[] {
  const { kind } = fields;
  const names = Object.keys(fields).filter((name) => name !== "kind");
  if (kind === undefined) {
    const [name] = names.filter((one) => !ofText.includes(one));
    if (name === undefined) return [];
    const reason = `"${name}" needs a "kind".`;
    return [{ name, reason, hint: "name the kind of the decision" }];
  }
  const known = decisionFields[kind] ?? {};
  const possible = [...Object.keys(known), ...ofWork];
  return names.flatMap((name): FieldProblem[] => {
    if (ofText.includes(name)) {
      const reason = `A decision is matched by its kind and fields or by its text ("${name}"), not both.`;
      return [{ name, reason }];
    }
    if (!possible.includes(name)) {
      const reason = `A decision of the kind "${kind}" has no field "${name}".`;
      const { hint = `it has ${possible.join(", ")}` } = suggestion(name, possible);
      return [{ name, reason, hint }];
    }
    const field = known[name];
    const words = field === undefined ? [] : wordsOf(field);
    const value = fields[name];
    if (words.length === 0 || words.some((word) => word === value)) return [];
    const reason = `With the kind "${kind}", "${name}" must be ${words.join(" or ")}.`;
    return [{ name, reason, ...(typeof value === "string" ? suggestion(value, words) : {}) }];
  });
}

export function isTextOfDecision(kind: string, name: string): boolean {
  const field = decisionFields[kind]?.[name];
  return field !== undefined && !isNumeric(field) && wordsOf(field).length === 0;
}

function isNumeric(field: Described<unknown> | Optional<unknown>): boolean {
  const { type } = isOptional(field) ? field.optional : field;
  return type === "number" || type === "integer";
}
