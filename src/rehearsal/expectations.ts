/**
 * Compares a run with its expectations, as a fold over its events. What it keeps is bounded by the size of the job
 * and of the expectations, never by the length of the run, except for the outcomes that a list expects one by one.
 */
import { decisionText } from "../events/decision.ts";
import { decisionOf, type DecisionOfWork } from "../events/decision-of.ts";
import type { RunEvent, RunOutcome, WorkEnded } from "../events/event.ts";
import { plannedWorks, type PlannedWork } from "../events/plan.ts";
import { ActionExpectations } from "./action-expectations.ts";
import type { ExpectedDecision, ExpectedField, Expectation } from "./format/script.ts";
import {
  describeCondition,
  fillIn,
  mismatch,
  placesOf,
  quote,
  type Places,
} from "./format/text-condition.ts";
import { ListedExpectations } from "./listed-expectations.ts";
import { OutputExpectations } from "./output-expectations.ts";
import { WorkflowExpectations } from "./workflow-expectations.ts";
import { happened, wished, workFailures, type WorkTally } from "./work-expectations.ts";

export interface Expectations {
  report(event: RunEvent): void;
  /** Unmet expectations, one sentence each. Complete after the run. */
  failures(): readonly string[];
}

export function createExpectations(expect: Expectation): Expectations {
  return new Fold(expect);
}

/** How many decisions of a run are kept, to show those that resemble an expected one. */
const KEPT_DECISIONS = 200;
const SHOWN_DECISIONS = 3;

class Fold implements Expectations {
  readonly #expect: Expectation;
  readonly #works = new Map<number, WorkTally>();
  readonly #workflow: WorkflowExpectations;
  readonly #actions: ActionExpectations;
  readonly #outputs: OutputExpectations;
  readonly #listed: ListedExpectations<ExpectedDecision, DecisionOfWork>;
  /** Decisions of the run, one of each text and work. */
  readonly #decisions = new Map<string, DecisionOfWork>();
  #places: Places = { workingDirectory: "" };
  #outcome: RunOutcome | undefined;

  constructor(expect: Expectation) {
    this.#expect = expect;
    this.#workflow = new WorkflowExpectations(expect);
    this.#outputs = new OutputExpectations(expect.outputs);
    this.#actions = new ActionExpectations(expect.actions, this.#fill);
    this.#listed = new ListedExpectations(expect.decisions, {
      noun: "decision",
      fits: (item, decided) => isExpected(item, decided, this.#fill),
      describe: describeExpected,
      show: ({ decision }) => quote(decisionText(decision)),
      instead: (item) => this.#similar(item),
    });
  }

  report(event: RunEvent): void {
    this.#see(event);
    this.#workflow.see(event);
    this.#actions.see(event);
    this.#outputs.see(event);
    const decided = decisionOf(event);
    if (decided !== undefined) this.#decide(decided);
  }

  #see(event: RunEvent): void {
    switch (event.type) {
      case "run.started":
        this.#places = placesOf(event);
        for (const work of plannedWorks(event.work)) this.#works.set(work.workId, newTally(work));
        break;
      case "run.ended":
        this.#outcome = event.jobOutcome ?? event.outcome;
        break;
      case "work.started":
        this.#tally(event.work.workId, (tally) => (tally.modelId = event.modelId ?? ""));
        break;
      case "work.ended":
        this.#tally(event.work.workId, (tally) => this.#end(tally, event));
        break;
      case "turn.started":
        if (event.purpose === "prompt") {
          this.#tally(event.work.workId, (tally) => (tally.attempts += 1));
        }
        break;
      case "action":
        if (event.action.type === "actions.rejected") {
          this.#tally(event.work.workId, (tally) => (tally.rejected += 1));
        }
        break;
      case "decision":
      case "activity":
      case "items.listed":
      case "report.given":
      case "result.given":
      case "finding.reported":
      case "verdict.given":
      case "proposal.made":
      case "note.added":
      case "session.started":
      case "session.ended":
      case "turn.ended":
      case "step.started":
      case "step.output":
      case "step.ended":
        break;
    }
  }

  failures(): readonly string[] {
    const expect = this.#expect;
    return [
      ...this.#resultFailures(),
      ...(expect.works === undefined ? [] : workFailures(expect.works, [...this.#works.values()])),
      ...this.#workflow.failures(this.#fill),
      ...this.#listed.failures(),
      ...this.#actions.failures(),
      ...this.#outputs.failures(this.#fill),
    ];
  }

  #tally(workId: number, change: (tally: WorkTally) => void): void {
    const tally = this.#works.get(workId);
    if (tally !== undefined) change(tally);
  }

  #end(tally: WorkTally, { work, outcome }: WorkEnded): void {
    // As if it had never started.
    if (outcome.kind === "skipped") return;
    tally.runs += 1;
    tally.last = outcome.kind;
    tally.reason = reasonOf(outcome);
    const { items = [] } = this.#expect.works ?? {};
    const listed = items.some(
      (item) => item.outcome.kind === "each" && item.outcome.outcomes.length >= tally.runs,
    );
    // Items may run at the same time, and end in any order.
    if (listed)
      tally.each[work.item === undefined ? tally.runs - 1 : work.iteration - 1] = outcome.kind;
  }

  #decide(decided: DecisionOfWork): void {
    const { work, decision } = decided;
    if (work !== null) {
      this.#tally(work.workId, (tally) => {
        if (decision.kind === "criteria-retry") tally.retries += 1;
        if (decision.kind === "session-crashed") tally.crashes += 1;
      });
    }
    this.#listed.see(decided);
    const key = `${work?.workId} ${decisionText(decision)}`;
    if (this.#decisions.size < KEPT_DECISIONS) this.#decisions.set(key, decided);
  }

  readonly #fill = (template: string): string => fillIn(template, this.#places);

  #resultFailures(): string[] {
    const { place, result, reason } = this.#expect;
    const outcome = this.#outcome;
    if (outcome === undefined) return [`${place}: the run did not end.`];
    const actual = outcome.kind === "succeeded" ? "" : outcome.reason;
    if (outcome.kind !== result) {
      const because = actual === "" ? "" : `: ${actual}`;
      return [
        `${place}: the job should have ${wished(result)}, but it ${happened(outcome.kind)}${because}`,
      ];
    }
    if (reason === undefined) return [];
    const why = mismatch(reason, actual, this.#fill);
    return why === undefined ? [] : [`${place}: the reason ${why}; it is ${quote(actual)}.`];
  }

  /** Decisions of the same kind or category, the nearest first: what the author may have meant. */
  #similar(item: ExpectedDecision): string {
    const group = groupOf(item);
    if (group === undefined) return "";
    const distance = (told: DecisionOfWork): number => differences(item, told, this.#fill);
    const others = [...this.#decisions.values()]
      .filter((told) => group.has(told))
      .toSorted((a, b) => distance(a) - distance(b));
    const texts = [...new Set(others.map((told) => describeFound(item, told)))];
    if (texts.length === 0) return ` There was none with ${group.name}.`;
    const shown = texts.slice(0, SHOWN_DECISIONS).join(", ");
    const more = texts.length > SHOWN_DECISIONS ? " and others" : "";
    return ` With ${group.name} there was ${shown}${more}.`;
  }
}

function newTally({ workId, taskId, modelId }: PlannedWork): WorkTally {
  return {
    workId,
    taskId,
    modelId: modelId ?? "",
    runs: 0,
    last: undefined,
    reason: "",
    each: [],
    attempts: 0,
    retries: 0,
    crashes: 0,
    rejected: 0,
  };
}

function reasonOf(outcome: WorkEnded["outcome"]): string {
  switch (outcome.kind) {
    case "succeeded":
      return "";
    case "failed":
    case "canceled":
    case "skipped":
      return outcome.reason;
    case "crashed":
      return outcome.crash.message;
  }
}

type Fill = (template: string) => string;

function isExpected(expected: ExpectedDecision, told: DecisionOfWork, fill: Fill): boolean {
  return differences(expected, told, fill) === 0;
}

/** How far a decision is from an expected one. Infinite: it is not even of the same kind. */
function differences({ expects }: ExpectedDecision, told: DecisionOfWork, fill: Fill): number {
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
function describeFound({ expects }: ExpectedDecision, { work, decision }: DecisionOfWork): string {
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
function describeExpected({ expects }: ExpectedDecision): string {
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
function groupOf({ expects }: ExpectedDecision):
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
