/** Whether a decision is one that a rehearsal expects, and what it expects in words. */
import { decisionText } from "../events/decision.ts";
import type { DecisionOfWork } from "../events/decision-of.ts";
import type { ExpectedDecision, ExpectedField } from "./format/script.ts";
import { describeCondition, mismatch, quote } from "./format/text-condition.ts";

export type Fill = (template: string) => string;

export function isExpected(expected: ExpectedDecision, told: DecisionOfWork, fill: Fill): boolean {
  return differences(expected, told, fill) === 0;
}

/** How far a decision is from an expected one. Infinite: it is not even of the same kind. */
export function differences(
  { expects }: ExpectedDecision,
  told: DecisionOfWork,
  fill: Fill,
): number {
  const { work, decision } = told;
  if (expects.by === "text")
    return mismatch(expects.condition, decisionText(decision), fill) === undefined ? 0 : 1;
  const { kind, task, workId, iteration, fields } = expects;
  if (decision.kind !== kind) return Number.POSITIVE_INFINITY;
  const fits = [
    task === undefined || work?.taskId === task,
    workId === undefined || work?.workId === workId,
    iteration === undefined || work?.iteration === iteration,
    ...fields.map(({ name, value }) => {
      const found = fieldOf(decision, name);
      if (typeof value !== "object") return found === value;
      return typeof found === "string" && mismatch(value, found, fill) === undefined;
    }),
  ];
  return fits.filter((fit) => !fit).length;
}

/** A decision that occurred, in the terms of the expectation. */
export function describeFound(
  { expects }: ExpectedDecision,
  { work, decision }: DecisionOfWork,
): string {
  const text = quote(decisionText(decision));
  if (expects.by === "text") return text;
  const of = work === null ? "the job" : `task "${work.taskId}", work ${work.workId}`;
  const names = Object.keys(decision).filter((name) => name !== "kind");
  const fields = names.map((name) => {
    const value = fieldOf(decision, name);
    return `${name} is ${typeof value === "string" ? quote(value) : JSON.stringify(value)}`;
  });
  return `${text} (of ${[of, ...fields].join(", ")})`;
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
      readonly has: (told: DecisionOfWork) => boolean;
    }
  | undefined {
  if (expects.by === "fields") {
    const { kind } = expects;
    return { name: `the kind "${kind}"`, has: ({ decision }) => decision.kind === kind };
  }
  const { condition } = expects;
  const category = /^\[[A-Z ]+\]/.exec(condition.contains[0] ?? condition.equals ?? "")?.[0];
  if (category === undefined) return undefined;
  return { name: category, has: ({ decision }) => decisionText(decision).startsWith(category) };
}

function describeField({ name, value }: ExpectedField): string {
  return typeof value === "object"
    ? `${name} ${describeCondition(value)}`
    : `${name} is ${JSON.stringify(value)}`;
}

/** Of a crash its cause. */
function fieldOf(decision: DecisionOfWork["decision"], name: string): unknown {
  if (name === "crash") return "crash" in decision ? decision.crash.cause : undefined;
  if (name === "scope") return "scope" in decision ? decision.scope.kind : undefined;
  return Object.hasOwn(decision, name) ? Reflect.get(decision, name) : undefined;
}
