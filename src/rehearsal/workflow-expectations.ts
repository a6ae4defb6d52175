/**
 * Compares the way of a job's only workflow with the expected one, and its RESULT, as a fold over the events. Of the
 * way, only the first difference is kept. If the workflow ran several times, its last iteration counts.
 */
import type { FlowChart } from "../events/flow.ts";
import type { RunEvent } from "../events/event.ts";
import { plannedWorks } from "../events/plan.ts";
import { activityName, namesActivity, writtenName } from "./format/activity-name.ts";
import type { Expectation } from "./format/script.ts";
import { mismatch, quote } from "./format/text-condition.ts";
import type { Fill } from "./listed-expectations.ts";

interface Way {
  begun: number;
  last: string;
  /** The first activity that is not the expected one. */
  differs?: string;
  report: string;
}

interface ChartedWork {
  readonly workId: number;
  readonly taskId: string;
  readonly chart: FlowChart;
}

export class WorkflowExpectations {
  readonly #expect: Pick<Expectation, "path" | "report">;
  #works: readonly ChartedWork[] = [];
  #way: Way | undefined;

  constructor(expect: Pick<Expectation, "path" | "report">) {
    this.#expect = expect;
  }

  see(event: RunEvent): void {
    if (event.type === "run.started") {
      this.#works = plannedWorks(event.work).flatMap(({ workId, taskId, chart }) =>
        chart === undefined ? [] : [{ workId, taskId, chart }],
      );
      return;
    }
    const [work] = this.#works;
    if (work === undefined || !("work" in event) || event.work?.workId !== work.workId) return;
    if (event.type === "work.started") this.#way = { begun: 0, last: "", report: "" };
    else if (event.type === "step.started") this.#go(work, event);
    else if (event.type === "work.ended" && this.#way !== undefined) {
      this.#way.report = event.report ?? "";
    }
  }

  failures(fill: Fill): readonly string[] {
    const { path, report } = this.#expect;
    const place = path?.place ?? report?.place;
    if (place === undefined) return [];
    const [work, ...others] = this.#works;
    if (work === undefined) return [`${place}: the job has no workflow.`];
    if (others.length > 0) {
      return [
        `${place}: the job has ${others.length + 1} workflows, but this needs a job with one.`,
      ];
    }
    const way = this.#way;
    if (way === undefined) return [`${place}: the workflow ${quote(work.taskId)} did not run.`];
    const why = report && mismatch(report.value, way.report, fill);
    return [
      ...(path === undefined ? [] : pathFailures(path, way)),
      ...(why === undefined
        ? []
        : [`${report?.place}: RESULT ${why}; it is ${quote(way.report)}.`]),
    ];
  }

  #go({ chart }: ChartedWork, event: RunEvent & { type: "step.started" }): void {
    const way = this.#way;
    const { path } = this.#expect;
    if (way === undefined || path === undefined || way.differs !== undefined) return;
    const found = { id: event.activity, file: event.file };
    const name = activityName(found, chart.main, Object.keys(chart.files));
    const expected = path.value[way.begun]?.value;
    if (expected === undefined || !namesActivity(expected, found)) {
      way.differs = name;
      return;
    }
    way.begun += 1;
    way.last = name;
  }
}

function pathFailures(
  { place, value: expected }: NonNullable<Expectation["path"]>,
  { begun, last, differs }: Way,
): string[] {
  const after = last === "" ? "" : ` after ${last}`;
  const next = expected[begun];
  if (next === undefined) {
    return differs === undefined
      ? []
      : [`${place}: the workflow should have ended${after}, but ${differs} followed.`];
  }
  const was = differs === undefined ? `the workflow ended${after}` : `it was ${differs}`;
  const where = differs === undefined ? "" : after;
  return [
    `${next.place}: activity ${begun + 1}${where} should have been ${writtenName(next.value)}, but ${was}.`,
  ];
}
