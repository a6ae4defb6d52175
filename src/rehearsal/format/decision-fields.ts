import { suggestion } from "../../document/suggest.ts";
import { decisionFields } from "../../events/decision.ts";
import type { ShapeKind } from "../../events/shape.ts";
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
  const names = new Set([...decisionFields.values()].flatMap((fields) => [...fields.keys()]));
  const fields = [...names].map((name) => {
    const having = [...decisionFields].filter(([, fields]) => fields.has(name));
    const kinds = having.map(([, fields]) => fields.get(name));
    const description = `Of ${having.map(([kind]) => kind).join(", ")}.`;
    const words = kinds.filter(isWords).flat();
    if (words.length > 0) return [name, { type: "string", enum: [...new Set(words)], description }];
    const isNumber = kinds[0] === "number";
    return [name, isNumber ? { type: "number", description } : condition(description)];
  });
  return {
    kind: {
      type: "string",
      enum: [...decisionFields.keys()],
      description: "The kind of the decision. Further fields are those of this kind.",
    },
    task: text("The task that it is about."),
    workId: whole(0, "The work that it is about."),
    iteration: whole(1, "The iteration of that work, in a loop."),
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
  const known = decisionFields.get(kind) ?? new Map<string, ShapeKind>();
  const possible = [...known.keys(), ...ofWork];
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
    const is = known.get(name);
    const value = fields[name];
    if (!isWords(is) || is.some((word) => word === value)) return [];
    const reason = `With the kind "${kind}", "${name}" must be ${is.join(" or ")}.`;
    return [{ name, reason, ...(typeof value === "string" ? suggestion(value, is) : {}) }];
  });
}

export function isTextOfDecision(kind: string, name: string): boolean {
  const is = decisionFields.get(kind)?.get(name);
  return is !== undefined && is !== "number" && !isWords(is);
}

function isWords(is: unknown): is is readonly string[] {
  return Array.isArray(is);
}
