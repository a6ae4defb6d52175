/** Whether a decision is one that a rehearsal expects, and what it expects in words. */
import { decisionText } from "../events/decision.ts";
import type { Told } from "../events/decision-of.ts";
import type { ExpectedDecision, ExpectedField } from "./format/script.ts";
import { describeCondition, mismatch } from "./format/text-condition.ts";

export function isExpected(
  { expects }: ExpectedDecision,
  { work, decision }: Told,
  fill: (template: string) => string,
): boolean {
  if (expects.by === "text")
    return mismatch(expects.condition, decisionText(decision), fill) === undefined;
  const { kind, task, workId, iteration, fields } = expects;
  if (decision.kind !== kind) return false;
  if (task !== undefined && work?.taskId !== task) return false;
  if (workId !== undefined && work?.workId !== workId) return false;
  if (iteration !== undefined && work?.iteration !== iteration) return false;
  return fields.every(({ name, value }) => {
    const found = fieldOf(decision, name);
    if (typeof value !== "object") return found === value;
    return typeof found === "string" && mismatch(value, found, fill) === undefined;
  });
}

/** As the predicate of a sentence. */
export function describeExpected({ expects }: ExpectedDecision): string {
  if (expects.by === "text") return describeCondition(expects.condition);
  const { kind, task, workId, iteration, fields } = expects;
  const of = [
    ...(task === undefined ? [] : [`of task "${task}"`]),
    ...(workId === undefined ? [] : [`of work ${workId}`]),
    ...(iteration === undefined ? [] : [`of iteration ${iteration}`]),
  ];
  const having = fields.length === 0 ? [] : [`whose ${fields.map(describeField).join(" and ")}`];
  return ["is", `"${kind}"`, ...of, ...having].join(" ");
}

/** Decisions of which others may be shown, to say what the author may have meant. */
export function groupOf({ expects }: ExpectedDecision):
  | {
      readonly name: string;
      readonly has: (kind: string, text: string) => boolean;
    }
  | undefined {
  if (expects.by === "fields") {
    const { kind } = expects;
    return { name: `the kind "${kind}"`, has: (other) => other === kind };
  }
  const { condition } = expects;
  const category = /^\[[A-Z ]+\]/.exec(condition.contains[0] ?? condition.equals ?? "")?.[0];
  if (category === undefined) return undefined;
  return { name: category, has: (_kind, text) => text.startsWith(category) };
}

function describeField({ name, value }: ExpectedField): string {
  return typeof value === "object"
    ? `${name} ${describeCondition(value)}`
    : `${name} is ${JSON.stringify(value)}`;
}

/** Of a crash its cause, of a scope its kind. */
function fieldOf(decision: Told["decision"], name: string): unknown {
  if (name === "crash") return "crash" in decision ? decision.crash.cause : undefined;
  if (name === "scope") return "scope" in decision ? decision.scope.kind : undefined;
  return Object.hasOwn(decision, name) ? Reflect.get(decision, name) : undefined;
}
