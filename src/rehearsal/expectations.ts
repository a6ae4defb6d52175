import { isDeepStrictEqual } from "node:util";
import type { ActionEvent } from "../events/action.ts";
import { decisionText } from "../events/decision.ts";
import { decisionOf, type DecisionOfWork } from "../events/decision-of.ts";
import type { RunEvent, RunOutcome, WorkRef } from "../events/event.ts";
import { PRINTED, type Expectation } from "./format/script.ts";
import { fillIn, mismatch, placesOf, quote, type Places } from "./format/text-condition.ts";
import { listFailures, ListedExpectations, type Fill, type Found } from "./listed-expectations.ts";
import { asFound, SeenOutputs, shown } from "./seen-outputs.ts";
import { happened, wished, workFailures } from "./work-expectations.ts";
import { WorkTallies } from "./work-tallies.ts";
import { WorkflowExpectations } from "./workflow-expectations.ts";

export class Expectations {
  readonly #expect: Expectation;
  readonly #works = new WorkTallies();
  readonly #workflow: WorkflowExpectations;
  readonly #decisions: ListedExpectations;
  readonly #actions: ListedExpectations;
  readonly #open = new Map<string, Found["fields"]>();
  readonly #outputs = new SeenOutputs();
  #places: Places = { workingDirectory: "" };
  #outcome: RunOutcome | undefined;

  constructor(expect: Expectation) {
    this.#expect = expect;
    this.#workflow = new WorkflowExpectations(expect);
    this.#decisions = new ListedExpectations(expect.decisions, "decision", this.#fill);
    this.#actions = new ListedExpectations(expect.actions, "action", this.#fill);
  }

  report(event: RunEvent): void {
    if (event.type === "run.started") this.#places = placesOf(event);
    if (event.type === "run.ended") this.#outcome = event.jobOutcome ?? event.outcome;
    if (event.type === "action") this.#act(event.work, event.action);
    this.#works.report(event);
    this.#workflow.see(event);
    this.#outputs.see(event);
    const decided = decisionOf(event);
    if (decided !== undefined) this.#decisions.see(foundDecision(decided));
  }

  /** Unmet expectations, one sentence each. Complete after the run. */
  failures(): readonly string[] {
    return [
      ...this.#resultFailures(),
      ...workFailures(this.#expect.works, this.#works.works),
      ...this.#workflow.failures(this.#fill),
      ...this.#decisions.failures(),
      ...this.#actions.failures([...this.#open.values()].map(foundAction)),
      ...outputFailures(this.#expect, this.#outputs, this.#fill),
    ];
  }

  readonly #fill: Fill = (template) => fillIn(template, this.#places);

  #act(work: WorkRef, action: ActionEvent): void {
    if (!("id" in action && "iteration" in action)) return;
    const { taskId: task, workId, iteration } = work;
    // An id occurs again where a later document repeats an action.
    const key = JSON.stringify([workId, task, iteration, action.iteration, action.id]);
    const known = this.#open.get(key);
    if (action.type === "action.waiting") {
      const { id, action: name, iteration: document } = action;
      const fields = { id, action: name, document, task, workId, iteration, status: "waiting" };
      this.#open.set(key, fields);
    } else if (known !== undefined && action.type === "action.started") {
      this.#open.set(key, { ...known, status: "running", params: action.params });
    } else if (known !== undefined && action.type === "action.ended") {
      const { status, output, reason } = action;
      this.#actions.see(foundAction({ ...known, status, output, reason }));
      this.#open.delete(key);
    }
  }

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
    const why = reason && mismatch(reason, actual, this.#fill);
    return why === undefined ? [] : [`${place}: the reason ${why}; it is ${quote(actual)}.`];
  }
}

function foundAction(fields: Found["fields"]): Found {
  return { title: JSON.stringify(fields["id"]), fields };
}

/** Of a crash its cause, of a scope its kind. */
function foundDecision({ work, decision }: DecisionOfWork): Found {
  const text = decisionText(decision);
  return {
    title: quote(text),
    fields: {
      [PRINTED]: text,
      ...decision,
      task: work?.taskId,
      workId: work?.workId,
      iteration: work?.iteration,
      ...("crash" in decision ? { crash: decision.crash.cause } : {}),
      ...("scope" in decision ? { scope: decision.scope.kind } : {}),
    },
  };
}

function outputFailures(
  { verdict, findings, proposals, reports, results }: Expectation,
  seen: SeenOutputs,
  fill: Fill,
): string[] {
  const texts = seen.reports;
  return [
    ...(verdict === undefined || verdict.value === seen.verdict
      ? []
      : [`${verdict.place}: the verdict should be ${verdict.value}, but it is ${seen.verdict}.`]),
    ...listFailures("finding", findings, seen.findings.map(asFound), fill),
    ...listFailures("proposal", proposals, seen.proposals.map(asFound), fill),
    ...reports.flatMap(({ place, task, value }) => {
      const text = texts.get(task);
      if (text === undefined) return [`${place}: task "${task}" has handed in no report.`];
      const why = mismatch(value, text, fill);
      return why === undefined
        ? []
        : [`${place}: the report of task "${task}" ${why}; it is ${quote(text)}.`];
    }),
    ...results.flatMap(({ place, task, value }) => {
      const result = seen.results?.[task];
      if (isDeepStrictEqual(plain(result), plain(value))) return [];
      const is = result === undefined ? "there is none" : `it is ${shown(result)}`;
      return [`${place}: the result of task "${task}" should be ${shown(value)}, but ${is}.`];
    }),
  ];
}

/** Without prototypes, which JSON doesn't have. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
