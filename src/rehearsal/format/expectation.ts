/** The expectations of a rehearsal: the shorthands of the file are resolved, contradictions are problems. */
import { defined } from "../../document/guards.ts";
import type { Path } from "../../document/problem.ts";
import type { ActivityName } from "./activity-name.ts";
import { toOutputs } from "./output-fields.ts";
import { expectedFields, fieldProblems } from "./decision-fields.ts";
import type { ActionFields, ExpectFields, Lists, WorkFields } from "./rehearsal-schema.ts";
import type { ConditionField } from "./schema-parts.ts";
import type { DecisionFields } from "./decision-fields.ts";
import type {
  Expectation,
  ExpectedAction,
  ExpectedDecision,
  ExpectedLists,
  ExpectedWork,
  Place,
} from "./script.ts";
import type { TextCondition } from "./text-condition.ts";

export interface Reading {
  readonly placeOf: (path: Path) => Place;
  readonly problem: (path: Path, reason: string, hint?: string) => void;
  readonly condition: (field: ConditionField, path: Path) => TextCondition;
  readonly activity: (text: string, path: Path) => ActivityName;
  /** A task that an expectation names. */
  readonly names: (task: string, path: Path) => void;
}

export function toExpectation(fields: ExpectFields, reading: Reading): Expectation {
  const { result = "succeeded", reason, works, path, report, decisions, actions } = fields;
  const { placeOf, problem, condition, activity } = reading;
  if (reason !== undefined && result === "succeeded") {
    const why = "A job that succeeds has no reason.";
    problem(["expect", "reason"], why, 'say "result: failed"');
  }
  const listAt = <Field, Item>(
    name: string,
    list: readonly Field[],
    item: (field: Field, at: Path) => Item,
  ): { place: Place; items: Item[] } => ({
    place: placeOf(["expect", name]),
    items: list.map((field, index) => item(field, ["expect", name, index])),
  });
  return {
    place: placeOf(["expect"]),
    result,
    ...(reason === undefined ? {} : { reason: condition(reason, ["expect", "reason"]) }),
    ...(works === undefined
      ? {}
      : { works: listAt("works", works, (work, at) => toWork(work, at, reading)) }),
    ...(path === undefined
      ? {}
      : {
          path: listAt("path", path, (text, at) => ({
            place: placeOf(at),
            activity: activity(text, at),
          })),
        }),
    ...(report === undefined
      ? {}
      : {
          report: {
            place: placeOf(["expect", "report"]),
            condition: condition(report, ["expect", "report"]),
          },
        }),
    decisions: toLists(decisions, ["expect", "decisions"], (field, at) =>
      toDecision(field, at, reading),
    ),
    actions: toLists(actions, ["expect", "actions"], (field, at) => toAction(field, at, reading)),
    outputs: toOutputs(fields, reading),
  };
}

/** A list is short for `include`. */
function toLists<Field, Item>(
  lists: readonly Field[] | Lists<Field> | undefined,
  path: Path,
  toItem: (field: Field, path: Path) => Item,
): ExpectedLists<Item> {
  const of = (fields: readonly Field[] | undefined, at: Path): Item[] =>
    (fields ?? []).map((field, index) => toItem(field, [...at, index]));
  if (lists === undefined || "length" in lists) {
    return { include: of(lists, path), sequence: [], exclude: [] };
  }
  return {
    include: of(lists.include, [...path, "include"]),
    sequence: of(lists.sequence, [...path, "sequence"]),
    exclude: of(lists.exclude, [...path, "exclude"]),
  };
}

function toAction(
  { params, output, reason, ...fields }: ActionFields,
  path: Path,
  reading: Reading,
): ExpectedAction {
  const { placeOf, problem, condition, names } = reading;
  if (fields.task !== undefined) names(fields.task, [...path, "task"]);
  if (output !== undefined && fields.status !== undefined && fields.status !== "succeeded") {
    problem([...path, "output"], "Only an action that succeeded has an output.", 'use "reason"');
  }
  if (reason !== undefined && (fields.status === "succeeded" || output !== undefined)) {
    problem([...path, "reason"], "An action that succeeded has no reason.", 'use "output"');
  }
  const given = { params, output, reason };
  return {
    ...fields,
    place: placeOf(path),
    texts: (["params", "output", "reason"] as const).flatMap((name) => {
      const field = given[name];
      return field === undefined ? [] : [{ name, condition: condition(field, [...path, name]) }];
    }),
  };
}

function toDecision(
  field: string | DecisionFields,
  path: Path,
  reading: Reading,
): ExpectedDecision {
  return { place: reading.placeOf(path), expects: expectedDecision(field, path, reading) };
}

function expectedDecision(
  field: string | DecisionFields,
  path: Path,
  { problem, condition, names }: Reading,
): ExpectedDecision["expects"] {
  if (typeof field === "string") return { by: "text", condition: condition(field, path) };
  const problems = fieldProblems(field);
  for (const { name, reason, hint } of problems) problem([...path, name], reason, hint);
  const { kind, task, workId, iteration, contains, excludes, equals, matches } = field;
  if (kind === undefined) {
    const text = {
      ...defined({ contains, excludes, equals, matches }),
    };
    return { by: "text", condition: condition(text, path) };
  }
  if (task !== undefined) names(task, [...path, "task"]);
  const fields =
    problems.length > 0
      ? []
      : expectedFields(field, (name, text) => condition(text, [...path, name]));
  return {
    by: "fields",
    kind,
    ...defined({ task, workId, iteration }),
    fields,
  };
}

function toWork(
  { outcome, name, task = name, ...others }: WorkFields,
  path: Path,
  { placeOf, problem, names }: Reading,
): ExpectedWork {
  const rest = { ...others, ...defined({ task }) };
  if (name !== undefined) names(name, [...path, "name"]);
  if (task === undefined && rest.workId === undefined)
    problem(path, 'A work needs a "task", the "name" of a command, or a "workId".');
  const { runs, attempts, retries, crashes, rejected } = rest;
  if (outcome === "skipped") {
    const stray = Object.entries({ runs, attempts, retries, crashes, rejected }).find(
      ([, count]) => count !== undefined,
    );
    if (stray !== undefined) {
      problem([...path, stray[0]], `A skipped work has no "${stray[0]}".`);
    }
  }
  if (typeof outcome !== "string" && runs !== undefined && runs !== outcome.length) {
    problem(
      [...path, "runs"],
      `"outcome" lists ${outcome.length} runs, but "runs" is ${runs}.`,
      'leave "runs" out',
    );
  }
  const place = placeOf(path);
  if (outcome === "skipped") return { ...rest, place, outcome: { kind: "skipped" } };
  if (typeof outcome === "string") return { ...rest, place, outcome: { kind: "last", outcome } };
  return { ...rest, place, outcome: { kind: "each", outcomes: outcome } };
}
