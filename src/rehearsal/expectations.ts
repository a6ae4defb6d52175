/** The expectations of a rehearsal: the results of the run and its steps, the path through its workflow, its outputs. */
import { isDeepStrictEqual } from "node:util";
import type { Path } from "../document/diagnostic.ts";
import type { ActionEvent } from "../events/action.ts";
import { decisionText } from "../events/decision.ts";
import {
  decisionOf,
  type DecisionOfWork,
  type RunEvent,
  type RunOutcome,
  type WorkRef,
} from "../events/event.ts";
import { plannedWorks, type PlannedWork } from "../events/plan.ts";
import type { RunView } from "../events/view.ts";
import { truncate } from "../text/truncate.ts";
import {
  type DecisionFields,
  type ExpectFields,
  isTextOfDecision,
  itemsOf,
  type Listed,
  type RunResult,
  type WorkFields,
  type WorkResult,
} from "./format/expect.ts";
import {
  activityName,
  fillIn,
  type FoundActivity,
  namesActivity,
  type Places,
  placesOf,
} from "./format/names.ts";
import type { Place, Script } from "./format/script.ts";
import { type Fill, mismatch, quote } from "./format/text-condition.ts";
import {
  type ExpectedItem,
  type Found,
  listFailures,
  ListedExpectations,
  PRINTED,
} from "./listed-expectations.ts";
import { reportsOf, seenOutputs, WorkTallies, type WorkTally } from "./seen-outputs.ts";

export class Expectations {
  readonly #expect: ExpectFields;
  readonly #placeOf: (...path: Path) => Place;
  readonly #works = new WorkTallies();
  readonly #workflow = new WorkflowRun();
  readonly #decisions: ListedExpectations;
  readonly #actions: ListedExpectations;
  readonly #open = new Map<string, Found["fields"]>();
  #view: RunView | undefined;
  #places: Places = { workingDirectory: "" };
  #outcome: RunOutcome | undefined;

  constructor({ expect, placeOf }: Pick<Script, "expect" | "placeOf">) {
    this.#expect = expect;
    this.#placeOf = (...path) => placeOf(["expect", ...path]);
    const listed = <Item>(name: string, items: readonly Listed<Item>[], made: Expected<Item>) => {
      const all = items.map(({ list, item, path }) => {
        const one = { ...made(item), place: placeOf(path) };
        return { list, item: one, path };
      });
      return new ListedExpectations(all, name, this.#fill);
    };
    this.#decisions = listed("decision", itemsOf("decisions", expect.decisions), expectedDecision);
    this.#actions = listed("action", itemsOf("actions", expect.actions), expectedOutput);
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
    this.#workflow.see(event, this.#expect.path?.length ?? 0);
    const decided = decisionOf(event);
    if (decided !== undefined) this.#decisions.see(foundDecision(decided));
  }

  failures(): readonly string[] {
    const { works } = this.#expect;
    return [
      ...this.#resultFailures(),
      ...(works === undefined ? [] : workFailures(works, this.#works.works, this.#placeOf)),
      ...this.#workflowFailures(),
      ...this.#decisions.failures(),
      ...this.#actions.failures([...this.#open.values()].map(foundAction)),
      ...(this.#view === undefined ? [] : this.#outputFailures(this.#view)),
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
    const { result = "succeeded", reason } = this.#expect;
    const place = this.#placeOf();
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

  #workflowFailures(): readonly string[] {
    const { path, report } = this.#expect;
    if (path === undefined && report === undefined) return [];
    const place = this.#placeOf(path === undefined ? "report" : "path");
    const { works, path: taken, report: text } = this.#workflow;
    const [work, ...others] = works;
    if (work === undefined) return [`${place}: the job has no workflow.`];
    if (others.length > 0)
      return [
        `${place}: the job has ${others.length + 1} workflows, but this needs a job with one.`,
      ];
    if (taken === undefined) return [`${place}: the workflow ${quote(work.taskId)} did not run.`];
    const why = report && mismatch(report, text, this.#fill);
    return [
      ...(path === undefined ? [] : this.#pathFailures(path, taken, work)),
      ...(why === undefined
        ? []
        : [`${this.#placeOf("report")}: RESULT ${why}; it is ${quote(text)}.`]),
    ];
  }

  #pathFailures(
    expected: readonly string[],
    taken: readonly FoundActivity[],
    { chart }: PlannedWork,
  ): readonly string[] {
    const differs = expected.findIndex((wanted, index) => {
      const found = taken[index];
      return found === undefined || !namesActivity(wanted, found);
    });
    const found = taken[differs === -1 ? expected.length : differs];
    const name = found && activityName(found, chart?.main ?? "", Object.keys(chart?.files ?? {}));
    if (differs !== -1) {
      const is = name === undefined ? "the workflow ended" : `it was ${name}`;
      return [
        `${this.#placeOf("path", differs)}: activity ${differs + 1} should have been ${expected[differs]}, but ${is}.`,
      ];
    }
    return name === undefined
      ? []
      : [`${this.#placeOf("path")}: the workflow should have ended, but ${name} followed.`];
  }

  #outputFailures(view: RunView): string[] {
    const { verdict, reports = {}, results = {} } = this.#expect;
    const seen = seenOutputs(view);
    const lists = nouns.flatMap(([name, noun]) => {
      const expected = this.#expect[name];
      if (expected === undefined) return [];
      const items = expected.map((fields, index) => ({
        ...expectedOutput(fields),
        place: this.#placeOf(name, index),
      }));
      const found = seen[name].map((one) => ({
        title: shown(one),
        fields: { ...noTexts, ...one },
      }));
      return listFailures(noun, this.#placeOf(name), items, found, this.#fill);
    });
    const given = reportsOf(view);
    const ofReports = Object.entries(reports).flatMap(([task, wanted]) => {
      const text = given.get(task);
      const place = this.#placeOf("reports", task);
      if (text === undefined) return [`${place}: task "${task}" has handed in no report.`];
      const why = mismatch(wanted, text, this.#fill);
      return why === undefined
        ? []
        : [`${place}: the report of task "${task}" ${why}; it is ${quote(text)}.`];
    });
    const ofResults = Object.entries(results).flatMap(([task, wanted]) => {
      const result = seen.results[task];
      if (isDeepStrictEqual(plain(result), plain(wanted))) return [];
      const is = result === undefined ? "there is none" : `it is ${shown(result)}`;
      return [
        `${this.#placeOf("results", task)}: the result of task "${task}" should be ${shown(wanted)}, but ${is}.`,
      ];
    });
    const isVerdict = verdict === undefined || verdict === seen.verdict;
    const differs = `${this.#placeOf("verdict")}: the verdict should be ${verdict}, but it is ${seen.verdict}.`;
    return [...(isVerdict ? [] : [differs]), ...lists, ...ofReports, ...ofResults];
  }
}

const nouns = [
  ["findings", "finding"],
  ["dismissed", "dismissed finding"],
  ["resolved", "resolved finding"],
  ["replies", "reply"],
  ["proposals", "proposal"],
] as const;

type Expected<Item> = (item: Item) => Omit<ExpectedItem, "place">;

/** The text fields of actions, findings and proposals. */
const texts = ["title", "message", "suggestion", "body", "reason", "params", "output"];
/** A text that an output doesn't have contains nothing. */
const noTexts = { title: "", message: "", suggestion: "", body: "", reason: "" };

const expectedOutput: Expected<object> = (fields) => ({
  fields,
  isText: (name) => texts.includes(name),
});

const expectedDecision: Expected<string | DecisionFields> = (item) => {
  if (typeof item === "string" || item.kind === undefined)
    return { fields: { [PRINTED]: item }, isText: () => true };
  const { kind } = item;
  return { fields: item, isText: (name) => isTextOfDecision(kind, name) };
};

function shown(value: unknown): string {
  return truncate(JSON.stringify(value), 300);
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

/** Drops prototypes, which JSON doesn't have. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function workFailures(
  expected: readonly WorkFields[],
  works: readonly WorkTally[],
  placeOf: (...path: Path) => Place,
): string[] {
  const failures: string[] = [];
  const free = new Set(works);
  const items = expected.map((item, index) => ({ item, index, selectors: selected(item) }));
  // The most specific first: an item without a workId matches any work of its task.
  items.sort((a, b) => b.selectors.length - a.selectors.length);
  for (const { item, index, selectors } of items) {
    const place = placeOf("works", index);
    const fitting = [...free].filter((work) => selectors.every(([name, is]) => work[name] === is));
    const work =
      fitting.find(({ runs }) => runs > 0 === (item.outcome !== "skipped")) ?? fitting[0];
    if (work === undefined) {
      const names = selectors.map(([name, is]) => `${written[name]} ${JSON.stringify(is)}`);
      failures.push(`${place}: the job has no other step with ${names.join(", ")}.`);
      continue;
    }
    free.delete(work);
    for (const text of compare(item, work)) failures.push(`${place}: ${nameOf(work)} ${text}.`);
  }
  for (const work of free) {
    const { runs, outcomes } = work;
    if (runs === 0) continue;
    const end = happened(outcomes.at(-1));
    failures.push(
      `${placeOf("works")}: ${nameOf(work)} ran and ${end}, but "works" doesn't list it.`,
    );
  }
  return failures;
}

const written = { taskId: "task", workId: "workId", model: "model" } as const;

/** Returns the fields that select a step, under their names in its tally. */
function selected({ name, task = name, workId, model }: WorkFields) {
  const fields = [
    ["taskId", task],
    ["workId", workId],
    ["model", model],
  ] as const;
  return fields.filter(([, value]) => value !== undefined);
}

function compare(item: WorkFields, work: WorkTally): string[] {
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

function countFailures(item: WorkFields, work: WorkTally): string[] {
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

/** Keeps no more of the path than can be told from what is expected. Of several runs, the last one counts. */
class WorkflowRun {
  works: readonly PlannedWork[] = [];
  path: FoundActivity[] | undefined;
  report = "";

  see(event: RunEvent, expected: number): void {
    if (event.type === "run.started")
      this.works = plannedWorks(event.work).filter(({ chart }) => chart !== undefined);
    const [work] = this.works;
    if (work === undefined || !("work" in event) || event.type === "run.started") return;
    if (event.work?.workId !== work.workId) return;
    if (event.type === "work.started") {
      this.path = [];
      this.report = "";
    }
    if (event.type === "work.ended") this.report = event.report ?? "";
    if (event.type === "step.started" && this.path !== undefined && this.path.length <= expected)
      this.path.push({ id: event.activity, file: event.file });
  }
}
