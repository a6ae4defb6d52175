/** The expectations of a rehearsal: the results of the run and its steps, the path through its workflow, its outputs. */
import { isDeepStrictEqual } from "node:util";
import { defined } from "../text/guards.ts";
import type { ActionEvent } from "../events/action.ts";
import { decisionText } from "../events/decision.ts";
import {
  decisionOf,
  type DecisionOfWork,
  type RunEvent,
  type RunOutcome,
  type WorkRef,
} from "../events/event.ts";
import type { RunView } from "../events/view.ts";
import { plannedWorks, type PlannedWork } from "../events/plan.ts";
import {
  activityName,
  namesActivity,
  writtenName,
  type FoundActivity,
  fillIn,
  placesOf,
  type Places,
} from "./format/names.ts";
import type { RunResult, WorkResult } from "./format/fields.ts";
import { PRINTED, type Expectation, type ExpectedWork, type Placed } from "./format/script.ts";
import { mismatch, quote } from "./format/text-condition.ts";
import { listFailures, ListedExpectations, type Fill, type Found } from "./listed-expectations.ts";
import { asFound, SeenOutputs, shown, WorkTallies, type WorkTally } from "./seen-outputs.ts";

export class Expectations {
  readonly #expect: Expectation;
  readonly #works = new WorkTallies();
  readonly #workflow: WorkflowExpectations;
  readonly #decisions: ListedExpectations;
  readonly #actions: ListedExpectations;
  readonly #open = new Map<string, Found["fields"]>();
  #view: RunView | undefined;
  #places: Places = { workingDirectory: "" };
  #outcome: RunOutcome | undefined;

  constructor(expect: Expectation) {
    this.#expect = expect;
    this.#workflow = new WorkflowExpectations(expect);
    this.#decisions = new ListedExpectations(expect.decisions, "decision", this.#fill);
    this.#actions = new ListedExpectations(expect.actions, "action", this.#fill);
  }

  /** The end of the job, before the event that contains the verdict. */
  end(outcome: RunOutcome): void {
    this.#outcome = outcome;
  }

  report(event: RunEvent, view: RunView): void {
    this.#view = view;
    if (event.type === "run.started") this.#places = placesOf(event);
    if (event.type === "run.ended") this.end(event.jobOutcome ?? event.outcome);
    if (event.type === "action") this.#act(event.work, event.action);
    this.#works.report(event);
    this.#workflow.see(event);
    const decided = decisionOf(event);
    if (decided !== undefined) this.#decisions.see(foundDecision(decided));
  }

  failures(): readonly string[] {
    return [
      ...this.#resultFailures(),
      ...workFailures(this.#expect.works, this.#works.works),
      ...this.#workflow.failures(this.#fill),
      ...this.#decisions.failures(),
      ...this.#actions.failures([...this.#open.values()].map(foundAction)),
      ...(this.#view === undefined
        ? []
        : outputFailures(this.#expect, new SeenOutputs(this.#view), this.#fill)),
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
  { verdict, findings, dismissed, resolved, replies, proposals, ...expect }: Expectation,
  seen: SeenOutputs,
  fill: Fill,
): string[] {
  const texts = seen.reports;
  return [
    ...(verdict === undefined || verdict.value === seen.verdict
      ? []
      : [`${verdict.place}: the verdict should be ${verdict.value}, but it is ${seen.verdict}.`]),
    ...listFailures("finding", findings, seen.findings.map(asFound), fill),
    ...listFailures("dismissed finding", dismissed, seen.dismissed.map(asFound), fill),
    ...listFailures("resolved finding", resolved, seen.resolved.map(asFound), fill),
    ...listFailures("reply", replies, seen.replies.map(asFound), fill),
    ...listFailures("proposal", proposals, seen.proposals.map(asFound), fill),
    ...expect.reports.flatMap(({ place, task, value }) => {
      const text = texts.get(task);
      if (text === undefined) return [`${place}: task "${task}" has handed in no report.`];
      const why = mismatch(value, text, fill);
      return why === undefined
        ? []
        : [`${place}: the report of task "${task}" ${why}; it is ${quote(text)}.`];
    }),
    ...expect.results.flatMap(({ place, task, value }) => {
      const result = seen.results?.[task];
      if (isDeepStrictEqual(plain(result), plain(value))) return [];
      const is = result === undefined ? "there is none" : `it is ${shown(result)}`;
      return [`${place}: the result of task "${task}" should be ${shown(value)}, but ${is}.`];
    }),
  ];
}

/** Drops prototypes, which JSON doesn't have. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function workFailures(
  expected: Placed<readonly ExpectedWork[]> | undefined,
  works: readonly WorkTally[],
): string[] {
  if (expected === undefined) return [];
  const failures: string[] = [];
  const free = new Set(works);
  // The most specific first: an item without a workId matches any work of its task.
  const ordered = expected.value.toSorted((a, b) => selected(b).length - selected(a).length);
  for (const item of ordered) {
    const fitting = [...free].filter((work) => isMeant(item, work));
    const work =
      fitting.find(({ runs }) => runs > 0 === (item.outcome !== "skipped")) ?? fitting[0];
    if (work === undefined) {
      failures.push(`${item.place}: the job has no other step with ${selected(item).join(", ")}.`);
      continue;
    }
    free.delete(work);
    for (const text of compare(item, work))
      failures.push(`${item.place}: ${nameOf(work)} ${text}.`);
  }
  for (const work of free) {
    const { runs, outcomes } = work;
    if (runs === 0) continue;
    const end = happened(outcomes.at(-1));
    failures.push(
      `${expected.place}: ${nameOf(work)} ran and ${end}, but "works" doesn't list it.`,
    );
  }
  return failures;
}

function isMeant({ task, workId, model }: ExpectedWork, work: WorkTally): boolean {
  return (
    (task ?? work.taskId) === work.taskId &&
    (workId ?? work.workId) === work.workId &&
    (model ?? work.model) === work.model
  );
}

function selected({ task, workId, model }: ExpectedWork): readonly string[] {
  return Object.entries(defined({ task, workId, model })).map(
    ([name, value]) => `${name} ${JSON.stringify(value)}`,
  );
}

function compare(item: ExpectedWork, work: WorkTally): string[] {
  const { outcome } = item;
  const { outcomes, runs } = work;
  const last = outcomes.at(-1);
  if (outcome === "skipped")
    return runs === 0 ? [] : [`should have been skipped, but it ran and ${happened(last)}`];
  if (runs === 0) return ["should have run, but it was skipped"];
  return [...outcomeFailures(outcome, work), ...countFailures(item, work)];
}

function outcomeFailures(
  wanted: WorkResult | readonly WorkResult[],
  { outcomes, runs, reason }: WorkTally,
): string[] {
  if (typeof wanted === "string") {
    const last = outcomes.at(-1);
    const because = reason === "" ? "" : ` (${reason})`;
    return last === wanted
      ? []
      : [`should have ${wished(wanted)}, but it ${happened(last)}${because}`];
  }
  if (runs !== wanted.length) return [`should have run ${wanted.length}×, but it ran ${runs}×`];
  const differs = wanted.findIndex((one, run) => one !== outcomes[run]);
  const one = wanted[differs];
  if (one === undefined) return [];
  return [
    `should have ${wished(one)} in run ${differs + 1}, but it ${happened(outcomes[differs])}`,
  ];
}

const counts = ["runs", "attempts", "retries", "crashes", "rejected"] as const;

function countFailures(item: ExpectedWork, work: WorkTally): string[] {
  return counts.flatMap((name) => {
    const wanted = item[name];
    if (wanted === undefined || wanted === work[name]) return [];
    return [`should have had "${name}: ${wanted}", but it had ${work[name]}`];
  });
}

/** After "should have". */
function wished(result: RunResult | WorkResult): string {
  return result === "canceled" || result === "skipped" ? `been ${result}` : result;
}

/** After "it". */
function happened(result: RunResult | WorkResult | undefined): string {
  if (result === undefined) return "did not end";
  return result === "canceled" || result === "skipped" ? `was ${result}` : result;
}

function nameOf({ workId, taskId }: WorkTally): string {
  return `step ${workId} ("${taskId}")`;
}

/** Keeps no more of the path than is expected. If the workflow ran several times, its last iteration counts. */
class WorkflowExpectations {
  readonly #expect: Pick<Expectation, "path" | "report">;
  #works: readonly PlannedWork[] = [];
  #path: FoundActivity[] | undefined;
  #report = "";

  constructor(expect: Pick<Expectation, "path" | "report">) {
    this.#expect = expect;
  }

  see(event: RunEvent): void {
    if (event.type === "run.started")
      this.#works = plannedWorks(event.work).filter(({ chart }) => chart !== undefined);
    const [work] = this.#works;
    if (work === undefined || !("work" in event) || event.type === "run.started") return;
    if (event.work?.workId !== work.workId) return;
    if (event.type === "work.started") {
      this.#path = [];
      this.#report = "";
    }
    if (event.type === "work.ended") this.#report = event.report ?? "";
    if (event.type === "step.started" && this.#path !== undefined) {
      const { path } = this.#expect;
      if (this.#path.length <= (path?.value.length ?? 0))
        this.#path.push({ id: event.activity, file: event.file });
    }
  }

  failures(fill: Fill): readonly string[] {
    const { path, report } = this.#expect;
    const place = path?.place ?? report?.place;
    if (place === undefined) return [];
    const [work, ...others] = this.#works;
    if (work === undefined) return [`${place}: the job has no workflow.`];
    if (others.length > 0)
      return [
        `${place}: the job has ${others.length + 1} workflows, but this needs a job with one.`,
      ];
    if (this.#path === undefined)
      return [`${place}: the workflow ${quote(work.taskId)} did not run.`];
    const taken = path && pathFailure(path, this.#path, work);
    const why = report && mismatch(report.value, this.#report, fill);
    const result = why && `${report?.place}: RESULT ${why}; it is ${quote(this.#report)}.`;
    return [taken, result].filter((failure) => failure !== undefined);
  }
}

function pathFailure(
  { place, value: expected }: NonNullable<Expectation["path"]>,
  taken: readonly FoundActivity[],
  { chart }: PlannedWork,
): string | undefined {
  const at = expected.findIndex(({ value }, index) => {
    const found = taken[index];
    return found === undefined || !namesActivity(value, found);
  });
  const found = taken[at === -1 ? expected.length : at];
  const name = found && activityName(found, chart?.main ?? "", Object.keys(chart?.files ?? {}));
  const wanted = expected[at];
  if (wanted !== undefined)
    return `${wanted.place}: activity ${at + 1} should have been ${writtenName(wanted.value)}, but ${name === undefined ? "the workflow ended" : `it was ${name}`}.`;
  return name && `${place}: the workflow should have ended, but ${name} followed.`;
}
