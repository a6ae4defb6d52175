/**
 * Compares the way of a job's only workflow with the expected one, and its RESULT, as a fold over the events. Of the
 * way, no more is kept than is expected. If the workflow ran several times, its last iteration counts.
 */
import type { RunEvent } from "../events/event.ts";
import { plannedWorks, type PlannedWork } from "../events/plan.ts";
import {
  activityName,
  namesActivity,
  writtenName,
  type FoundActivity,
} from "./format/activity-name.ts";
import type { Expectation } from "./format/script.ts";
import { mismatch, quote } from "./format/text-condition.ts";
import type { Fill } from "./listed-expectations.ts";

export class WorkflowExpectations {
  readonly #expect: Pick<Expectation, "path" | "report">;
  #works: readonly PlannedWork[] = [];
  #way: FoundActivity[] | undefined;
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
      this.#way = [];
      this.#report = "";
    }
    if (event.type === "work.ended") this.#report = event.report ?? "";
    if (event.type === "step.started" && this.#way !== undefined) {
      const { path } = this.#expect;
      if (this.#way.length <= (path?.value.length ?? 0))
        this.#way.push({ id: event.activity, file: event.file });
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
    if (this.#way === undefined)
      return [`${place}: the workflow ${quote(work.taskId)} did not run.`];
    const way = path === undefined ? undefined : wayFailure(path, this.#way, work);
    const why = report && mismatch(report.value, this.#report, fill);
    return [
      ...(way === undefined ? [] : [way]),
      ...(why === undefined
        ? []
        : [`${report?.place}: RESULT ${why}; it is ${quote(this.#report)}.`]),
    ];
  }
}

/** The first difference. */
function wayFailure(
  { place, value: expected }: NonNullable<Expectation["path"]>,
  way: readonly FoundActivity[],
  { chart }: PlannedWork,
): string | undefined {
  const at = expected.findIndex(({ value }, index) => {
    const found = way[index];
    return found === undefined || !namesActivity(value, found);
  });
  const found = way[at === -1 ? expected.length : at];
  const name = found && activityName(found, chart?.main ?? "", Object.keys(chart?.files ?? {}));
  const wanted = expected[at];
  if (wanted !== undefined)
    return `${wanted.place}: activity ${at + 1} should have been ${writtenName(wanted.value)}, but ${name === undefined ? "the workflow ended" : `it was ${name}`}.`;
  return name && `${place}: the workflow should have ended, but ${name} followed.`;
}
