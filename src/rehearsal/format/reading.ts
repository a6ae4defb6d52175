import { defined } from "../../text/guards.ts";
import type { Locate, Path, Problem } from "../../document/diagnostic.ts";
import { toActivityName, type ActivityName } from "./names.ts";
import {
  type ConditionField,
  type GithubFields,
  fieldProblems,
  isTextOfDecision,
  type DecisionFields,
} from "./fields.ts";
import {
  type NamedActivity,
  type NamedTask,
  type Place,
  PRINTED,
  type Expectation,
  type ExpectedItem,
  type ExpectedLists,
  type ExpectedWork,
} from "./script.ts";
import { toCondition, type TextCondition } from "./text-condition.ts";
import type { Conversation, PreviousFinding } from "../../events/output-shapes.ts";
import { fingerprintOf } from "../../outputs/check-finding.ts";
import type { ActionFields, ExpectFields, Lists, WorkFields } from "./rehearsal-schema.ts";

export interface ScriptPlace {
  readonly file: string;
  readonly locate: Locate;
  readonly codePath: (path: Path) => string;
}

export class Reading {
  readonly problems: Problem[] = [];
  readonly namedTasks: NamedTask[] = [];
  readonly namedActivities: NamedActivity[] = [];
  readonly #at: ScriptPlace;

  constructor(place: ScriptPlace) {
    this.#at = place;
  }

  placeOf(path: Path): Place {
    const { file, line, column, codePath } = this.#position(path);
    return `${codePath.replace(/^[a-z]+\.?/, "")} (${file}:${line}:${column})`;
  }

  problem(path: Path, reason: string, hint?: string): void {
    const codePath = this.#at.codePath(path);
    this.problems.push({ path, codePath, reason, ...defined({ hint }) });
  }

  condition(field: ConditionField, path: Path): TextCondition {
    const condition = toCondition(field);
    if (!("problem" in condition)) return condition;
    this.problem([...path, "matches"], condition.problem, condition.hint);
    return { contains: [], excludes: [] };
  }

  activity(text: string, path: Path): ActivityName {
    const activity = toActivityName(text);
    this.namedActivities.push({ activity, isAsk: false, at: this.#position(path) });
    return activity;
  }

  ask(id: string, path: Path): void {
    this.namedActivities.push({ activity: { id }, isAsk: true, at: this.#position(path) });
  }

  names(task: string, path: Path): void {
    this.namedTasks.push({ task, at: this.#position(path) });
  }

  #position(path: Path) {
    const { file, locate, codePath } = this.#at;
    return { file, ...locate(path), codePath: codePath(path) };
  }
}

export function conversationOf(
  { findings = [], threads = [], replies = [] }: GithubFields,
  reading: Reading,
): Conversation {
  const ids = findings.map((_, index) => `F${index + 1}`);
  const check = (list: string, all: readonly { readonly finding: string }[]): void => {
    for (const [index, { finding: id }] of all.entries())
      if (!ids.includes(id))
        reading.problem(
          ["github", list, index, "finding"],
          `There is no finding ${JSON.stringify(id)}.`,
          ids.length === 0 ? "add it to findings" : `the findings are ${ids.join(", ")}`,
        );
  };
  check("threads", threads);
  check("replies", replies);
  for (const [index, { finding: id }] of threads.entries())
    if (threads.findIndex((one) => one.finding === id) !== index)
      reading.problem(["github", "threads", index, "finding"], `${id} has two threads.`);
  const all = findings.map((one, index): PreviousFinding => {
    const { path, line, rule, text: words, code, severity = "warning" } = one;
    const id = ids[index] ?? "";
    const thread = threads.find((each) => each.finding === id);
    const { resolvedBy, resolved, outdated, gone } = thread ?? {};
    return {
      id,
      key: one.key ?? (code === undefined ? id : fingerprintOf(rule, path, code, 0)),
      severity,
      rule,
      path,
      ...defined({ line, resolvedBy, outdated, gone }),
      text: words,
      thread: resolved === true || resolvedBy !== undefined ? "resolved" : "open",
      ...(resolvedBy !== undefined && { byPerson: true }),
      replies: replies
        .filter((each) => each.finding === id)
        .map(({ author, text: reply }) =>
          author === undefined
            ? { author: "github-actions", text: reply, own: true }
            : { author, text: reply },
        ),
    };
  });
  return { findings: all, round: 0 };
}

/** For a recording. Undefined: there are no earlier findings. */
export function githubFields({ findings }: Conversation): GithubFields | undefined {
  if (findings.length === 0) return undefined;
  const threads = findings.flatMap(({ id, thread, resolvedBy, byPerson, outdated, gone }) => {
    const by = byPerson === true ? resolvedBy : undefined;
    const isResolved = thread === "resolved" && by === undefined;
    const fields = defined({ resolvedBy: by, outdated, gone });
    if (!isResolved && Object.keys(fields).length === 0) return [];
    return [{ finding: id, ...(isResolved && { resolved: true as const }), ...fields }];
  });
  const replies = findings.flatMap(({ id, replies: all }) =>
    all.map(({ author, text: words, own }) => ({
      finding: id,
      ...(own === true ? {} : { author }),
      text: words,
    })),
  );
  return {
    findings: findings.map(({ path, line, rule, severity, text: words, key }) => ({
      path,
      ...defined({ line }),
      rule,
      severity,
      text: words,
      key,
    })),
    ...(threads.length > 0 && { threads }),
    ...(replies.length > 0 && { replies }),
  };
}

export function toExpectation(fields: ExpectFields, reading: Reading): Expectation {
  const { result = "succeeded", reason, works, path, report, decisions, actions } = fields;
  const { verdict, findings, dismissed, resolved, replies, proposals } = fields;
  const { reports = {}, results = {} } = fields;
  if (reason !== undefined && result === "succeeded") {
    const why = "A job that succeeds has no reason.";
    reading.problem(["expect", "reason"], why, 'say "result: failed"');
  }
  const placed = <From, To>(from: From, at: Path, read: (from: From, at: Path) => To) => ({
    place: reading.placeOf(at),
    value: read(from, at),
  });
  const each = <From, To>(
    name: string,
    all: readonly From[] | undefined,
    read: (from: From, at: Path) => To,
  ) =>
    all &&
    placed(all, ["expect", name], (items, at) =>
      items.map((from, index) => read(from, [...at, index])),
    );
  const condition = (field: ConditionField, at: Path) => reading.condition(field, at);
  const output = (field: object, at: Path) => toItem(field, at, isText, reading);
  const ofTasks = <From, To>(
    name: string,
    all: Readonly<Record<string, From>>,
    read: (from: From, at: Path) => To,
  ) =>
    Object.entries(all).map(([task, from]) => {
      const at = ["expect", name, task];
      reading.names(task, at);
      return { task, ...placed(from, at, read) };
    });
  return {
    place: reading.placeOf(["expect"]),
    result,
    ...defined({
      reason: reason === undefined ? reason : condition(reason, ["expect", "reason"]),
      works: each("works", works, (work, at) => toWork(work, at, reading)),
      path: each("path", path, (text, at) => placed(text, at, () => reading.activity(text, at))),
      report: report === undefined ? report : placed(report, ["expect", "report"], condition),
      verdict: verdict && placed(verdict, ["expect", "verdict"], () => verdict),
      findings: each("findings", findings, output),
      dismissed: each("dismissed", dismissed, output),
      resolved: each("resolved", resolved, output),
      replies: each("replies", replies, output),
      proposals: each("proposals", proposals, output),
    }),
    decisions: toLists("decisions", decisions, (field, at) => toDecision(field, at, reading)),
    actions: toLists("actions", actions, (field, at) => toAction(field, at, reading)),
    reports: ofTasks("reports", reports, condition),
    results: ofTasks("results", results, (value) => value),
  };
}

function toLists<Field>(
  name: string,
  lists: readonly Field[] | Lists<Field> = {},
  read: (field: Field, path: Path) => ExpectedItem,
): ExpectedLists {
  const of = (fields: readonly Field[] = [], ...path: Path): ExpectedItem[] =>
    fields.map((field, index) => read(field, ["expect", name, ...path, index]));
  if ("length" in lists) return { include: of(lists), sequence: [], exclude: [] };
  return {
    include: of(lists.include, "include"),
    sequence: of(lists.sequence, "sequence"),
    exclude: of(lists.exclude, "exclude"),
  };
}

/** `isText`: whether a field is a condition on a text. */
function toItem(
  fields: object,
  path: Path,
  isText: (name: string) => boolean,
  reading: Reading,
): ExpectedItem {
  return {
    place: reading.placeOf(path),
    fields: Object.entries(fields).map(([name, value]) => {
      const at = [...path, name];
      if (name === "task" && typeof value === "string") reading.names(value, at);
      return isText(name) ? { name, condition: reading.condition(value, at) } : { name, value };
    }),
  };
}

/** The text fields of actions, findings and proposals. */
const texts = ["title", "message", "suggestion", "body", "reason", "params", "output"];

function isText(name: string): boolean {
  return texts.includes(name);
}

function toAction(fields: ActionFields, path: Path, reading: Reading): ExpectedItem {
  const { output, reason, status } = fields;
  if (output !== undefined && status !== undefined && status !== "succeeded") {
    const why = "Only an action that succeeded has an output.";
    reading.problem([...path, "output"], why, 'use "reason"');
  }
  if (reason !== undefined && (status === "succeeded" || output !== undefined)) {
    const why = "An action that succeeded has no reason.";
    reading.problem([...path, "reason"], why, 'use "output"');
  }
  return toItem(fields, path, isText, reading);
}

function toDecision(field: string | DecisionFields, path: Path, reading: Reading): ExpectedItem {
  const place = reading.placeOf(path);
  const byText = (text: ConditionField): ExpectedItem => ({
    place,
    fields: [{ name: PRINTED, condition: reading.condition(text, path) }],
  });
  if (typeof field === "string") return byText(field);
  const problems = fieldProblems(field);
  for (const { name, reason, hint } of problems) reading.problem([...path, name], reason, hint);
  const { kind, contains, excludes, equals, matches } = field;
  if (kind === undefined) return byText(defined({ contains, excludes, equals, matches }));
  if (problems.length > 0) return { place, fields: [] };
  return toItem(field, path, (name) => isTextOfDecision(kind, name), reading);
}

function toWork(
  { name, task = name, ...others }: WorkFields,
  path: Path,
  reading: Reading,
): ExpectedWork {
  const { outcome, runs, attempts, retries, crashes, rejected } = others;
  if (name !== undefined) reading.names(name, [...path, "name"]);
  if (task === undefined && others.workId === undefined)
    reading.problem(path, 'A step needs a "task", the "name" of a command, or a "workId".');
  if (outcome === "skipped") {
    const [stray] = Object.keys(defined({ runs, attempts, retries, crashes, rejected }));
    if (stray !== undefined) reading.problem([...path, stray], `A skipped step has no "${stray}".`);
  }
  if (typeof outcome !== "string" && runs !== undefined && runs !== outcome.length) {
    const reason = `"outcome" lists ${outcome.length} runs, but "runs" is ${runs}.`;
    reading.problem([...path, "runs"], reason, 'leave "runs" out');
  }
  return { ...others, ...defined({ task }), place: reading.placeOf(path) };
}
